//! Parses what expressions are made of: literals, names, calls and functions.

use std::collections::HashMap;

use platform::javascript::number_text;

use super::functions::{Arity, Global, global, is_global_object, listed, method};
use super::parser::{Parser, Result};
use super::tree::{Arguments, Element, Expression, Function, IsOptional, Kind, Pattern};
use crate::error::{Place, RenderError};

impl<'a> Parser<'a> {
    /// Each kind has a function of its own, so that one within another takes little stack.
    pub fn primary(&mut self) -> Result<Expression> {
        let place = self.reader.place;
        let kind = match self.reader.peek() {
            Some('(') => self.group()?,
            Some('`') => self.inner_template()?,
            Some('[') => self.array()?,
            Some('{') => self.object()?,
            Some(quote @ ('"' | '\'')) => Kind::Text(self.quoted(quote)?),
            _ => self.number_or_name()?,
        };
        self.made(place, kind)
    }

    fn group(&mut self) -> Result<Kind> {
        self.reader.take("(");
        let inside = Box::new(self.expression()?);
        self.expect(")", "an operator, or ')'")?;
        Ok(Kind::Group(inside))
    }

    fn inner_template(&mut self) -> Result<Kind> {
        self.reader.take("`");
        let template = self.nested(Self::template)?;
        self.expect("`", "'`' at the end of the text")?;
        Ok(Kind::Template(template))
    }

    fn array(&mut self) -> Result<Kind> {
        self.reader.take("[");
        self.nested(|parser| parser.elements("]")).map(Kind::Array)
    }

    fn object(&mut self) -> Result<Kind> {
        self.reader.take("{");
        self.nested(Self::fields).map(Kind::Object)
    }

    fn number_or_name(&mut self) -> Result<Kind> {
        if let Some(number) = self.reader.number()? {
            return Ok(Kind::Number(number));
        }
        let place = self.reader.place;
        let Some(word) = self.reader.word() else {
            return self.reader.unexpected("a value");
        };
        match word {
            "true" => Ok(Kind::Bool(true)),
            "false" => Ok(Kind::Bool(false)),
            "null" => Ok(Kind::Null),
            "undefined" => Ok(Kind::Undefined),
            word if is_reserved(word) => {
                let reason = format!("expected a value; '{word}' is not rendered");
                Err(RenderError::template(place, reason))
            }
            word => self.name(place, word),
        }
    }

    /// Parses what a name stands for: a parameter, a call, or a field of the data.
    fn name(&mut self, place: Place, word: &'a str) -> Result<Kind> {
        if let Some(slot) = self.locals.iter().rposition(|local| *local == word) {
            return Ok(Kind::Local(slot, word.to_owned()));
        }
        let behind = self.reader;
        self.reader.skip_space()?;
        if self.reader.peek() == Some('(') {
            let Some((function, arity)) = global("", word) else {
                return self.unknown(place, word);
            };
            return Ok(Kind::Global(function, self.arguments(place, word, arity)?));
        }
        if is_global_object(word) && self.reader.take(".") {
            self.reader.skip_space()?;
            let at = self.reader.place;
            if let Some(name) = self.reader.word() {
                self.reader.skip_space()?;
                if self.reader.peek() == Some('(') {
                    let name_of_both = format!("{word}.{name}");
                    let Some((function, arity)) = global(word, name) else {
                        return self.unknown(at, &name_of_both);
                    };
                    let arguments = self.arguments(at, &name_of_both, arity)?;
                    return Ok(Kind::Global(function, arguments));
                }
            }
        }
        self.reader = behind;
        Ok(Kind::Variable(word.to_owned()))
    }

    fn unknown<T>(&self, place: Place, name: &str) -> Result<T> {
        let reason = format!(
            "there is no function '{name}'; expected a property, or one of the functions {}",
            listed()
        );
        Err(RenderError::template(place, reason))
    }

    /// Parses a call behind the name of the function.
    pub fn method(
        &mut self,
        place: Place,
        object: Expression,
        name: &str,
        is_optional: IsOptional,
    ) -> Result<Kind> {
        let Some((method, arity)) = method(name) else {
            return self.unknown(place, name);
        };
        let arguments = self.arguments(place, name, arity)?;
        Ok(Kind::Method(Box::new(object), method, arguments, is_optional))
    }

