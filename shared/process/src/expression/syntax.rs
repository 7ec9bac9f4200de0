//! Parses an expression and checks every name in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use jaq_core::load::lex::{self, Lexer, StrPart, Token};
use jaq_core::load::parse::{BinaryOp, Def, Parser, Pattern, Term};
use jaq_core::path::Part;

use super::{VARIABLES, library, nesting};
use crate::definition::{Expression, Parsed};
use crate::limits::{MAX_EXPRESSION_BYTES, MAX_EXPRESSION_LEVELS};

/// Names that an expression may refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// Variables of loops and of `catch`, without `$`.
    pub variables: &'a [String],
    /// Names from `use.secrets`.
    pub secrets: &'a [String],
}

/// Returns the jq text in `${ … }` if the whole text is one expression.
pub fn enclosed(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    (!inner.trim().is_empty()).then_some(inner)
}

/// Parses a jq text. The error is a sentence.
///
/// Recurses: [`check`](crate::check()) calls it on a stack that is large enough for every text.
pub fn parse(source: &str, names: Names<'_>) -> Result<Expression, String> {
    if source.len() > MAX_EXPRESSION_BYTES {
        return Err(format!(
            "The expression has {} bytes; at most {MAX_EXPRESSION_BYTES} are taken.",
            source.len()
        ));
    }
    if !nesting::is_bounded(source) {
        return Err(format!(
            "The expression nests deeper than {MAX_EXPRESSION_LEVELS} levels."
        ));
    }
    let tokens = Lexer::new(source).lex().map_err(|errors| {
        let error = errors.into_iter().next();
        error.map_or_else(String::new, |(expected, found)| {
            broken(&expected_by_lexer(&expected), source, found)
        })
    })?;
    let term = Parser::new(&tokens).parse(Parser::term).map_err(|errors| {
        let error = errors.into_iter().next();
        error.map_or_else(String::new, |(expected, found)| {
            broken(expected.as_str(), source, Token::opt_as_str(found, source))
        })
    })?;
    let mut walk = Walk {
        source,
        names,
        bound: Vec::new(),
        functions: Vec::new(),
        labels: Vec::new(),
        variables: BTreeSet::new(),
        secrets: BTreeSet::new(),
    };
    walk.term(&term)?;
    let parsed = Parsed {
        source: source.to_owned(),
        variables: walk.variables.into_iter().collect(),
        secrets: walk.secrets.into_iter().collect(),
    };
    Ok(Expression {
        inner: Arc::new(parsed),
    })
}

fn expected_by_lexer(expected: &lex::Expect<&str>) -> String {
    match expected {
        lex::Expect::Delim(open) => format!("the end of what begins with {open}"),
        // The library's text for any other delimiter would panic.
        other => other.as_str().to_owned(),
    }
}

fn broken(expected: &str, source: &str, found: &str) -> String {
    format!(
        "The expression does not parse: expected {expected} at {}.",
        place(source, found)
    )
}

/// Returns line and column of a part of the source; the part must be a slice of it.
fn place(source: &str, part: &str) -> String {
    let start = (part.as_ptr() as usize).checked_sub(source.as_ptr() as usize);
    let before = start.and_then(|start| source.get(..start)).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}")
}

