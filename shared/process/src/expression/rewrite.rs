//! Rewrites parsed jq where the library evaluates it in another order, or with another result, than jq does.
//!
//! The library keeps the rest of the language. Names with `!` cannot be written by an author, so no
//! definition of an expression replaces what a rewritten term calls.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Opt, Part, Path};

/// Native function: the last result of a term, or null where it has none.
pub(super) const LAST: &str = "!last";
/// Native function: no result, and no path.
pub(super) const NONE: &str = "!none";
/// Native function: `paths |= update`.
pub(super) const MODIFY: &str = "!modify";
/// Native function: `paths = $value`.
pub(super) const ASSIGN: &str = "!assign";

const RIGHT: &str = "$!right";
const VALUE: &str = "$!value";

type T<'s> = Term<&'s str>;

pub(super) fn definition(definition: Def<&str>) -> Def<&str> {
    Def {
        body: term(definition.body),
        ..definition
    }
}

pub(super) fn term<'s>(source: T<'s>) -> T<'s> {
    match source {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Arr(None) | Term::Break(_) | Term::Var(_) => source,
        Term::Str(format, parts) => text(format, parts),
        Term::Arr(Some(inner)) => Term::Arr(Some(boxed(*inner))),
        Term::Obj(fields) => Term::Obj(
            fields
                .into_iter()
                .map(|(name, value)| (term(name), value.map(term)))
                .collect(),
        ),
        Term::Neg(inner) => Term::Neg(boxed(*inner)),
        Term::BinOp(left, operation, right) => binary(term(*left), operation, term(*right)),
        Term::Label(name, body) => Term::Label(name, boxed(*body)),
        Term::Fold(name, items, binding, arguments) => fold(name, *items, binding, arguments),
        Term::TryCatch(body, handler) => Term::TryCatch(boxed(*body), handler.map(|handler| boxed(*handler))),
        Term::IfThenElse(cases, otherwise) => Term::IfThenElse(
            cases
                .into_iter()
                .map(|(condition, value)| (term(condition), term(value)))
                .collect(),
            otherwise.map(|otherwise| boxed(*otherwise)),
        ),
        Term::Def(definitions, body) => {
            Term::Def(definitions.into_iter().map(definition).collect(), boxed(*body))
        }
        Term::Call(name, arguments) => Term::Call(name, arguments.into_iter().map(term).collect()),
        Term::Path(head, path) => steps(term(*head), path),
    }
}

fn boxed(inner: T<'_>) -> Box<T<'_>> {
    Box::new(term(inner))
}

fn pipe<'s>(left: T<'s>, right: T<'s>) -> T<'s> {
    Term::BinOp(Box::new(left), BinaryOp::Pipe(None), Box::new(right))
}

/// `value as $name | body`
fn bind<'s>(value: T<'s>, name: &'s str, body: T<'s>) -> T<'s> {
    let pattern = Some(Pattern::Var(name));
    Term::BinOp(Box::new(value), BinaryOp::Pipe(pattern), Box::new(body))
}

