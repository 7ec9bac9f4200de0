//! Reads YAML 1.2 with its core schema, restricted to JSON values.
//!
//! Aliases are refused, because a short text with aliases can expand to a long one. Tags, keys that are not
//! texts, and numbers that JSON lacks are refused too.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::{Refusal, Tree, fault, twice};
use crate::fault::{Fault, Place};
use crate::limits::MAX_DOCUMENT_LEVELS;

/// A list or object under construction.
enum Open {
    List(Vec<Tree>),
    Object(
        Vec<(String, Tree)>,
        Option<String>,
        std::collections::HashSet<String>,
    ),
}

pub fn read(text: &str) -> Result<Tree, Refusal> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Refusal::Syntax(syntax(&error)))?;
        reader.take(event, span).map_err(Refusal::Rule)?;
    }
    let empty = || fault("The definition is empty; it needs 'document' and 'do'.".to_owned());
    reader.root.ok_or_else(|| Refusal::Rule(empty()))
}

fn syntax(error: &ScanError) -> Fault {
    let marker = error.marker();
    fault(format!(
        "The definition is neither JSON nor YAML: {} at line {}, column {}.",
        error.info(),
        marker.line(),
        marker.col() + 1
    ))
}

#[derive(Default)]
struct Reader {
    open: Vec<(Open, Place)>,
    root: Option<Tree>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Fault> {
        match &event {
            Event::Alias(_) => return Err(self.refuse(span, "an alias; write the value out")),
            Event::Scalar(_, _, anchor, tag) => self.plain(*anchor, tag.is_some(), span)?,
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                self.plain(*anchor, tag.is_some(), span)?;
            }
            _ => {}
        }
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(self.refuse(span, "a second document; send one"))
            }
            Event::Scalar(text, style, ..) => self.scalar(&text, style, span),
            Event::SequenceStart(..) => self.start(Open::List(Vec::new()), span),
            Event::MappingStart(..) => self.start(
                Open::Object(Vec::new(), None, std::collections::HashSet::new()),
                span,
            ),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some((Open::List(items), _)) => self.value(Tree::List(items)),
                Some((Open::Object(fields, ..), _)) => self.value(Tree::Object(fields)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Refuses anchors and tags.
    fn plain(&self, anchor: usize, is_tagged: bool, span: Span) -> Result<(), Fault> {
        if anchor > 0 {
            return Err(self.refuse(span, "an anchor; write the value out where it is needed"));
        }
        if is_tagged {
            return Err(self.refuse(span, "a tag; values are those of JSON"));
        }
        Ok(())
    }

    /// Returns the place of the next value.
    fn place(&self) -> Place {
        match self.open.last() {
            None => Place::default(),
            Some((Open::List(items), at)) => at.item(items.len()),
            Some((Open::Object(_, Some(name), _), at)) => at.field(name),
            Some((Open::Object(..), at)) => at.clone(),
        }
    }

    fn refuse(&self, span: Span, what: &str) -> Fault {
        Fault {
            pointer: self.place().pointer().to_owned(),
            message: format!("The YAML has {what} (line {}).", span.start.line()),
        }
    }

    /// Whether the next value is a key.
    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some((Open::Object(_, None, _), _)))
    }

    fn start(&mut self, open: Open, span: Span) -> Result<(), Fault> {
        if self.wants_key() {
            return Err(self.refuse(span, "a key that is not a text"));
        }
        if self.open.len() >= MAX_DOCUMENT_LEVELS {
            return Err(fault(format!(
                "The definition nests deeper than {MAX_DOCUMENT_LEVELS} levels."
            )));
        }
        let place = self.place();
        self.open.push((open, place));
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Result<(), Fault> {
        let value = match style {
            ScalarStyle::Plain => plain(text).ok_or_else(|| {
                self.refuse(
                    span,
                    &format!("the number {text}, which JSON lacks; put it in quotes"),
                )
            })?,
            _ => Tree::Text(text.to_owned()),
        };
        if !self.wants_key() {
            return self.value(value);
        }
        let Tree::Text(name) = value else {
            let what = format!("the key {text}, which is not a text; put it in quotes");
            return Err(self.refuse(span, &what));
        };
        if name == "<<" && style == ScalarStyle::Plain {
            return Err(self.refuse(span, "a merge key; write the fields out"));
        }
        if let Some((Open::Object(_, key, names), at)) = self.open.last_mut() {
            if !names.insert(name.clone()) {
                return Err(twice(at, &name));
            }
            *key = Some(name);
        }
        Ok(())
    }

    fn value(&mut self, value: Tree) -> Result<(), Fault> {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some((Open::List(items), _)) => items.push(value),
            Some((Open::Object(fields, key, _), _)) => {
                if let Some(name) = key.take() {
                    fields.push((name, value));
                }
            }
        }
        Ok(())
    }
}

/// Reads a scalar without quotes by the core schema of YAML 1.2. None for a number that JSON lacks.
fn plain(text: &str) -> Option<Tree> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Tree::Null),
        "true" | "True" | "TRUE" => return Some(Tree::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Tree::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return None;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        let digits = text
            .strip_prefix(prefix)
            .filter(|digits| !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix)));
        if let Some(digits) = digits {
            let number = u128::from_str_radix(digits, radix).ok()?;
            return Some(Tree::Number(number.to_string()));
        }
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    Some(number(unsigned).map_or_else(
        || Tree::Text(text.to_owned()),
        |number| Tree::Number(format!("{sign}{number}")),
    ))
}

/// Converts `[0-9]+`, `.5`, `5.` and exponents to the form of JSON.
fn number(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(place) => (text.get(..place)?, text.get(place + 1..)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let fraction = if fraction.is_empty() {
        String::new()
    } else {
        format!(".{fraction}")
    };
    let exponent = match exponent {
        None => String::new(),
        Some(exponent) => {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            if digits.is_empty() || !is_digits(digits) {
                return None;
            }
            format!("e{exponent}")
        }
    };
    Some(format!("{whole}{fraction}{exponent}"))
}
