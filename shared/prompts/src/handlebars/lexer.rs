//! Splits a template into tokens by the rules of the reference's lexer (handlebars.js 4.7,
//! `src/handlebars.l`) in their order: the first matching rule applies, not the longest match. Each rule
//! reads its text once, so the time grows linearly with the content.

use super::token::{Kind, Token};
use super::words::{ends_name, is_space, raw_end, tag_end, word};
use crate::error::{Place, RenderError};

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Text,
    /// Text that begins with escaped braces.
    Escaped,
    Tag,
    Raw,
}

/// Returns the tokens of a template; the last is [`Kind::End`].
pub fn tokens(content: &str) -> Result<Vec<Token>, RenderError> {
    let mut lexer = Lexer {
        content,
        at: 0,
        place: Place::START,
        begin: Place::START,
        modes: vec![Mode::Text],
        tokens: Vec::new(),
    };
    while lexer.next()? {}
    lexer.begin = lexer.place;
    lexer.push(Kind::End, "");
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    content: &'a str,
    at: usize,
    place: Place,
    /// Where the text begins that was taken last.
    begin: Place,
    modes: Vec<Mode>,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.content.get(self.at..).unwrap_or_default()
    }

    /// Advances by this many bytes and returns their text.
    fn take(&mut self, length: usize) -> &'a str {
        let taken = self.rest().get(..length).unwrap_or_default();
        self.begin = self.place;
        self.place.advance(taken);
        self.at += length;
        taken
    }

    /// Adds a token whose text is `taken`, which was just consumed.
    fn push(&mut self, kind: Kind, taken: &str) {
        let bytes = taken.as_bytes();
        let before_end = bytes.len().checked_sub(3).and_then(|at| bytes.get(at));
        self.tokens.push(Token {
            kind,
            open_tilde: bytes.get(2) == Some(&b'~'),
            close_tilde: before_end == Some(&b'~'),
            place: self.begin,
        });
    }

    fn mode(&self) -> Mode {
        self.modes.last().copied().unwrap_or(Mode::Text)
    }

    fn end_mode(&mut self) {
        if self.modes.len() > 1 {
            self.modes.pop();
        }
    }

    fn fault<T>(&self, reason: &str) -> Result<T, RenderError> {
        Err(RenderError::template(self.place, reason))
    }

    fn next(&mut self) -> Result<bool, RenderError> {
        if self.rest().is_empty() {
            return Ok(false);
        }
        match self.mode() {
            Mode::Text => self.text(),
            Mode::Escaped => self.escaped(),
            Mode::Raw => self.raw()?,
            Mode::Tag => self.tag()?,
        }
        Ok(true)
    }

    fn text(&mut self) {
        let Some(length) = self.rest().find("{{") else {
            let taken = self.take(self.rest().len());
            self.push(Kind::Content(taken.to_owned()), taken);
            return;
        };
        let taken = self.take(length);
        let (kept, mode) = match taken.strip_suffix('\\') {
            // The second of two backslashes is dropped, and the tag stays a tag.
            Some(kept) if kept.ends_with('\\') => (kept, Mode::Tag),
            Some(kept) => (kept, Mode::Escaped),
            None => (taken, Mode::Tag),
        };
        self.modes.push(mode);
        if !kept.is_empty() {
            self.push(Kind::Content(kept.to_owned()), taken);
        }
    }

    fn escaped(&mut self) {
        let rest = self.rest();
        let braces = rest.get(2..).and_then(|rest| rest.find("{{"));
        let length = braces.map_or(rest.len(), |length| length + 2);
        // One or two backslashes before the next braces belong to these braces.
        let text = rest.get(..length).unwrap_or_default();
        let slashes = match braces {
            Some(_) => text.len() - text.trim_end_matches('\\').len(),
            None => 0,
        };
        let taken = self.take((length - slashes.min(2)).max(2.min(length)));
        self.end_mode();
        self.push(Kind::Content(taken.to_owned()), taken);
    }

    fn raw(&mut self) -> Result<(), RenderError> {
        let rest = self.rest();
        if let Some(behind) = rest.strip_prefix("{{{{") {
            if !behind.is_empty() && !behind.starts_with('/') {
                let taken = self.take(4);
                self.modes.push(Mode::Raw);
                self.push(Kind::Content(taken.to_owned()), taken);
                return Ok(());
            }
            if let Some(name) = raw_end(behind) {
                let taken = self.take(4 + 1 + name.len() + 4);
                self.end_mode();
                match self.mode() {
                    Mode::Raw => self.push(Kind::Content(taken.to_owned()), taken),
                    _ => self.push(Kind::EndRawBlock(name.to_owned()), taken),
                }
                return Ok(());
            }
        }
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let Some(length) = rest.get(first..).and_then(|rest| rest.find("{{{{")) else {
            return self.fault("a raw block has no end; expected its name, as in {{{{/name}}}}");
        };
        let taken = self.take(first + length);
        self.push(Kind::Content(taken.to_owned()), taken);
        Ok(())
    }

    fn tag(&mut self) -> Result<(), RenderError> {
        let rest = self.rest();
        if rest.starts_with("{{") {
            return self.open(rest);
        }
        let first = rest.chars().next().unwrap_or('\0');
        let (kind, length) =
            match first {
                '(' => (Kind::OpenCall, 1),
                ')' => (Kind::CloseCall, 1),
                '=' => (Kind::Equals, 1),
                '@' => (Kind::Data, 1),
                '|' => (Kind::CloseBlockParams, 1),
                '/' => (Kind::Separator('/'), 1),
                '.' if rest.starts_with("..") => (Kind::Id("..".to_owned()), 2),
                '.' if ends_name(rest.get(1..)) => (Kind::Id(".".to_owned()), 1),
                '.' => (Kind::Separator('.'), 1),
                '}' | '~' => return self.close(rest),
                '"' | '\'' => return self.quoted(rest, first),
                '[' => return self.bracketed(rest),
                _ if is_space(first) => {
                    self.take(first.len_utf8());
                    return Ok(());
                }
                _ => match word(rest) {
                    Some(word) => word,
                    None => return self.fault(&format!(
                        "{first:?} cannot stand here in a tag; expected a name, a value in quotes, or '}}}}'"
                    )),
                },
            };
        let taken = self.take(length);
        self.push(kind, taken);
        Ok(())
    }

    fn open(&mut self, rest: &str) -> Result<(), RenderError> {
        if rest.starts_with("{{{{") {
            let taken = self.take(4);
            self.push(Kind::OpenRawBlock, taken);
            return Ok(());
        }
        let tilde = usize::from(rest.as_bytes().get(2) == Some(&b'~'));
        let head = 2 + tilde;
        let inside = rest.get(head..).unwrap_or_default();
        if inside.starts_with('!') {
            return self.comment(rest, inside);
        }
        let star = usize::from(inside.starts_with('*'));
        let is_decorator = star == 1;
        let spaces = inside.len() - inside.trim_start_matches(is_space).len();
        let behind_else = inside
            .get(spaces..)
            .and_then(|inside| inside.strip_prefix("else"));
        let (kind, length) = if inside.starts_with('>') {
            (Kind::OpenPartial, head + 1)
        } else if inside.starts_with("#>") {
            (Kind::OpenPartialBlock, head + 2)
        } else if let Some(inside) = inside.strip_prefix('#') {
            let is_decorator = inside.starts_with('*');
            (
                Kind::OpenBlock { is_decorator },
                head + 1 + usize::from(is_decorator),
            )
        } else if inside.starts_with('/') {
            (Kind::OpenEndBlock, head + 1)
        } else if let Some(behind) = inside.strip_prefix('^') {
            match tag_end(behind) {
                Some(length) => (Kind::Inverse, head + 1 + length),
                None => (Kind::OpenInverse, head + 1),
            }
        } else if let Some(behind) = behind_else
            && let Some(length) = tag_end(behind)
        {
            (Kind::Inverse, head + spaces + 4 + length)
        } else if let Some(behind) = behind_else
            && !behind.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
        {
            (Kind::OpenInverseChain, head + spaces + 4)
        } else if inside.starts_with('{') {
            (Kind::OpenUnescaped, head + 1)
        } else if inside.starts_with('&') {
            (Kind::Open { is_decorator: false }, head + 1)
        } else {
            (Kind::Open { is_decorator }, head + star)
        };
        let taken = self.take(length);
        if kind == Kind::Inverse {
            self.end_mode();
        }
        self.push(kind, taken);
        Ok(())
    }

    fn comment(&mut self, rest: &str, inside: &str) -> Result<(), RenderError> {
        let length = if inside.starts_with("!--") {
            long_comment(rest)
        } else {
            rest.find("}}").map(|at| at + 2)
        };
        let Some(length) = length else {
            return self.fault("a comment has no end; expected '}}', or '--}}' where it begins with dashes");
        };
        let taken = self.take(length);
        self.end_mode();
        self.push(Kind::Comment, taken);
        Ok(())
    }

    fn close(&mut self, rest: &str) -> Result<(), RenderError> {
        let (kind, length) = if rest.starts_with("}}}}") {
            (Kind::CloseRawBlock, 4)
        } else if rest.starts_with("}}}") {
            (Kind::CloseUnescaped, 3)
        } else if rest.starts_with("}~}}") {
            (Kind::CloseUnescaped, 4)
        } else if rest.starts_with("}}") {
            (Kind::Close, 2)
        } else if rest.starts_with("~}}") {
            (Kind::Close, 3)
        } else {
            return self.fault("a brace stands alone; expected '}}' at the end of the tag");
        };
        let taken = self.take(length);
        self.end_mode();
        if kind == Kind::CloseRawBlock {
            self.modes.push(Mode::Raw);
        }
        self.push(kind, taken);
        Ok(())
    }

    fn quoted(&mut self, rest: &str, quote: char) -> Result<(), RenderError> {
        let escaped = format!("\\{quote}");
        let mut end = 1;
        // Where no other quote follows, an escaped one ends the text.
        while let Some(length) = rest.get(end..).and_then(|rest| rest.find(quote)) {
            end += length + 1;
            if !rest.get(..end).is_some_and(|text| text.ends_with(&escaped)) {
                break;
            }
        }
        if end == 1 {
            return self.fault("a text has no closing quote; expected the quote that it begins with");
        }
        let taken = self.take(end);
        let inside = taken.get(1..end - 1).unwrap_or_default();
        let text = inside.replace(&escaped, &quote.to_string());
        self.push(Kind::Text(text), taken);
        Ok(())
    }

    fn bracketed(&mut self, rest: &str) -> Result<(), RenderError> {
        let mut end = 0;
        // Where no other bracket follows, an escaped one ends the name.
        while let Some(length) = rest.get(end..).and_then(|rest| rest.find(']')) {
            end += length + 1;
            if !rest.get(..end).is_some_and(|name| name.ends_with("\\]")) {
                break;
            }
        }
        if end == 0 {
            return self.fault("a name in brackets has no end; expected ']'");
        }
        let taken = self.take(end);
        let mut name = String::new();
        let mut characters = taken.chars().peekable();
        while let Some(character) = characters.next() {
            let escaped = characters
                .next_if(|next| character == '\\' && matches!(next, '\\' | ']'))
                .unwrap_or(character);
            name.push(escaped);
        }
        self.push(Kind::Id(name), taken);
        Ok(())
    }
}

/// Returns the length of a comment up to its dashes and braces. It reads no further than that, so that many
/// comments take linear time.
fn long_comment(rest: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += rest.get(at..)?.find("--")?;
        let end = rest.get(at + 2..)?;
        let end = end.strip_prefix('~').unwrap_or(end);
        if let Some(behind) = end.strip_prefix("}}") {
            return Some(rest.len() - behind.len());
        }
        at += 1;
    }
}