/// Names in scope during the check of a term.
struct Walk<'a, 's> {
    source: &'s str,
    names: Names<'a>,
    /// Variables bound by the expression, with `$`.
    bound: Vec<&'s str>,
    /// Functions defined by the expression, with their number of arguments.
    functions: Vec<(&'s str, usize)>,
    labels: Vec<&'s str>,
    variables: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

impl<'s> Walk<'_, 's> {
    fn terms<'t>(&mut self, terms: impl IntoIterator<Item = &'t Term<&'s str>>) -> Result<(), String>
    where
        's: 't,
    {
        terms.into_iter().try_for_each(|term| self.term(term))
    }

    fn term(&mut self, term: &Term<&'s str>) -> Result<(), String> {
        match term {
            Term::Id | Term::Recurse | Term::Num(_) | Term::Arr(None) => Ok(()),
            Term::Str(format, parts) => {
                if let Some(format) = format {
                    self.call(format, 0)?;
                }
                self.terms(parts.iter().filter_map(|part| match part {
                    StrPart::Term(term) => Some(term),
                    StrPart::Str(_) | StrPart::Char(_) => None,
                }))
            }
            Term::Arr(Some(term)) | Term::Neg(term) => self.term(term),
            Term::Obj(fields) => {
                for (name, value) in fields {
                    self.term(name)?;
                    self.terms(value)?;
                }
                Ok(())
            }
            Term::BinOp(left, BinaryOp::Pipe(Some(pattern)), right) => {
                self.term(left)?;
                self.binding(pattern, |walk| walk.term(right))
            }
            Term::BinOp(left, _, right) => {
                self.term(left)?;
                self.term(right)
            }
            Term::Label(name, body) => {
                self.labels.push(name);
                let done = self.term(body);
                self.labels.pop();
                done
            }
            Term::Break(name) if self.labels.contains(name) => Ok(()),
            Term::Break(name) => Err(self.unknown("label", name)),
            Term::Fold(name, items, pattern, arguments) => {
                let (fewest, most) = if *name == "reduce" { (2, 2) } else { (2, 3) };
                if !(fewest..=most).contains(&arguments.len()) {
                    return Err(self.unknown("form of", &format!("{name}/{}", arguments.len())));
                }
                self.term(items)?;
                self.binding(pattern, |walk| walk.terms(arguments))
            }
            Term::TryCatch(body, handler) => {
                self.term(body)?;
                self.terms(handler.as_deref())
            }
            Term::IfThenElse(cases, otherwise) => {
                for (condition, value) in cases {
                    self.term(condition)?;
                    self.term(value)?;
                }
                self.terms(otherwise.as_deref())
            }
            Term::Def(definitions, body) => {
                let outer = self.functions.len();
                let done = definitions
                    .iter()
                    .try_for_each(|definition| self.definition(definition));
                let done = done.and_then(|()| self.term(body));
                self.functions.truncate(outer);
                done
            }
            Term::Call(name, arguments) => {
                self.call(name, arguments.len())?;
                self.terms(arguments)
            }
            Term::Var("$secrets") if !self.bound.contains(&"$secrets") => Err(
                "The expression reads all secrets at once; name each by itself: $secrets.<name>.".to_owned(),
            ),
            Term::Var(name) => self.variable(name),
            Term::Path(head, path) => {
                let mut parts = path.0.iter();
                match (&**head, parts.clone().next()) {
                    (Term::Var("$secrets"), Some((Part::Index(Term::Str(None, key)), _)))
                        if !self.bound.contains(&"$secrets") =>
                    {
                        self.secret(key)?;
                        parts.next();
                    }
                    (head, _) => self.term(head)?,
                }
                for (part, _) in parts {
                    match part {
                        Part::Index(index) => self.term(index)?,
                        Part::Range(from, to) => self.terms(from.iter().chain(to))?,
                    }
                }
                Ok(())
            }
        }
    }

    /// The function sees itself and earlier definitions.
    fn definition(&mut self, definition: &Def<&'s str>) -> Result<(), String> {
        self.functions.push((definition.name, definition.args.len()));
        let (functions, bound) = (self.functions.len(), self.bound.len());
        for argument in &definition.args {
            if argument.starts_with('$') {
                self.bound.push(argument);
            } else {
                self.functions.push((argument, 0));
            }
        }
        let done = self.term(&definition.body);
        self.functions.truncate(functions);
        self.bound.truncate(bound);
        done
    }

    fn binding(
        &mut self,
        pattern: &Pattern<&'s str>,
        body: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let outer = self.bound.len();
        self.pattern(pattern)?;
        let done = body(self);
        self.bound.truncate(outer);
        done
    }

    fn pattern(&mut self, pattern: &Pattern<&'s str>) -> Result<(), String> {
        match pattern {
            Pattern::Var(name) => {
                self.bound.push(name);
                Ok(())
            }
            Pattern::Arr(items) => items.iter().try_for_each(|item| self.pattern(item)),
            Pattern::Obj(fields) => fields.iter().try_for_each(|(key, value)| {
                self.term(key)?;
                self.pattern(value)
            }),
        }
    }

    fn call(&mut self, name: &'s str, arguments: usize) -> Result<(), String> {
        if self.functions.contains(&(name, arguments)) {
            return Ok(());
        }
        if let Some(reason) = library::refused(name) {
            return Err(format!(
                "The expression calls '{name}' at {}, which is refused: {reason}.",
                place(self.source, name)
            ));
        }
        if library::has(name, arguments) {
            return Ok(());
        }
        let written = if arguments == 0 {
            name.to_owned()
        } else {
            format!("{name}/{arguments}")
        };
        Err(format!(
            "The expression calls '{written}' at {}, which does not exist; a field is written '.{name}', \
             a text in double quotes.",
            place(self.source, name)
        ))
    }

    fn variable(&mut self, name: &'s str) -> Result<(), String> {
        if self.bound.contains(&name) {
            return Ok(());
        }
        if let Some(reason) = library::refused_variable(name) {
            return Err(format!(
                "The expression reads '{name}' at {}, which is refused: {reason}.",
                place(self.source, name)
            ));
        }
        let plain = name.strip_prefix('$').unwrap_or(name);
        let is_known = VARIABLES.contains(&plain) || self.names.variables.iter().any(|other| other == plain);
        if !is_known {
            return Err(self.unknown("variable", name));
        }
        self.variables.insert(plain.to_owned());
        Ok(())
    }

    fn secret(&mut self, key: &[StrPart<&'s str, Term<&'s str>>]) -> Result<(), String> {
        let [StrPart::Str(name)] = key else {
            return Err(
                "The expression computes the name of a secret; write it out: $secrets.<name>.".to_owned(),
            );
        };
        if !self.names.secrets.iter().any(|secret| secret == name) {
            return Err(format!(
                "The expression reads the secret '{name}', which 'use.secrets' does not list; add it there."
            ));
        }
        self.variables.insert("secrets".to_owned());
        self.secrets.insert((*name).to_owned());
        Ok(())
    }

    fn unknown(&self, what: &str, name: &str) -> String {
        let place = match self.source.find(name) {
            Some(_) if name.as_ptr() >= self.source.as_ptr() => place(self.source, name),
            _ => "line 1".to_owned(),
        };
        let known: Vec<String> = VARIABLES.iter().map(|name| format!("${name}")).collect();
        let advice = match what {
            "variable" => format!(
                "; known are {} and those of the loops around it",
                known.join(", ")
            ),
            _ => String::new(),
        };
        format!("The expression uses the {what} '{name}' at {place}, which does not exist{advice}.")
    }
}
