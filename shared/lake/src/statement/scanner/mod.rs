//! Finds the parameters of a statement, with the part of DuckDB's lexer that recognizes literals, quoted
//! identifiers and comments.
//!
//! A property test compares it with DuckDB's own lexer.

/// Most blanks on each side of a parameter's name.
const MAX_BLANKS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Anywhere,
    /// Alone between the parentheses of an `IN`.
    AloneAfterIn,
    /// It begins what follows LIMIT or OFFSET.
    AfterLimit,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    /// Copied unchanged.
    Text(&'a str),
    /// A Unicode space. DuckDB also reads it as a space, but not everywhere: after `$$$$` it is part of a
    /// name.
    Space(&'a str),
    /// A `{{name}}` at byte `offset`, also with blanks within the braces.
    Parameter {
        name: &'a str,
        offset: usize,
        place: Place,
    },
    /// A placeholder in the caller's text: `$name`, `$1`, `$"name"` or `?`.
    Placeholder { offset: usize },
}

/// Splits `sql` at its parameters. Follows DuckDB's lexer in its rules for literals, quoted identifiers and
/// comments.
pub(crate) fn scan(sql: &str) -> Vec<Piece<'_>> {
    let bytes = sql.as_bytes();
    let mut pieces = Vec::new();
    let (mut copied, mut at) = (0, 0);
    // The last tokens, without comments and white space: enough to recognize `IN (`.
    let mut last_tokens = String::new();
    while let Some(&byte) = bytes.get(at) {
        let rest = sql.get(at..).unwrap_or("");
        if let Some(end) = quoted_end(sql, at) {
            last_tokens.push('\'');
            at = end;
        } else if let Some(end) = comment_end(sql, at) {
            last_tokens.push(' ');
            at = end;
        } else if let Some(name) = placeholder_name(rest) {
            let end = parameter_end(sql, at);
            let place = match () {
                () if ends_with_limit(&last_tokens) => Place::AfterLimit,
                () if ends_with_in_parenthesis(&last_tokens) && next_token_closes(sql, end) => {
                    Place::AloneAfterIn
                }
                () => Place::Anywhere,
            };
            push_text(&mut pieces, sql, copied, at);
            pieces.push(Piece::Parameter {
                name,
                offset: at,
                place,
            });
            last_tokens.push('$');
            at = end;
            copied = end;
        } else if let Some(end) = word_end(sql, at) {
            last_tokens.push_str(sql.get(at..end).unwrap_or(" "));
            at = end;
        } else if matches!(byte, b'?' | b'$') {
            push_text(&mut pieces, sql, copied, at);
            pieces.push(Piece::Placeholder { offset: at });
            copied = at;
            at += 1;
        } else {
            let letter = rest.chars().next().unwrap_or(' ');
            let end = at + letter.len_utf8();
            if is_unicode_space(letter) {
                push_text(&mut pieces, sql, copied, at);
                pieces.push(Piece::Space(sql.get(at..end).unwrap_or(" ")));
                copied = end;
            }
            last_tokens.push(letter);
            at = end;
        }
    }
    push_text(&mut pieces, sql, copied, at);
    pieces
}

/// A token of a statement: a word, a literal, a quoted name, or one other character.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// Byte offset of its start.
    pub(crate) at: usize,
}

impl Token<'_> {
    pub(crate) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    pub(crate) fn is_symbol(&self, symbol: char) -> bool {
        self.text.chars().eq([symbol])
    }
}

/// Splits a statement into tokens, without comments and white space.
pub(crate) fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(letter) = sql.get(at..).and_then(|rest| rest.chars().next()) {
        let is_space = letter.is_whitespace() || is_unicode_space(letter);
        let comment = comment_end(sql, at);
        let end = comment
            .or_else(|| quoted_end(sql, at))
            .or_else(|| word_end(sql, at))
            .unwrap_or(at + letter.len_utf8());
        if !is_space && comment.is_none() {
            let text = sql.get(at..end).unwrap_or_default();
            tokens.push(Token { text, at });
        }
        at = end;
    }
    tokens
}

fn push_text<'a>(pieces: &mut Vec<Piece<'a>>, sql: &'a str, from: usize, to: usize) {
    if let Some(text) = sql.get(from..to)
        && !text.is_empty()
    {
        pieces.push(Piece::Text(text));
    }
}

/// Returns the name in the `{{name}}` at the start of `rest`.
fn placeholder_name(rest: &str) -> Option<&str> {
    let inner = without_blanks(rest.strip_prefix("{{")?);
    // Reads only the name and no further, because a statement may contain very many `{{`.
    let length = inner.bytes().take_while(|byte| is_word(*byte)).count();
    let (name, after) = inner.split_at_checked(length)?;
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    (starts_well && without_blanks(after).starts_with("}}")).then_some(name)
}

/// Removes a few blanks: no more, because a statement may contain very many `{{`.
fn without_blanks(text: &str) -> &str {
    let blanks = text
        .bytes()
        .take(MAX_BLANKS)
        .take_while(|byte| *byte == b' ')
        .count();
    text.get(blanks..).unwrap_or_default()
}