    fn arguments(&mut self, place: Place, name: &str, arity: Arity) -> Result<Arguments> {
        self.reader.take("(");
        // A call takes more stack than a parenthesis, so it counts twice.
        let arguments = self.nested(|parser| {
            let function = match arity.takes_function {
                true => Some(Box::new(parser.nested(Self::function)?)),
                false => None,
            };
            if function.is_some() {
                parser.reader.skip_space()?;
                if !parser.reader.take(",") {
                    parser.expect(")", "an operator, ',' or ')'")?;
                    let values = Vec::new();
                    return Ok(Arguments { function, values });
                }
            }
            let values = parser.elements(")")?;
            Ok(Arguments { function, values })
        })?;
        let count = arguments.values.len() + usize::from(arguments.function.is_some());
        let has_spread = arguments.values.iter().any(|value| value.is_spread);
        if has_spread && arity.most < MANY {
            let reason = format!("'{name}' takes no '...'; expected its arguments one by one");
            return Err(RenderError::template(place, reason));
        }
        if count < arity.least || count > arity.most {
            let reason = match arity.least == arity.most {
                true => format!("expected {} arguments of '{name}', found {count}", arity.least),
                false => format!(
                    "expected {} to {} arguments of '{name}', found {count}",
                    arity.least, arity.most
                ),
            };
            return Err(RenderError::template(place, reason));
        }
        Ok(arguments)
    }

    fn function(&mut self) -> Result<Function> {
        self.reader.skip_space()?;
        let begin = self.reader;
        let outer = self.locals.len();
        if let Some(patterns) = self.params()? {
            self.reader.skip_space()?;
            if self.reader.peek() == Some('{') {
                return self
                    .reader
                    .unexpected("an expression behind '=>', as in x => x.name, without braces");
            }
            let body = self.expression()?;
            self.locals.truncate(outer);
            return Ok(Function::Arrow(patterns, body));
        }
        self.locals.truncate(outer);
        self.reader = begin;
        let conversion = match self.reader.word() {
            Some("Boolean") => Some(Global::Boolean),
            Some("Number") => Some(Global::Number),
            Some("String") => Some(Global::String),
            _ => None,
        };
        self.reader.skip_space()?;
        match conversion {
            Some(global) if matches!(self.reader.peek(), Some(',' | ')')) => Ok(Function::Global(global)),
            _ => {
                self.reader = begin;
                self.reader.unexpected("a function, as in x => x.name")
            }
        }
    }

    /// Parses parameters and the arrow; None where no function begins here.
    fn params(&mut self) -> Result<Option<Vec<Pattern>>> {
        let mut patterns = Vec::new();
        if self.reader.take("(") {
            loop {
                self.reader.skip_space()?;
                if self.reader.take(")") {
                    break;
                }
                let Some(pattern) = self.pattern()? else {
                    return Ok(None);
                };
                patterns.push(pattern);
                self.reader.skip_space()?;
                if !self.reader.take(",") {
                    if !self.reader.take(")") {
                        return Ok(None);
                    }
                    break;
                }
            }
        } else if let Some(name) = self.reader.word() {
            self.declare(name)?;
            patterns.push(Pattern::Name);
        }
        self.reader.skip_space()?;
        Ok(self.reader.take("=>").then_some(patterns))
    }

    fn declare(&mut self, name: &'a str) -> Result<()> {
        if self.locals.len() == MAX_PARAMETERS {
            let reason = format!("functions within one another have more than {MAX_PARAMETERS} parameters");
            return self.reader.fault(reason);
        }
        self.locals.push(name);
        Ok(())
    }

