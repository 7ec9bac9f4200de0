//! Regular expressions of expressions, in time linear in the text.

use std::cell::RefCell;
use std::num::NonZeroUsize;

use jaq_json::{Map, Val};
use lru::LruCache;
use regex::{Captures, Regex, RegexBuilder};

use super::value::{Error, Value, failure};

/// Maximum size of a compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 4 * 1_024 * 1_024;
/// Number of compiled patterns that are kept.
const MAX_KEPT: NonZeroUsize = match NonZeroUsize::new(16) {
    Some(most) => most,
    None => NonZeroUsize::MIN,
};

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Flags {
    is_global: bool,
    skips_empty: bool,
    ignores_case: bool,
    is_extended: bool,
    dot_takes_newline: bool,
}

impl Flags {
    fn new(flags: &Value) -> Result<Self, Error> {
        let text = match flags.as_text() {
            Some(text) => text,
            None if flags.kind() == "null" => return Ok(Self::default()),
            None => {
                return Err(failure(format_args!(
                    "{} is not a string of flags",
                    flags.described()
                )));
            }
        };
        let mut read = Self::default();
        for flag in text.chars() {
            match flag {
                'g' => read.is_global = true,
                'n' => read.skips_empty = true,
                'i' => read.ignores_case = true,
                'x' => read.is_extended = true,
                'p' => read.dot_takes_newline = true,
                // '^' and '$' are those of the whole text anyway.
                's' => {}
                _ => return Err(failure(format_args!("{text} is not a valid modifier string"))),
            }
        }
        Ok(read)
    }
}

fn compiled(pattern: &str, flags: &Flags) -> Result<Regex, Error> {
    thread_local! {
        static KEPT: RefCell<LruCache<(String, Flags), Regex>> = RefCell::new(LruCache::new(MAX_KEPT));
    }
    KEPT.with_borrow_mut(|kept| {
        let key = (pattern.to_owned(), flags.clone());
        let regex = kept.try_get_or_insert(key, || {
            RegexBuilder::new(pattern)
                .case_insensitive(flags.ignores_case)
                .ignore_whitespace(flags.is_extended)
                .dot_matches_new_line(flags.dot_takes_newline)
                .size_limit(MAX_COMPILED_BYTES)
                .dfa_size_limit(MAX_COMPILED_BYTES)
                .build()
        });
        // The first line of the message may quote a long pattern.
        let reason = |error: regex::Error| match error {
            regex::Error::CompiledTooBig(_) => "it exceeds the size limit".to_owned(),
            error => error.to_string().lines().last().unwrap_or_default().to_owned(),
        };
        regex.cloned().map_err(|error| {
            failure(format_args!(
                "the text is not a regular expression: {}",
                reason(error)
            ))
        })
    })
}

/// Calls `take` with each match.
fn each(
    text: &str,
    pattern: &Value,
    flags: &Value,
    is_global: bool,
    mut take: impl FnMut(&Captures<'_>, &Regex),
) -> Result<(), Error> {
    let flags = Flags::new(flags)?;
    let Some(pattern) = pattern.as_text() else {
        return Err(failure(format_args!(
            "{} cannot be matched, as it is not a string",
            pattern.described()
        )));
    };
    let regex = compiled(&pattern, &flags)?;
    let mut start = 0;
    while start <= text.len() {
        let Some(captures) = regex.captures_at(text, start) else {
            break;
        };
        let Some(whole) = captures.get(0) else { break };
        let is_empty = whole.is_empty();
        // After an empty match, the search continues one character later.
        start = match is_empty {
            false => whole.end(),
            true => {
                let next = text.get(whole.end()..).and_then(|rest| rest.chars().next());
                whole.end() + next.map_or(1, char::len_utf8)
            }
        };
        if is_empty && flags.skips_empty {
            continue;
        }
        take(&captures, &regex);
        if !is_global && !flags.is_global {
            break;
        }
    }
    Ok(())
}

fn subject(value: &Value) -> Result<std::borrow::Cow<'_, str>, Error> {
    value.as_text().ok_or_else(|| {
        failure(format_args!(
            "{} cannot be matched, as it is not a string",
            value.described()
        ))
    })
}

/// Returns the matches as objects.
pub(super) fn matches(
    value: &Value,
    pattern: &Value,
    flags: &Value,
    is_global: bool,
) -> Result<Value, Error> {
    let text = subject(value)?;
    let (mut found, mut places) = (Vec::new(), Places::new(&text));
    each(&text, pattern, flags, is_global, |captures, regex| {
        found.push(described(captures, regex, &mut places));
    })?;
    Ok(Value(found.into_iter().collect()))
}

/// Returns what is between the matches as texts, and the matches as objects.
pub(super) fn pieces(value: &Value, pattern: &Value, flags: &Value, is_global: bool) -> Result<Value, Error> {
    let text = subject(value)?;
    let (mut found, mut end, mut places) = (Vec::new(), 0, Places::new(&text));
    let between = |start: usize, end: usize| Val::from(text.get(start..end).unwrap_or_default().to_owned());
    each(&text, pattern, flags, is_global, |captures, regex| {
        if let Some(whole) = captures.get(0) {
            found.push(between(end, whole.start()));
            end = whole.end();
        }
        found.push(described(captures, regex, &mut places));
    })?;
    found.push(between(end, text.len()));
    Ok(Value(found.into_iter().collect()))
}

/// Counts the characters before a byte. Matches come in order, so that each is counted from the one before
/// it.
struct Places<'a> {
    text: &'a str,
    byte: usize,
    characters: usize,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            byte: 0,
            characters: 0,
        }
    }

    fn count(&self, start: usize, end: usize) -> usize {
        self.text.get(start..end).map_or(0, |part| part.chars().count())
    }

    fn forward(&mut self, byte: usize) -> usize {
        self.characters += self.count(self.byte, byte);
        self.byte = self.byte.max(byte);
        self.characters
    }
}

fn described(captures: &Captures<'_>, regex: &Regex, places: &mut Places<'_>) -> Val {
    let whole_start = captures.get(0).map_or(0, |whole| whole.start());
    let start = places.forward(whole_start);
    let place = |capture: Option<regex::Match<'_>>| match capture {
        Some(capture) => {
            let offset = start + places.count(whole_start, capture.start());
            [
                ("offset", Val::from(offset)),
                ("length", Val::from(capture.as_str().chars().count())),
                ("string", Val::from(capture.as_str().to_owned())),
            ]
        }
        None => [
            ("offset", Val::from(-1_isize)),
            ("length", Val::from(0_usize)),
            ("string", Val::Null),
        ],
    };
    let object = |fields: Vec<(&str, Val)>| {
        let fields = fields
            .into_iter()
            .map(|(name, value)| (Val::from(name.to_owned()), value));
        Val::obj(fields.collect::<Map>())
    };
    let groups = captures
        .iter()
        .zip(regex.capture_names())
        .skip(1)
        .map(|(capture, name)| {
            let name = name.map_or(Val::Null, |name| Val::from(name.to_owned()));
            let mut fields = place(capture).to_vec();
            fields.push(("name", name));
            object(fields)
        });
    let mut fields = place(captures.get(0)).to_vec();
    fields.push(("captures", groups.collect()));
    object(fields)
}
