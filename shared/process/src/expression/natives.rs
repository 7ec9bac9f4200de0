//! The functions of jq that are written in Rust: those of the library that agree with jq, and our own.

use std::cmp::Ordering;

use jaq_core::data::JustLut;
use jaq_core::native::{Fun, bome, run, unary, v};
use jaq_core::{Bind, Cv, DataT, Exn, Native, ValT as _, ValX, ValXs};
use jaq_json::{Rc, Val};

use super::compare::compare_by_operator;
use super::places::{indices, place, removed, set};
use super::rewrite::{ASSIGN, LAST, MODIFY, NONE};
use super::value::{Error, Value, failure};
use super::{formats, json, matching};

/// An expression reads only its input and its variables.
pub(super) type Kind = JustLut<Value>;

/// Maximum length of a path: a value is followed along it by recursion.
const MAX_PATH: usize = 10_000;

type V<'a> = <Kind as DataT>::V<'a>;
type Results<'a> = ValXs<'a, V<'a>>;

/// Names under which our definitions call functions of the library that they replace.
const RENAMED: [(&str, &str); 19] = [
    ("limit", "_limit"),
    ("skip", "_skip"),
    ("range", "_range"),
    ("reverse", "_reverse"),
    ("pow", "_pow"),
    ("atan2", "_atan2"),
    ("fmin", "_fmin"),
    ("fmax", "_fmax"),
    ("fmod", "_fmod"),
    ("fdim", "_fdim"),
    ("hypot", "_hypot"),
    ("copysign", "_copysign"),
    ("remainder", "_remainder"),
    ("nextafter", "_nextafter"),
    ("ldexp", "_ldexp"),
    ("scalbln", "_scalbln"),
    ("jn", "_jn"),
    ("yn", "_yn"),
    ("fma", "_fma"),
];

/// Returns the functions; the first of two equal signatures counts.
pub(super) fn natives() -> impl Iterator<Item = Fun<Kind>> {
    let library = || jaq_core::funs::<Kind>().chain(jaq_std::funs::<Kind>());
    let renamed = library().filter_map(|(name, arguments, function)| {
        let (_, new) = RENAMED.iter().find(|(old, _)| *old == name)?;
        Some((*new, arguments, function))
    });
    own().chain(renamed.collect::<Vec<_>>()).chain(library())
}

pub(super) fn own() -> impl Iterator<Item = Fun<Kind>> {
    let f = || -> Box<[Bind]> { Box::new([Bind::Fun(())]) };
    let functions: Vec<Fun<Kind>> = vec![
        run(("length", v(0), |cv| bome(length(cv.1)))),
        run(("has", v(1), |cv| unary(cv, |value, key| has(&value, &key)))),
        run(("contains", v(1), |cv| {
            unary(cv, |value, part| match value.kind() == part.kind() {
                true => Ok(contains(&value.0, &part.0).into()),
                false => Err(failure(format_args!(
                    "{} and {} cannot have their containment checked",
                    value.described(),
                    part.described()
                ))),
            })
        })),
        run(("indices", v(1), |cv| {
            unary(cv, |value, part| places(value, &part))
        })),
        run(("bsearch", v(1), |cv| {
            unary(cv, |value, item| bsearch(&value, &item))
        })),
        run(("tojson", v(0), |cv| bome(Ok(Value::text(cv.1.to_string()))))),
        run(("fromjson", v(0), |cv| bome(fromjson(&cv.1)))),
        run(("tonumber", v(0), |cv| bome(tonumber(cv.1)))),
        run(("tobytes", v(0), |cv| {
            bome(bytes(&cv.1).map(|bytes| Value(Val::byte_str(bytes))))
        })),
        run(("implode", v(0), |cv| bome(implode(&cv.1)))),
        run(("nan", v(0), |_| bome(Ok(f64::NAN.into())))),
        run(("infinite", v(0), |_| bome(Ok(f64::INFINITY.into())))),
        run(("_setpath", v(2), |mut cv| {
            let (value, path) = (cv.0.pop_var(), cv.0.pop_var());
            bome(steps(&path).and_then(|steps| at(cv.1, &steps, &mut |_| Ok(value.clone()))))
        })),
        run(("delpaths", v(1), |cv| {
            unary(cv, |value, paths| delpaths(value, &paths))
        })),
        run(("_matches", v(3), |mut cv| {
            let (all, flags, pattern) = (cv.0.pop_var(), cv.0.pop_var(), cv.0.pop_var());
            bome(matching::matches(&cv.1, &pattern, &flags, all.as_bool()))
        })),
        run(("_pieces", v(3), |mut cv| {
            let (all, flags, pattern) = (cv.0.pop_var(), cv.0.pop_var(), cv.0.pop_var());
            bome(matching::pieces(&cv.1, &pattern, &flags, all.as_bool()))
        })),
        run(("_format", v(1), |cv| {
            unary(cv, |value, name| formats::format(&name, &value))
        })),
        run::<Kind>((ASSIGN, Box::new([Bind::Fun(()), Bind::Var(())]), |cv| assign(cv))),
        run::<Kind>((MODIFY, Box::new([Bind::Fun(()), Bind::Fun(())]), |cv| modify(cv))),
        (
            NONE,
            v(0),
            Native::<Kind>::new(|_| Box::new(std::iter::empty()))
                .with_paths(|_| Box::new(std::iter::empty())),
        ),
        (
            LAST,
            f(),
            Native::<Kind>::new(|cv| last(cv)).with_paths(|mut cv| {
                let (body, context) = cv.0.pop_fun();
                let none = Ok((Value::null(), Default::default()));
                let last = body.paths((context, cv.1)).try_fold(none, |_, next| next.map(Ok));
                Box::new(std::iter::once(last.and_then(|last| last)))
            }),
        ),
    ];
    functions.into_iter()
}

