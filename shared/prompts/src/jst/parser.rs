//! Parses a template literal and its expressions, by recursive descent with a limited depth.

use super::lexer::Reader;
use super::tree::{Expression, Kind, Operator, Part, Template};
use crate::error::RenderError;
use crate::limits::MAX_NESTING;

type Result<T> = std::result::Result<T, RenderError>;

pub fn parse(content: &str) -> Result<Template> {
    let mut parser = Parser {
        reader: Reader::new(content),
        depth: 0,
    };
    let template = parser.template()?;
    match parser.reader.peek() {
        None => Ok(template),
        Some(_) => parser
            .reader
            .fault("a backtick in the text must be written as \\`"),
    }
}

struct Parser<'a> {
    reader: Reader<'a>,
    /// Number of open expressions.
    depth: usize,
}

impl Parser<'_> {
    /// Parses text and expressions up to a backtick or the end.
    fn template(&mut self) -> Result<Template> {
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
                    self.expect("}")?;
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

    fn expect(&mut self, text: &str) -> Result<()> {
        self.reader.skip_space()?;
        match self.reader.take(text) {
            true => Ok(()),
            false => self.reader.not_rendered(),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
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

    fn made(&self, kind: Kind) -> Result<Expression> {
        let depth = 1 + kind.depth();
        if depth > MAX_NESTING {
            let reason =
                format!("an expression has more than {MAX_NESTING} operators and parts within one another");
            return self.reader.fault(reason);
        }
        Ok(Expression {
            kind,
            line: self.reader.line,
            depth,
        })
    }

    /// Parses an expression, including `a ? b : c`.
    fn expression(&mut self) -> Result<Expression> {
        self.nested(|parser| {
            let condition = parser.binary(0)?;
            parser.reader.skip_space()?;
            if !parser.reader.take("?") {
                return Ok(condition);
            }
            let first = parser.expression()?;
            parser.expect(":")?;
            let second = parser.expression()?;
            parser.made(Kind::Choice(
                Box::new(condition),
                Box::new(first),
                Box::new(second),
            ))
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
            left = self.made(Kind::Binary(operator, Box::new(left), Box::new(right)))?;
        }
    }

    fn unary(&mut self) -> Result<Expression> {
        self.reader.skip_space()?;
        let is_double = self.reader.rest().starts_with("++") || self.reader.rest().starts_with("--");
        let make: fn(Box<Expression>) -> Kind = match self.reader.peek() {
            Some('!') => Kind::Not,
            Some('-') if !is_double => Kind::Minus,
            Some('+') if !is_double => Kind::Plus,
            _ => return self.members(),
        };
        self.reader.next();
        let operand = self.nested(Self::unary)?;
        self.made(make(Box::new(operand)))
    }

    fn members(&mut self) -> Result<Expression> {
        let mut object = self.primary()?;
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
                self.expect("]")?;
                object = self.made(Kind::Index(Box::new(object), Box::new(name), is_optional))?;
            } else if is_dotted {
                let Some(name) = self.reader.word() else {
                    return self.reader.not_rendered();
                };
                object = self.made(Kind::Member(Box::new(object), name.to_owned(), is_optional))?;
            } else if matches!(self.reader.peek(), Some('(' | '`')) {
                return self.reader.fault("functions are not called");
            } else {
                return Ok(object);
            }
        }
    }

    fn primary(&mut self) -> Result<Expression> {
        if self.reader.take("(") {
            let inside = self.expression()?;
            self.expect(")")?;
            return self.made(Kind::Group(Box::new(inside)));
        }
        if self.reader.take("`") {
            let template = self.nested(Self::template)?;
            self.expect("`")?;
            return self.made(Kind::Template(template));
        }
        if let Some(quote @ ('"' | '\'')) = self.reader.peek() {
            return self.quoted(quote);
        }
        if let Some(number) = self.reader.number()? {
            return self.made(Kind::Number(number));
        }
        let Some(word) = self.reader.word() else {
            return self.reader.not_rendered();
        };
        let kind = match word {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            "undefined" => Kind::Undefined,
            "async" | "await" | "class" | "delete" | "function" | "import" | "in" | "instanceof" | "new"
            | "super" | "this" | "typeof" | "void" | "yield" => {
                return self.reader.fault(format!("'{word}' is not rendered"));
            }
            word => Kind::Variable(word.to_owned()),
        };
        self.made(kind)
    }

    fn quoted(&mut self, quote: char) -> Result<Expression> {
        self.reader.next();
        let mut text = String::new();
        loop {
            match self.reader.next() {
                Some(next) if next == quote => return self.made(Kind::Text(text)),
                Some('\\') => self.reader.escape(&mut text, false)?,
                None | Some('\n' | '\r') => return self.reader.fault("a string has no closing quote"),
                Some(next) => text.push(next),
            }
        }
    }
}
