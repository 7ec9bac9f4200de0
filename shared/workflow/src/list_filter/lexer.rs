//! Splits a filter into tokens.

use super::error::FilterError;
use super::expression::Comparison;

#[derive(Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) column: usize,
}

#[derive(Debug)]
pub(super) enum TokenKind<'t> {
    /// A keyword or a field name.
    Word(&'t str),
    /// A name in back-ticks; the value lacks the back-ticks.
    Name(&'t str),
    /// A text in quotes; the value lacks the quotes.
    Text(String),
    /// A token that starts like a number. The parser checks it, because the advice in the error depends on
    /// the field.
    Number(&'t str),
    Compare(Comparison),
    Open,
    Close,
    Comma,
    End,
}

/// Returns one token at a time, so that the first of several errors is reported.
pub(super) struct Lexer<'t> {
    rest: &'t str,
    /// Column of the first character of `rest`, from 1.
    column: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            rest: text,
            column: 1,
        }
    }

    /// Returns the next token; at the end, [`TokenKind::End`] on every call.
    pub(super) fn next(&mut self) -> Result<Token<'t>, FilterError> {
        self.take_while(char::is_whitespace);
        let column = self.column;
        let kind = self.kind(column)?;
        Ok(Token { kind, column })
    }

    fn kind(&mut self, column: usize) -> Result<TokenKind<'t>, FilterError> {
        let mut following = self.rest.chars();
        let Some(first) = following.next() else {
            return Ok(TokenKind::End);
        };
        let second = following.next();
        if is_word_part(first) && !first.is_ascii_digit() {
            return Ok(TokenKind::Word(self.take_while(is_word_part)));
        }
        let is_negative = first == '-' && second.is_some_and(|digit| digit.is_ascii_digit());
        if first.is_ascii_digit() || is_negative {
            let mut is_first = true;
            let number =
                self.take_while(|char| std::mem::take(&mut is_first) || is_word_part(char) || char == '.');
            return Ok(TokenKind::Number(number));
        }
        self.skip();
        match (first, second) {
            ('\'' | '"', _) => self.text(first, column),
            ('`', _) => self.name(column),
            ('(', _) => Ok(TokenKind::Open),
            (')', _) => Ok(TokenKind::Close),
            (',', _) => Ok(TokenKind::Comma),
            ('=', Some('=')) => Err(FilterError::new(column, "'==' is not an operator: use '='")),
            ('<', Some('>')) => Err(FilterError::new(column, "'<>' is not an operator: use '!='")),
            ('!', Some('=')) => Ok(self.two_characters(Comparison::NotEqual)),
            ('<', Some('=')) => Ok(self.two_characters(Comparison::LessOrEqual)),
            ('>', Some('=')) => Ok(self.two_characters(Comparison::GreaterOrEqual)),
            ('=', _) => Ok(TokenKind::Compare(Comparison::Equal)),
            ('<', _) => Ok(TokenKind::Compare(Comparison::Less)),
            ('>', _) => Ok(TokenKind::Compare(Comparison::Greater)),
            ('!', _) => Err(FilterError::new(
                column,
                "'!' is not an operator: use '!=' or NOT",
            )),
            _ => Err(FilterError::new(
                column,
                format!(
                    "'{first}' has no meaning here: remove it, or put the text in quotes, like 'order-1'"
                ),
            )),
        }
    }

    fn two_characters(&mut self, comparison: Comparison) -> TokenKind<'t> {
        self.skip();
        TokenKind::Compare(comparison)
    }

    /// Reads the rest of a text, after its opening quote.
    fn text(&mut self, quote: char, column: usize) -> Result<TokenKind<'t>, FilterError> {
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|char| char != quote));
            if !self.skip() {
                let message = format!("the text that begins here has no end: close it with {quote}");
                return Err(FilterError::new(column, message));
            }
            if !self.rest.starts_with(quote) {
                return Ok(TokenKind::Text(text));
            }
            text.push(quote);
            self.skip();
        }
    }

    /// Reads the rest of a name, after its opening back-tick.
    fn name(&mut self, column: usize) -> Result<TokenKind<'t>, FilterError> {
        let name = self.take_while(|char| char != '`');
        if self.skip() {
            Ok(TokenKind::Name(name))
        } else {
            let message = "the name that begins here has no end: close it with `";
            Err(FilterError::new(column, message))
        }
    }

    fn take_while(&mut self, mut wanted: impl FnMut(char) -> bool) -> &'t str {
        let end = self.rest.find(|char| !wanted(char)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.column += taken.chars().count();
        self.rest = rest;
        taken
    }

    /// Skips one character; returns false at the end.
    fn skip(&mut self) -> bool {
        let mut chars = self.rest.chars();
        let is_inside = chars.next().is_some();
        self.rest = chars.as_str();
        self.column += usize::from(is_inside);
        is_inside
    }
}

fn is_word_part(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