    fn pattern(&mut self) -> Result<Option<Pattern>> {
        if let Some(name) = self.reader.word() {
            self.declare(name)?;
            return Ok(Some(Pattern::Name));
        }
        let is_object = self.reader.take("{");
        if !is_object && !self.reader.take("[") {
            return Ok(None);
        }
        let end = if is_object { "}" } else { "]" };
        let mut names = Vec::new();
        loop {
            self.reader.skip_space()?;
            if self.reader.take(end) {
                break;
            }
            // An element that has no name.
            if !is_object && self.reader.take(",") {
                self.declare("")?;
                names.push(String::new());
                continue;
            }
            let Some(name) = self.reader.word() else {
                return Ok(None);
            };
            let mut local = name;
            self.reader.skip_space()?;
            if is_object && self.reader.take(":") {
                self.reader.skip_space()?;
                let Some(other) = self.reader.word() else {
                    return Ok(None);
                };
                local = other;
                self.reader.skip_space()?;
            }
            self.declare(local)?;
            names.push(name.to_owned());
            if !self.reader.take(",") {
                if !self.reader.take(end) {
                    return Ok(None);
                }
                break;
            }
        }
        Ok(Some(match is_object {
            true => Pattern::Properties(names),
            false => Pattern::Elements(names.len()),
        }))
    }

    /// Parses values up to the end of an array or a call.
    fn elements(&mut self, end: &str) -> Result<Vec<Element>> {
        let mut elements = Vec::new();
        loop {
            self.reader.skip_space()?;
            if self.reader.take(end) {
                return Ok(elements);
            }
            let is_spread = self.reader.take("...");
            let value = self.expression()?;
            elements.push(Element { value, is_spread });
            self.reader.skip_space()?;
            if !self.reader.take(",") {
                self.expect(end, &format!("an operator, ',' or '{end}'"))?;
                return Ok(elements);
            }
        }
    }

    fn fields(&mut self) -> Result<Vec<(String, Expression)>> {
        let mut fields: Vec<(String, Expression)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        loop {
            self.reader.skip_space()?;
            if self.reader.take("}") {
                return Ok(fields);
            }
            let place = self.reader.place;
            let mut shorthand = None;
            let name = if let Some(quote @ ('"' | '\'')) = self.reader.peek() {
                self.quoted(quote)?
            } else if let Some(number) = self.reader.number()? {
                number_text(number)
            } else if let Some(word) = self.reader.word() {
                shorthand = Some(word);
                word.to_owned()
            } else {
                return self.reader.unexpected("the name of a field, or '}'");
            };
            self.reader.skip_space()?;
            let value = if self.reader.take(":") {
                self.expression()?
            } else if let Some(word) = shorthand.filter(|word| !is_reserved(word)) {
                let kind = self.name(place, word)?;
                self.made(place, kind)?
            } else {
                return self.reader.unexpected("':' behind the name of a field");
            };
            if name == "__proto__" {
                let reason = "expected another name of a field than '__proto__'";
                return Err(RenderError::template(place, reason));
            }
            // The last value of a name counts, at the place of the first.
            match places.get(&name).and_then(|place| fields.get_mut(*place)) {
                Some((_, known)) => *known = value,
                None => {
                    places.insert(name.clone(), fields.len());
                    fields.push((name, value));
                }
            }
            self.reader.skip_space()?;
            if !self.reader.take(",") {
                self.expect("}", "an operator, ',' or '}'")?;
                return Ok(fields);
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String> {
        self.reader.next();
        let mut text = String::new();
        loop {
            if matches!(self.reader.peek(), None | Some('\n' | '\r')) {
                let reason = format!("a text has no closing quote; expected {quote} in its line");
                return self.reader.fault(reason);
            }
            match self.reader.next() {
                Some(next) if next == quote => return Ok(text),
                Some('\\') => self.reader.escape(&mut text, false)?,
                next => text.extend(next),
            }
        }
    }
}

fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word) || matches!(word, "true" | "false" | "null")
}

/// Words of the language that are no names, and those of expressions that are not rendered.
const RESERVED: [&str; 36] = [
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "finally",
    "for",
    "function",
    "if",
    "import",
    "in",
    "instanceof",
    "new",
    "return",
    "super",
    "switch",
    "this",
    "throw",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Maximum number of parameters of functions within one another: each name is looked for among them.
const MAX_PARAMETERS: usize = 100;
/// Number of arguments from which on a function takes any number.
const MANY: usize = 8;
