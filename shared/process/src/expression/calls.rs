//! Finds the functions that a term calls, so that only their definitions are compiled with it.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::path::Part;

/// Name and number of arguments.
pub(super) type Signature<'s> = (&'s str, usize);

/// Adds the calls of a term. A function that the term itself defines counts too: its name may be that of one
/// which another function calls.
pub(super) fn calls<'s>(term: &Term<&'s str>, into: &mut Vec<Signature<'s>>) {
    match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Arr(None) | Term::Break(_) | Term::Var(_) => {}
        Term::Str(format, parts) => {
            into.extend(format.map(|format| (format, 0)));
            for part in parts {
                if let StrPart::Term(inner) = part {
                    calls(inner, into);
                }
            }
        }
        Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => calls(inner, into),
        Term::Obj(fields) => {
            for (name, value) in fields {
                calls(name, into);
                all(value, into);
            }
        }
        Term::BinOp(left, operation, right) => {
            if let BinaryOp::Pipe(Some(pattern)) = operation {
                of_pattern(pattern, into);
            }
            calls(left, into);
            calls(right, into);
        }
        Term::Fold(_, items, pattern, arguments) => {
            calls(items, into);
            of_pattern(pattern, into);
            all(arguments, into);
        }
        Term::TryCatch(body, handler) => {
            calls(body, into);
            all(handler.as_deref(), into);
        }
        Term::IfThenElse(cases, otherwise) => {
            for (condition, value) in cases {
                calls(condition, into);
                calls(value, into);
            }
            all(otherwise.as_deref(), into);
        }
        Term::Def(definitions, body) => {
            all(definitions.iter().map(|definition| &definition.body), into);
            calls(body, into);
        }
        Term::Call(name, arguments) => {
            into.push((name, arguments.len()));
            all(arguments, into);
        }
        Term::Path(head, path) => {
            calls(head, into);
            for (part, _) in &path.0 {
                match part {
                    Part::Index(index) => calls(index, into),
                    Part::Range(from, to) => all(from.iter().chain(to), into),
                }
            }
        }
    }
}

fn all<'t, 's: 't>(terms: impl IntoIterator<Item = &'t Term<&'s str>>, into: &mut Vec<Signature<'s>>) {
    for term in terms {
        calls(term, into);
    }
}

fn of_pattern<'s>(pattern: &Pattern<&'s str>, into: &mut Vec<Signature<'s>>) {
    match pattern {
        Pattern::Var(_) => {}
        Pattern::Arr(items) => items.iter().for_each(|item| of_pattern(item, into)),
        Pattern::Obj(fields) => {
            for (name, inner) in fields {
                calls(name, into);
                of_pattern(inner, into);
            }
        }
    }
}
