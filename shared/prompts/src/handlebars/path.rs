//! Represents paths and literals as written in a tag, before they are resolved.

use platform::javascript::number_text;

use crate::error::Place;

/// First word of a tag, or an argument of a helper.
pub enum Operand {
    Path(PathText),
    Text(String),
    Number(f64),
    Bool(bool),
    Undefined,
    Null,
}

impl Operand {
    /// Returns the text for messages and closing tags.
    pub fn original(&self) -> String {
        match self {
            Self::Path(path) => path.original.clone(),
            Self::Text(text) => text.clone(),
            Self::Number(number) => number_text(*number),
            Self::Bool(value) => value.to_string(),
            Self::Undefined => "undefined".to_owned(),
            Self::Null => "null".to_owned(),
        }
    }

    /// Returns whether a closing tag with the other operand closes this one.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_text = |operand: &Self| matches!(operand, Self::Path(_) | Self::Text(_));
        let is_same_kind = std::mem::discriminant(self) == std::mem::discriminant(other);
        (is_same_kind || (is_text(self) && is_text(other))) && self.original() == other.original()
    }

    /// Converts to a path: a literal at the beginning of a tag is the name of a value.
    pub fn into_path(self, place: Place) -> PathText {
        match self {
            Self::Path(path) => path,
            literal => PathText {
                is_data: false,
                depth: 0,
                parts: vec![literal.original()],
                original: literal.original(),
                place,
            },
        }
    }
}

/// A path as written.
pub struct PathText {
    pub is_data: bool,
    /// Number of `../`.
    pub depth: usize,
    pub parts: Vec<String>,
    pub original: String,
    pub place: Place,
}

impl PathText {
    pub fn new(is_data: bool, place: Place) -> Self {
        Self {
            is_data,
            depth: 0,
            parts: Vec::new(),
            original: if is_data { "@" } else { "" }.to_owned(),
            place,
        }
    }

    /// Returns a name without its brackets.
    pub fn part(name: &str) -> String {
        let inside = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let inside = inside.filter(|inside| !inside.contains(['\n', '\r', '\u{2028}', '\u{2029}']));
        inside.unwrap_or(name).to_owned()
    }

    /// Adds a name. Returns false where it is `..`, `.` or `this` after another name.
    pub fn push(&mut self, separator: Option<char>, name: &str) -> bool {
        let part = Self::part(name);
        let is_literal = part != name;
        self.original.extend(separator);
        self.original.push_str(&part);
        if is_literal || !matches!(part.as_str(), ".." | "." | "this") {
            self.parts.push(part);
            return true;
        }
        if part == ".." {
            self.depth += 1;
        }
        self.parts.is_empty()
    }

    /// Returns whether the path is a single name, which may be the name of a helper.
    pub fn is_simple(&self) -> bool {
        self.parts.len() == 1 && self.depth == 0 && !is_scoped(&self.original)
    }
}

/// Returns whether a path explicitly starts at a context: with a dot, or with the word `this` in it.
pub fn is_scoped(original: &str) -> bool {
    let ends_word =
        |next: Option<char>| !next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '_');
    original.starts_with('.')
        || original.match_indices("this").any(|(at, this)| {
            let behind = original.get(at + this.len()..).unwrap_or_default();
            ends_word(behind.chars().next())
        })
}
