//! Parses a template literal and its expressions, by recursive descent with a limited depth.

use super::lexer::Reader;
use super::tree::{Expression, Kind, Operator, Part, Template};
use crate::error::{Place, RenderError};
use crate::limits::MAX_NESTING;

pub type Result<T> = std::result::Result<T, RenderError>;

pub fn parse(content: &str) -> Result<Template> {
    let mut parser = Parser {
        reader: Reader::new(content),
        depth: 0,
        locals: Vec::new(),
    };
    let template = parser.template()?;
    match parser.reader.peek() {
        None => Ok(template),
        Some(_) => parser
            .reader
            .fault("a backtick in the text must be written as \\`"),
    }
}

pub struct Parser<'a> {
    pub reader: Reader<'a>,
    /// Number of open expressions.
    depth: usize,
    /// Parameters of the open functions, the outermost first.
    pub locals: Vec<&'a str>,
}

impl<'a> Parser<'a> {
    /// Parses text and expressions up to a backtick or the end.
    pub fn template(&mut self) -> Result<Template> {
        let (mut parts, mut text) = (Vec::new(), String::new());
        loop {
            match self.reader.peek() {
                None | Some('`') => break,
                Some('\\') => {
                    self.reader.next();
                    self.reader.escape(&mut text, true)?;
                }
                Some('$') if self.reader.take("${") => {
                    if !text.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                    }
                    parts.push(Part::Expression(self.expression()?));
                    self.expect("}", "an operator, or '}' at the end of the expression")?;
                }
                // JavaScript normalizes all line ends to this one.
                Some('\r') => {
                    self.reader.next();
                    self.reader.take("\n");
                    text.push('\n');
                }
                Some(_) => text.extend(self.reader.next()),
            }
        }
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Template { parts })
    }

    /// Consumes a text; `expected` says in words what may stand there.
    pub fn expect(&mut self, text: &str, expected: &str) -> Result<()> {
        self.reader.skip_space()?;
        match self.reader.take(text) {
            true => Ok(()),
            false => self.reader.unexpected(expected),
        }
    }

    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return self
                .reader
                .fault(format!("expressions are nested more than {MAX_NESTING} deep"));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Returns an expression that begins at a place.
    pub fn made(&self, place: Place, kind: Kind) -> Result<Expression> {
        let depth = 1 + kind.depth();
        if depth > MAX_NESTING {
            let reason =
                format!("an expression has more than {MAX_NESTING} operators and parts within one another");
            return self.reader.fault(reason);
        }
        Ok(Expression { kind, place, depth })
    }

    /// Parses an expression, including `a ? b : c`.
    pub fn expression(&mut self) -> Result<Expression> {
        self.nested(|parser| {
            let condition = parser.binary(0)?;
            parser.reader.skip_space()?;
            if !parser.reader.take("?") {
                return Ok(condition);
            }
            let first = parser.expression()?;
            parser.expect(":", "an operator, or ':' before the second choice")?;
            let second = parser.expression()?;
            let place = condition.place;
            let choice = Kind::Choice(Box::new(condition), Box::new(first), Box::new(second));
            parser.made(place, choice)
        })
    }

    fn binary(&mut self, least: u8) -> Result<Expression> {
        let mut left = self.unary()?;
        loop {
            self.reader.skip_space()?;
            let Some(operator) = self.reader.operator(least) else {
                return Ok(left);
            };
            let right = self.nested(|parser| parser.binary(operator.precedence() + 1))?;
            let mixes = |side: &Expression| match &side.kind {
                Kind::Binary(other, ..) => {
                    (operator == Operator::Coalesce && matches!(other, Operator::And | Operator::Or))
                        || (operator == Operator::Or && *other == Operator::Coalesce)
                }
                _ => false,
            };
            if mixes(&left) || mixes(&right) {
                return self.reader.fault("'??' beside '&&' or '||' needs parentheses");
            }
            let place = left.place;
            left = self.made(place, Kind::Binary(operator, Box::new(left), Box::new(right)))?;
        }
    }

    fn unary(&mut self) -> Result<Expression> {
        self.reader.skip_space()?;
        let place = self.reader.place;
        if self.takes_word("typeof") {
            let operand = self.nested(Self::unary)?;
            return self.made(place, Kind::TypeOf(Box::new(operand)));
        }
        let is_double = self.reader.rest().starts_with("++") || self.reader.rest().starts_with("--");
        let make: fn(Box<Expression>) -> Kind = match self.reader.peek() {
            Some('!') => Kind::Not,
            Some('-') if !is_double => Kind::Minus,
            Some('+') if !is_double => Kind::Plus,
            _ => return self.members(),
        };
        self.reader.next();
        let operand = self.nested(Self::unary)?;
        self.made(place, make(Box::new(operand)))
    }

    /// Consumes a word, if it is next.
    fn takes_word(&mut self, word: &str) -> bool {
        let before = self.reader;
        let is_next = self.reader.word() == Some(word);
        if !is_next {
            self.reader = before;
        }
        is_next
    }

    fn members(&mut self) -> Result<Expression> {
        let mut object = self.primary()?;
        let place = object.place;
        loop {
            self.reader.skip_space()?;
            // The question mark in `a ?.5 : b` is not a `?.`.
            let rest = self.reader.rest();
            let is_optional = rest.starts_with("?.")
                && !rest
                    .get(2..)
                    .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()));
            let is_dotted = match is_optional {
                true => self.reader.take("?."),
                false => self.reader.take("."),
            };
            self.reader.skip_space()?;
            if (is_optional || !is_dotted) && self.reader.take("[") {
                let name = self.expression()?;
                self.expect("]", "an operator, or ']' behind the name of the property")?;
                object = self.made(place, Kind::Index(Box::new(object), Box::new(name), is_optional))?;
            } else if is_dotted {
                let at = self.reader.place;
                let Some(name) = self.reader.word() else {
                    return self.reader.unexpected("the name of a property");
                };
                self.reader.skip_space()?;
                let kind = match self.reader.peek() {
                    Some('(') => self.method(at, object, name, is_optional)?,
                    _ => Kind::Member(Box::new(object), name.to_owned(), is_optional),
                };
                object = self.made(place, kind)?;
            } else if matches!(self.reader.peek(), Some('(' | '`')) {
                return self.reader.fault(
                    "only named functions are called, as in items.map(x => x.name); expected an operator or a property",
                );
            } else {
                return Ok(object);
            }
        }
    }
}
