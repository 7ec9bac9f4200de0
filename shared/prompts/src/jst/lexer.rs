//! Reads the characters and words of a template literal and its expressions.

use super::tree::Operator;
use crate::error::{Place, RenderError};

type Result<T> = std::result::Result<T, RenderError>;

/// Reads a content from beginning to end. A copy of it remembers a place.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    content: &'a str,
    at: usize,
    pub place: Place,
}

impl<'a> Reader<'a> {
    pub fn new(content: &'a str) -> Self {
        Self {
            content,
            at: 0,
            place: Place::START,
        }
    }

    pub fn rest(&self) -> &'a str {
        self.content.get(self.at..).unwrap_or_default()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.advance(character.len_utf8());
        Some(character)
    }

    fn advance(&mut self, length: usize) {
        let text = self.rest().get(..length).unwrap_or_default();
        self.place.advance(text);
        self.at += length;
    }

    /// Consumes a text, if it is next.
    pub fn take(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.advance(text.len());
        }
        is_next
    }

    pub fn fault<T>(&self, reason: impl Into<String>) -> Result<T> {
        Err(RenderError::template(self.place, reason))
    }

    /// Fails at something else than what is expected, even if it is valid JavaScript.
    pub fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let next = match self.peek() {
            Some(next) => format!("{next:?}"),
            None => "the end".to_owned(),
        };
        self.fault(format!("expected {expected}, found {next}"))
    }

    /// Skips white space and comments within an expression.
    pub fn skip_space(&mut self) -> Result<()> {
        loop {
            if self
                .peek()
                .is_some_and(|next| next.is_whitespace() || next == '\u{feff}')
            {
                self.next();
            } else if self.take("//") {
                while self.peek().is_some_and(|next| next != '\n') {
                    self.next();
                }
            } else if self.take("/*") {
                while !self.take("*/") {
                    if self.next().is_none() {
                        return self.fault("a comment has no end; expected */");
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Reads a name, if one is next.
    pub fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let is_part = |next: char| next.is_alphanumeric() || matches!(next, '_' | '$');
        let length = rest.find(|next| !is_part(next)).unwrap_or(rest.len());
        let word = rest
            .get(..length)
            .filter(|word| word.starts_with(|first: char| is_part(first) && !first.is_ascii_digit()))?;
        self.advance(length);
        Some(word)
    }

    /// Reads a number, if one is next.
    pub fn number(&mut self) -> Result<Option<f64>> {
        let rest = self.rest();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(rest);
        if length == 0 {
            return Ok(None);
        }
        let behind = |length: usize| rest.get(length..).unwrap_or_default();
        if let Some(part) = behind(length).strip_prefix('.') {
            length += 1 + digits(part);
        }
        if let Some(exponent) = behind(length).strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let count = digits(exponent.get(sign..).unwrap_or_default());
            length += if count > 0 { 1 + sign + count } else { 0 };
        }
        let text = rest.get(..length).unwrap_or_default();
        let is_octal =
            text.len() > 1 && text.starts_with('0') && !text.starts_with("0.") && !text.contains(['e', 'E']);
        let is_word =
            behind(length).starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '$'));
        match text.parse() {
            Ok(number) if !is_octal && !is_word => {
                self.advance(length);
                Ok(Some(number))
            }
            _ => self
                .fault("a number is not written in decimal digits alone; expected one such as 12 or 1.5e3"),
        }
    }

    /// Reads a binary operator, if one is next whose precedence is at least `least`.
    pub fn operator(&mut self, least: u8) -> Option<Operator> {
        use Operator::{
            Add, And, Coalesce, Divide, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Multiply,
            NotEqual, Or, Remainder, StrictlyEqual, StrictlyNotEqual, Subtract,
        };
        // Operators that begin with these are not supported: shifts, powers, increments and assignments.
        if [
            "<<", ">>", "**", "++", "--", "+=", "-=", "*=", "/=", "%=", "&&=", "||=", "??=", "=>",
        ]
        .iter()
        .any(|text| self.rest().starts_with(text))
        {
            return None;
        }
        let all = [
            ("===", StrictlyEqual),
            ("!==", StrictlyNotEqual),
            ("==", Equal),
            ("!=", NotEqual),
            ("<=", LessOrEqual),
            (">=", GreaterOrEqual),
            ("<", Less),
            (">", Greater),
            ("&&", And),
            ("||", Or),
            ("??", Coalesce),
            ("+", Add),
            ("-", Subtract),
            ("*", Multiply),
            ("/", Divide),
            ("%", Remainder),
        ];
        let (text, operator) = all.into_iter().find(|(text, _)| self.rest().starts_with(text))?;
        if operator.precedence() < least {
            return None;
        }
        self.take(text);
        Some(operator)
    }

    /// Reads an escape sequence after its backslash, in a template (`is_template`) or a string.
    pub fn escape(&mut self, text: &mut String, is_template: bool) -> Result<()> {
        let Some(escaped) = self.next() else {
            return self.fault("a backslash stands at the end; expected a character behind it");
        };
        let made = match escaped {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '0' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => '\0',
            '\r' => {
                self.take("\n");
                return Ok(());
            }
            '\n' | '\u{2028}' | '\u{2029}' => return Ok(()),
            'x' => {
                let unit = self.hexadecimal(2)?;
                char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            'u' => self.unicode()?,
            '0'..='9' if is_template || escaped != '0' => {
                return self.fault("a backslash stands before a digit; expected \\\\ for a backslash");
            }
            other => other,
        };
        text.push(made);
        Ok(())
    }

    fn unicode(&mut self) -> Result<char> {
        if self.take("{") {
            let rest = self.rest();
            let end = rest.find('}').unwrap_or_default();
            let code = rest
                .get(..end)
                .and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let Some(code) = code.filter(|code| *code <= 0x10_ffff) else {
                return self.fault("\\u{ } holds no character; expected hexadecimal digits up to 10ffff");
            };
            self.advance(end + 1);
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let unit = self.hexadecimal(4)?;
        // Two surrogates make one character.
        if (0xd800..0xdc00).contains(&unit) {
            let before = *self;
            if self.take("\\u")
                && let Ok(low) = self.hexadecimal(4)
                && (0xdc00..0xe000).contains(&low)
            {
                let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            *self = before;
        }
        Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hexadecimal(&mut self, count: usize) -> Result<u32> {
        let digits = self.rest().get(..count);
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let Some(value) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return self.fault("an escape has too few hexadecimal digits");
        };
        self.advance(count);
        Ok(value)
    }
}