/// Rewrites an operation whose operands are rewritten. jq takes each result of the right operand and, for it,
/// each of the left one; the library does the opposite.
fn binary<'s>(left: T<'s>, operation: BinaryOp<&'s str>, right: T<'s>) -> T<'s> {
    match operation {
        BinaryOp::Math(_) | BinaryOp::Cmp(_) if !is_plain(&left) && !is_plain(&right) => {
            let operation = Term::BinOp(Box::new(left), operation, Box::new(Term::Var(RIGHT)));
            bind(right, RIGHT, operation)
        }
        // The library asks whether any result of the left side counts, and takes the paths of all.
        BinaryOp::Alt => {
            let when = vec![(Term::Id, Term::Id)];
            let otherwise = Some(Box::new(Term::Call(NONE, Vec::new())));
            let left = match is_plain(&left) {
                true => left,
                false => pipe(left, Term::IfThenElse(when, otherwise)),
            };
            Term::BinOp(Box::new(left), BinaryOp::Alt, Box::new(right))
        }
        BinaryOp::Assign => {
            let assign = Term::Call(ASSIGN, vec![left, Term::Var(VALUE)]);
            bind(right, VALUE, assign)
        }
        BinaryOp::Update => Term::Call(MODIFY, vec![left, right]),
        BinaryOp::UpdateMath(math) => {
            let changed = Term::BinOp(
                Box::new(Term::Id),
                BinaryOp::Math(math),
                Box::new(Term::Var(VALUE)),
            );
            bind(right, VALUE, Term::Call(MODIFY, vec![left, changed]))
        }
        BinaryOp::UpdateAlt => {
            let changed = Term::BinOp(Box::new(Term::Id), BinaryOp::Alt, Box::new(Term::Var(VALUE)));
            bind(right, VALUE, Term::Call(MODIFY, vec![left, changed]))
        }
        BinaryOp::Pipe(Some(pattern)) => Term::BinOp(
            Box::new(left),
            BinaryOp::Pipe(Some(bound(pattern))),
            Box::new(right),
        ),
        BinaryOp::Pipe(None)
        | BinaryOp::Comma
        | BinaryOp::Or
        | BinaryOp::And
        | BinaryOp::Math(_)
        | BinaryOp::Cmp(_) => Term::BinOp(Box::new(left), operation, Box::new(right)),
    }
}

fn bound(pattern: Pattern<&str>) -> Pattern<&str> {
    match pattern {
        Pattern::Var(_) => pattern,
        Pattern::Arr(items) => Pattern::Arr(items.into_iter().map(bound).collect()),
        Pattern::Obj(fields) => Pattern::Obj(
            fields
                .into_iter()
                .map(|(name, inner)| (term(name), bound(inner)))
                .collect(),
        ),
    }
}

/// Joins the parts of a text so that, as in jq, the last expression is the outermost loop.
fn text<'s>(format: Option<&'s str>, parts: Vec<StrPart<&'s str, T<'s>>>) -> T<'s> {
    let parts: Vec<_> = parts
        .into_iter()
        .map(|part| match part {
            StrPart::Term(inner) => StrPart::Term(term(inner)),
            StrPart::Str(_) | StrPart::Char(_) => part,
        })
        .collect();
    let is_loop = |part: &StrPart<&str, T<'_>>| matches!(part, StrPart::Term(inner) if !is_single(inner));
    if parts.iter().filter(|part| is_loop(part)).count() < 2 {
        return Term::Str(format, parts);
    }
    let texts = parts.into_iter().map(|part| Term::Str(format, vec![part]));
    texts
        .reduce(|left, right| binary(left, BinaryOp::Math(Math::Add), right))
        .unwrap_or(Term::Str(None, Vec::new()))
}

/// In jq, a state is one value: the last result of the update, or null where it has none.
fn fold<'s>(name: &'s str, items: T<'s>, binding: Pattern<&'s str>, arguments: Vec<T<'s>>) -> T<'s> {
    let (items, binding) = (Box::new(term(items)), bound(binding));
    let mut arguments = arguments.into_iter().map(term);
    let (Some(init), Some(update)) = (arguments.next(), arguments.next()) else {
        return Term::Fold(name, items, binding, Vec::new());
    };
    let extract = arguments.next();
    if is_single(&update) {
        let arguments = [init, update].into_iter().chain(extract).collect();
        return Term::Fold(name, items, binding, arguments);
    }
    if name == "reduce" {
        let update = Term::Call(LAST, vec![update]);
        return Term::Fold(name, items, binding, vec![init, update]);
    }
    // The list holds all results of one step: each is given out, and the last one is the next state.
    let each = Term::Path(
        Box::new(Term::Id),
        Path(vec![(Part::Range(None, None), Opt::Essential)]),
    );
    let init = pipe(init, Term::Arr(Some(Box::new(Term::Id))));
    let update = pipe(last_item(), update);
    let extract = match extract {
        Some(extract) => pipe(each, extract),
        None => each,
    };
    let update = Term::Arr(Some(Box::new(update)));
    Term::Fold(name, items, binding, vec![init, update, extract])
}