/// Returns the end of the parameter at byte `at`.
pub(crate) fn parameter_end(sql: &str, at: usize) -> usize {
    let length = sql.get(at..).and_then(|rest| rest.find("}}"));
    length.map_or(sql.len(), |length| at + length + "}}".len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the end of the word that starts at byte `at`. A `$` or an `e` inside a word starts no literal.
fn word_end(sql: &str, at: usize) -> Option<usize> {
    let rest = sql.get(at..)?;
    let first = rest.chars().next()?;
    if !is_word_part(first) || first.is_ascii_digit() || first == '$' {
        return None;
    }
    Some(at + rest.find(|letter| !is_word_part(letter)).unwrap_or(rest.len()))
}

/// Returns whether a letter continues the word before it.
pub(crate) fn is_word_part(letter: char) -> bool {
    match letter.is_ascii() {
        true => letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$'),
        false => !is_unicode_space(letter),
    }
}

/// Returns whether DuckDB reads a letter outside of ASCII as a space.
fn is_unicode_space(letter: char) -> bool {
    matches!(
        letter,
        '\u{a0}' | '\u{2000}'..='\u{200b}' | '\u{202f}' | '\u{205f}' | '\u{2060}' | '\u{3000}' | '\u{feff}'
    )
}

fn ends_with_limit(tokens: &str) -> bool {
    let before = tokens.trim_end_matches(|letter: char| letter == '(' || letter.is_whitespace());
    ends_with_word(before, "limit") || ends_with_word(before, "offset")
}

fn ends_with_in_parenthesis(tokens: &str) -> bool {
    let before = tokens.trim_end().strip_suffix('(');
    before.is_some_and(|before| ends_with_word(before.trim_end(), "in"))
}

/// Returns whether a text ends with a word, in any case.
fn ends_with_word(text: &str, word: &str) -> bool {
    let Some((before, end)) = text
        .len()
        .checked_sub(word.len())
        .and_then(|at| text.split_at_checked(at))
    else {
        return false;
    };
    end.eq_ignore_ascii_case(word) && !before.chars().last().is_some_and(is_word_part)
}

/// Returns whether the next token from byte `at` is a closing parenthesis.
fn next_token_closes(sql: &str, mut at: usize) -> bool {
    loop {
        let rest = sql.get(at..).unwrap_or("");
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        match comment_end(sql, at) {
            Some(end) => at = end,
            None => return trimmed.starts_with(')'),
        }
    }
}

/// Returns the end of the comment that starts at byte `at`.
fn comment_end(sql: &str, at: usize) -> Option<usize> {
    let rest = sql.get(at..)?;
    if rest.starts_with("--") {
        return Some(rest.find(['\n', '\r']).map_or(sql.len(), |newline| at + newline));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let (mut depth, mut end) = (0_usize, 0);
    while let Some(inner) = rest.get(end..) {
        if inner.starts_with("/*") {
            depth += 1;
            end += 2;
        } else if inner.starts_with("*/") {
            depth -= 1;
            end += 2;
            if depth == 0 {
                return Some(at + end);
            }
        } else {
            let Some(next) = inner.chars().next() else { break };
            end += next.len_utf8();
        }
    }
    Some(sql.len())
}

/// Returns the end of the string literal or quoted identifier that starts at byte `at`.
fn quoted_end(sql: &str, at: usize) -> Option<usize> {
    let bytes = sql.as_bytes();
    match bytes.get(at)? {
        quote @ (b'\'' | b'"') => Some(doubled_end(bytes, at + 1, *quote, false)),
        b'e' | b'E' if bytes.get(at + 1) == Some(&b'\'') => {
            let mut end = doubled_end(bytes, at + 2, b'\'', true);
            while let Some(quote) = continuation(sql, end) {
                end = doubled_end(bytes, quote + 1, b'\'', true);
            }
            Some(end)
        }
        b'$' => {
            let rest = sql.get(at..)?;
            let tag_end = rest
                .get(1..)?
                .find(|letter| letter == '$' || !is_word_part(letter))?
                + 1;
            let starts_with_digit = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
            if rest.as_bytes().get(tag_end) != Some(&b'$') || starts_with_digit {
                return None;
            }
            let (tag, body) = rest.split_at(tag_end + 1);
            Some(
                body.find(tag)
                    .map_or(sql.len(), |end| at + tag.len() + end + tag.len()),
            )
        }
        _ => None,
    }
}

/// Returns the quote that continues the literal that ends at byte `at`: on a later line, with only white
/// space and line comments between.
fn continuation(sql: &str, mut at: usize) -> Option<usize> {
    let mut is_later_line = false;
    loop {
        let rest = sql.get(at..)?;
        match rest.chars().next()? {
            '\'' => return is_later_line.then_some(at),
            '-' if rest.starts_with("--") => at = comment_end(sql, at)?,
            space
                if matches!(space, ' ' | '\t' | '\u{b}' | '\u{c}' | '\n' | '\r')
                    || is_unicode_space(space) =>
            {
                is_later_line |= matches!(space, '\n' | '\r');
                at += space.len_utf8();
            }
            _ => return None,
        }
    }
}

/// Returns the end of a text that `quote` closes. Inside, `quote` is written twice, or after `\` if
/// `escapes`.
fn doubled_end(bytes: &[u8], mut at: usize, quote: u8, escapes: bool) -> usize {
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if escapes && byte == b'\\' {
            at += 1;
        } else if byte == quote {
            if bytes.get(at) != Some(&quote) {
                return at;
            }
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests;