fn last(mut cv: Cv<'_, Kind>) -> Results<'_> {
    let (body, context) = cv.0.pop_fun();
    let last = body.run((context, cv.1)).try_fold(Value::null(), |_, next| next);
    Box::new(std::iter::once(last))
}

/// Each path of `paths` gets the value.
fn assign(mut cv: Cv<'_, Kind>) -> Results<'_> {
    let value = cv.0.pop_var();
    let (paths, context) = cv.0.pop_fun();
    let root = cv.1;
    let assigned = || -> ValX<'_, Value> {
        let mut target = root.clone();
        for path in paths.paths((context, (root, Default::default()))) {
            let (_, path) = path?;
            let steps: Vec<Value> = path.iter().cloned().collect();
            target = at(target, &reversed(steps), &mut |_| Ok(value.clone()))?;
        }
        Ok(target)
    };
    Box::new(std::iter::once(assigned()))
}

/// Each path of `paths` gets the first result of `update`, and paths without a result are deleted at the end.
fn modify(mut cv: Cv<'_, Kind>) -> Results<'_> {
    let (update, update_context) = cv.0.pop_fun();
    let (paths, context) = cv.0.pop_fun();
    let root = cv.1;
    let modified = || -> ValX<'_, Value> {
        let (mut target, mut gone) = (root.clone(), Vec::new());
        for path in paths.paths((context, (root, Default::default()))) {
            let (_, path) = path?;
            let steps = reversed(path.iter().cloned().collect());
            // An exception of the update passes through the errors of the path.
            let mut exception: Option<Exn<'_, Value>> = None;
            let mut is_gone = false;
            let changed = at(target, &steps, &mut |value| {
                match update.run((update_context.clone(), value.clone())).next() {
                    Some(Ok(new)) => return Ok(new),
                    Some(Err(error)) => exception = Some(error),
                    None => is_gone = true,
                }
                Ok(value)
            });
            if let Some(exception) = exception {
                return Err(exception);
            }
            target = changed?;
            if is_gone {
                gone.push(steps);
            }
        }
        Ok(delete(target, gone)?)
    };
    Box::new(std::iter::once(modified()))
}

fn reversed(mut steps: Vec<Value>) -> Vec<Value> {
    steps.reverse();
    steps
}

fn steps(path: &Value) -> Result<Vec<Value>, Error> {
    match &path.0 {
        Val::Arr(steps) if steps.len() > MAX_PATH => Err(failure("the path is too long")),
        Val::Arr(steps) => Ok(steps.iter().cloned().map(Value).collect()),
        _ => Err(failure("a path must be an array")),
    }
}

/// Changes the value at a path.
fn at(
    target: Value,
    steps: &[Value],
    change: &mut dyn FnMut(Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let Some((key, rest)) = steps.split_first() else {
        return change(target);
    };
    let (target, child) = taken(target, key)?;
    let child = at(child, rest, change)?;
    set(target, key, child)
}

/// Takes a child out of its parent, which then has one reference to it less: the change need not copy it.
fn taken(mut target: Value, key: &Value) -> Result<(Value, Value), Error> {
    let number = key.as_number();
    let slot = match (&mut target.0, &key.0) {
        (Val::Obj(fields), Val::TStr(_)) => Rc::make_mut(fields).get_mut(&key.0),
        (Val::Arr(items), Val::Num(_)) => {
            let index = number.and_then(|number| place(number, items.len()));
            index.and_then(|index| Rc::make_mut(items).get_mut(index))
        }
        _ => {
            let child = target.clone().index(key)?;
            return Ok((target, child));
        }
    };
    let child = slot.map(std::mem::take).unwrap_or_default();
    Ok((target, Value(child)))
}

fn delpaths(target: Value, paths: &Value) -> Result<Value, Error> {
    let Val::Arr(paths) = &paths.0 else {
        return Err(failure("paths must be an array"));
    };
    let paths = paths.iter().cloned().map(Value);
    let paths: Result<Vec<_>, Error> = paths.map(|path| steps(&path)).collect();
    delete(target, paths?)
}

/// Deletes the last path first, so that no deletion moves what another path names.
fn delete(mut target: Value, mut paths: Vec<Vec<Value>>) -> Result<Value, Error> {
    paths.sort();
    for path in paths.into_iter().rev() {
        let Some((key, parents)) = path.split_last() else {
            return Ok(Value::null());
        };
        target = below(target, parents, key)?;
    }
    Ok(target)
}

fn below(target: Value, parents: &[Value], key: &Value) -> Result<Value, Error> {
    let Some((parent, rest)) = parents.split_first() else {
        return removed(target, key);
    };
    if target.clone().index(parent)?.0 == Val::Null {
        return Ok(target);
    }
    let (target, child) = taken(target, parent)?;
    let child = below(child, rest, key)?;
    set(target, parent, child)
}

fn length(value: Value) -> Result<Value, Error> {
    Ok(match &value.0 {
        Val::Null => Value(Val::from(0_usize)),
        Val::Bool(_) => return Err(failure(format_args!("{} has no length", value.described()))),
        Val::Num(_) if value.as_number().is_some_and(|number| number < 0.0) => return -value,
        Val::Num(_) => value,
        Val::TStr(_) => Value(Val::from(value.as_text().unwrap_or_default().chars().count())),
        Val::BStr(bytes) => Value(Val::from(bytes.len())),
        Val::Arr(items) => Value(Val::from(items.len())),
        Val::Obj(fields) => Value(Val::from(fields.len())),
    })
}

fn has(value: &Value, key: &Value) -> Result<Value, Error> {
    let has = match (&value.0, &key.0) {
        (Val::Obj(fields), Val::TStr(_)) => fields.contains_key(&key.0),
        (Val::Arr(items), Val::Num(_)) => key
            .as_number()
            .is_some_and(|index| index >= 0.0 && index < items.len() as f64),
        _ => {
            return Err(failure(format_args!(
                "cannot check whether {} has a key of type {}",
                value.kind(),
                key.kind()
            )));
        }
    };
    Ok(has.into())
}

fn contains(value: &Val, part: &Val) -> bool {
    match (value, part) {
        (Val::Obj(fields), Val::Obj(part)) => part
            .iter()
            .all(|(name, part)| fields.get(name).is_some_and(|value| contains(value, part))),
        (Val::Arr(items), Val::Arr(part)) => part
            .iter()
            .all(|part| items.iter().any(|item| contains(item, part))),
        (Val::TStr(text), Val::TStr(part)) => {
            String::from_utf8_lossy(text).contains(&*String::from_utf8_lossy(part))
        }
        (value, part) => compare_by_operator(value, part) == Ordering::Equal,
    }
}

fn places(value: Value, part: &Value) -> Result<Value, Error> {
    match (&value.0, &part.0) {
        (Val::Null, _) => Ok(Value::null()),
        (Val::Arr(items), Val::Arr(part)) => Ok(indices(items, part)),
        (Val::Arr(items), part) => Ok(indices(items, std::slice::from_ref(part))),
        (Val::TStr(_), Val::TStr(_)) => {
            let (text, part) = (
                value.as_text().unwrap_or_default(),
                part.as_text().unwrap_or_default(),
            );
            if part.is_empty() {
                return Ok(Value(Vec::<Val>::new().into_iter().collect()));
            }
            let starts = text.char_indices().enumerate();
            let starts = starts
                .filter(|(_, (start, _))| text.get(*start..).is_some_and(|rest| rest.starts_with(&*part)));
            Ok(Value(starts.map(|(place, _)| Val::from(place)).collect()))
        }
        _ => value.cannot_index(part),
    }
}

fn bsearch(value: &Value, item: &Value) -> Result<Value, Error> {
    let Val::Arr(items) = &value.0 else {
        return Err(failure(format_args!(
            "{} cannot be searched from",
            value.described()
        )));
    };
    let place = match items.binary_search(&item.0) {
        Ok(place) => isize::try_from(place).unwrap_or(isize::MAX),
        Err(place) => -1 - isize::try_from(place).unwrap_or(isize::MAX),
    };
    Ok(place.into())
}

fn fromjson(value: &Value) -> Result<Value, Error> {
    let Some(text) = value.as_text() else {
        return Err(failure(format_args!(
            "{} cannot be parsed as JSON",
            value.described()
        )));
    };
    if matches!(text.trim(), "nan" | "NaN" | "-nan") {
        return Ok(f64::NAN.into());
    }
    // The library's parser takes more than JSON.
    let valid = serde_json::from_str::<&serde_json::value::RawValue>(&text);
    let parsed = valid.map_err(|error| error.to_string());
    let parsed = parsed.and_then(|raw| json::parsed(raw.get()));
    parsed.map(Value).map_err(|error| {
        failure(format_args!(
            "{} cannot be parsed as JSON: {error}",
            value.described()
        ))
    })
}

fn tonumber(value: Value) -> Result<Value, Error> {
    let wrong = |value: &Value| failure(format_args!("{} cannot be parsed as a number", value.described()));
    match value.as_text() {
        None if value.kind() == "number" => Ok(value),
        None => Err(wrong(&value)),
        Some(text) => {
            match text.trim_start_matches('-') {
                "nan" | "NaN" => return Ok(f64::NAN.into()),
                "infinity" if text.starts_with('-') => return Ok(f64::NEG_INFINITY.into()),
                "infinity" => return Ok(f64::INFINITY.into()),
                _ => {}
            }
            let digits = text.strip_prefix(['-', '+']).unwrap_or(&text);
            let is_number = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
                && text.parse::<f64>().is_ok();
            let number = text.strip_prefix('+').unwrap_or(&text);
            match is_number {
                true => Value::from_num(number),
                false => Err(wrong(&value)),
            }
        }
    }
}

fn bytes(value: &Value) -> Result<Vec<u8>, Error> {
    let wrong = || failure(format_args!("{} cannot become bytes", value.described()));
    match &value.0 {
        Val::TStr(bytes) | Val::BStr(bytes) => Ok(bytes.to_vec()),
        Val::Num(_) => {
            let byte = value.as_number().filter(|byte| (0.0..256.0).contains(byte));
            Ok(vec![byte.ok_or_else(wrong)? as u8])
        }
        Val::Arr(items) => {
            let parts: Result<Vec<_>, _> = items.iter().map(|item| bytes(&Value(item.clone()))).collect();
            Ok(parts?.concat())
        }
        _ => Err(wrong()),
    }
}

fn implode(value: &Value) -> Result<Value, Error> {
    let wrong = |item: &Value| failure(format_args!("{} is not a code point", item.described()));
    let Val::Arr(items) = &value.0 else {
        return Err(failure(format_args!("{} cannot be imploded", value.described())));
    };
    let characters = items.iter().map(|item| {
        let item = Value(item.clone());
        let number = item.as_number().ok_or_else(|| wrong(&item))?;
        // As in jq, what is no character becomes the replacement character.
        let character = if number < 0.0 {
            None
        } else {
            char::from_u32(number as u32)
        };
        Ok(character.unwrap_or(char::REPLACEMENT_CHARACTER))
    });
    Ok(Value::text(characters.collect::<Result<String, Error>>()?))
}