/// Rewrites the steps of a path. jq evaluates the last of several indices in the outermost loop.
fn steps<'s>(head: T<'s>, path: Path<T<'s>>) -> T<'s> {
    /// Names of the indices that are bound; more of them in one path are unusual.
    const INDICES: [&str; 6] = ["$!1", "$!2", "$!3", "$!4", "$!5", "$!6"];
    let mut parts: Vec<(Part<T<'s>>, Opt)> = path
        .0
        .into_iter()
        .map(|(part, optional)| {
            let part = match part {
                Part::Index(index) => Part::Index(term(index)),
                Part::Range(from, to) => Part::Range(from.map(term), to.map(term)),
            };
            (part, optional)
        })
        .collect();
    let loops = |(part, _): &(Part<T<'s>>, Opt)| match part {
        Part::Index(index) => !is_single(index),
        Part::Range(..) => false,
    };
    let count = parts.iter().filter(|part| loops(part)).count();
    let has_other_loops = !is_single(&head)
        || parts
            .iter()
            .any(|(part, _)| matches!(part, Part::Range(None, None)));
    if count == 0 || (count == 1 && !has_other_loops) {
        return Term::Path(Box::new(head), Path(parts));
    }
    let mut bindings = Vec::new();
    let mut names = INDICES.into_iter();
    for part in &mut parts {
        if loops(part)
            && let (Part::Index(index), Some(name)) = (&mut part.0, names.next())
        {
            bindings.push((name, std::mem::replace(index, Term::Var(name))));
        }
    }
    let path = Term::Path(Box::new(head), Path(parts));
    bindings
        .into_iter()
        .fold(path, |body, (name, index)| bind(index, name, body))
}

/// Whether a term has one result and never fails, so that the order of evaluation makes no difference.
fn is_plain(source: &T<'_>) -> bool {
    match source {
        Term::Id | Term::Num(_) | Term::Var(_) | Term::Arr(None) => true,
        Term::Str(_, parts) => parts.iter().all(|part| !matches!(part, StrPart::Term(_))),
        _ => false,
    }
}

/// Whether a term has one result or fails.
fn is_single(source: &T<'_>) -> bool {
    match source {
        Term::Id | Term::Num(_) | Term::Var(_) | Term::Arr(_) => true,
        Term::Str(_, parts) => parts.iter().all(|part| match part {
            StrPart::Term(inner) => is_single(inner),
            StrPart::Str(_) | StrPart::Char(_) => true,
        }),
        Term::Obj(fields) => fields
            .iter()
            .all(|(name, value)| is_single(name) && value.as_ref().is_none_or(is_single)),
        Term::Neg(inner) => is_single(inner),
        Term::BinOp(left, operation, right) => {
            let is_one = match operation {
                BinaryOp::Pipe(pattern) => matches!(pattern, None | Some(Pattern::Var(_))),
                BinaryOp::Math(_) | BinaryOp::Cmp(_) | BinaryOp::And | BinaryOp::Or => true,
                _ => false,
            };
            is_one && is_single(left) && is_single(right)
        }
        Term::IfThenElse(cases, otherwise) => {
            let are_single = cases
                .iter()
                .all(|(condition, value)| is_single(condition) && is_single(value));
            are_single && otherwise.as_deref().is_none_or(is_single)
        }
        Term::Path(head, path) => {
            is_single(head)
                && path.0.iter().all(|(part, optional)| {
                    let is_one = match part {
                        Part::Index(index) => is_single(index),
                        Part::Range(None, None) => false,
                        Part::Range(from, to) => from.iter().chain(to).all(is_single),
                    };
                    is_one && matches!(optional, Opt::Essential)
                })
        }
        _ => false,
    }
}

/// `.[-1]`
fn last_item<'s>() -> T<'s> {
    let index = Part::Index(Term::Neg(Box::new(Term::Num("1"))));
    Term::Path(Box::new(Term::Id), Path(vec![(index, Opt::Essential)]))
}
