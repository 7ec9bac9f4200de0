//! Parses the rows of the tables: `operation | callers | request | body | expected | header`.
//!
//! Callers are letters, see [`super::callers`]. In a request, a body and a header, a name is replaced:
//!
//! | written | value | in the second request |
//! |---|---|---|
//! | `$name` | the victim's | one that never existed |
//! | `^name` | the caller's own, in a place where it does not belong | one that never existed |
//! | `@name` | the caller's own | the same |
//!
//! `.upper`, `.bare` (no hyphens) and `.head` (the first eight characters) after a name change its spelling.
//! `%scope%` is every field with which a body could claim another tenant, `%scope_query%` the same as a
//! query. `INGEST/` starts the path of the public endpoint.
//!
//! Expected is a status, or `own <status>` where the caller changes something that must stay its own; then
//! optionally `owner <status>`, which the victim gets for the same request.

use std::fmt;

use tests::Method;

/// Tables in the order in which they run. The audit trail comes first, because later rows add to it.
pub const FILES: [(&str, &str); 7] = [
    ("audit", include_str!("../data/isolation-audit.txt")),
    ("access", include_str!("../data/isolation-access.txt")),
    ("prompts", include_str!("../data/isolation-prompts.txt")),
    ("stores", include_str!("../data/isolation-stores.txt")),
    ("runs", include_str!("../data/isolation-runs.txt")),
    ("events", include_str!("../data/isolation-events.txt")),
    ("spellings", ""),
];

const SCOPE: [(&str, &str); 8] = [
    ("account_id", "$account"),
    ("accountId", "$account"),
    ("project_id", "$project"),
    ("projectId", "$project"),
    ("project", "$project"),
    ("tenant_id", "$account"),
    ("created_by", "user:$user"),
    ("updated_by", "user:$user"),
];

/// Expected answer to the callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The same answer as for an id that never existed.
    Same,
    /// The caller's own data.
    Own,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub file: &'static str,
    pub line: usize,
    pub operation: String,
    pub callers: String,
    pub method: Method,
    pub target: String,
    pub body: String,
    pub header: Option<(String, String)>,
    pub expected: Expected,
    pub status: u16,
    pub owner_status: Option<u16>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            method,
            target,
            body,
            ..
        } = self;
        write!(f, "{file}:{line} {method} {target} {body}")
    }
}

pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    for (file, text) in FILES {
        for (index, line) in text.lines().enumerate() {
            if !line.trim().is_empty() && !line.starts_with('#') {
                rows.push(read(file, index + 1, line));
            }
        }
    }
    rows.extend(super::spellings::rows());
    rows
}

#[track_caller]
pub fn read(file: &'static str, line: usize, text: &str) -> Row {
    let fields: Vec<_> = text.split('|').map(str::trim).collect();
    let [operation, callers, request, body, expected, header @ ..] = fields.as_slice() else {
        panic!("{file}:{line} has too few columns: {text}");
    };
    let (method, target) = request.split_once(' ').expect("a method and a path");
    let words: Vec<_> = expected.split(' ').collect();
    let (kind, status, owner) = match words.as_slice() {
        ["own", status] => (Expected::Own, status, None),
        [status] => (Expected::Same, status, None),
        [status, "owner", owner] => (Expected::Same, status, Some(owner.parse().expect("a status"))),
        _ => panic!("{file}:{line} expects '{expected}'"),
    };
    let pairs = |join: &str, pair: fn(&str, &str) -> String| {
        let pairs: Vec<_> = SCOPE.iter().map(|(name, value)| pair(name, value)).collect();
        pairs.join(join)
    };
    let fields = pairs(",", |name, value| format!("\"{name}\":\"{value}\""));
    let query = pairs("&", |name, value| format!("{name}={value}"));
    Row {
        file,
        line,
        operation: (*operation).to_owned(),
        callers: (*callers).to_owned(),
        method: method.parse().expect("a method"),
        target: target.replace("%scope_query%", &query),
        body: body.replace("%scope%", &fields),
        header: header.first().and_then(|header| {
            let (name, value) = header.split_once(": ")?;
            Some((name.to_owned(), value.to_owned()))
        }),
        expected: kind,
        status: status.parse().expect("a status"),
        owner_status: owner,
    }
}

/// True if a path matches a template.
pub fn matches(template: &str, target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default().trim_end_matches('/');
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template
            .iter()
            .zip(path)
            .all(|(part, value)| part.starts_with('{') || *part == value)
}

/// Returns the parameters of a template that are foreign in a path.
pub fn foreign_parameters(template: &str, target: &str) -> Vec<String> {
    let path = target.split('?').next().unwrap_or_default();
    let parts = template.split('/').zip(path.split('/'));
    let foreign = parts.filter(|(part, value)| part.starts_with('{') && value.contains(['$', '^']));
    foreign
        .map(|(part, _)| part.trim_matches(['{', '}']).to_owned())
        .collect()
}

/// Text with its names replaced.
#[derive(Clone, Debug, Default)]
pub struct Filled {
    pub text: String,
    /// Values of `$name` and `^name` as they appear in the text, with their names.
    pub foreign: Vec<(String, String)>,
}

/// Replaces the names of a text; `value` gets the sign and the name.
pub fn fill(text: &str, mut value: impl FnMut(char, &str) -> String) -> Filled {
    let mut filled = Filled::default();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '@', '^']) {
        filled.text.push_str(&rest[..at]);
        let sign = char::from(rest.as_bytes()[at]);
        rest = &rest[at + 1..];
        let end = rest
            .find(|letter: char| !letter.is_ascii_lowercase() && letter != '_')
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = after;
        let mut value = value(sign, name);
        for (ending, change) in SPELLINGS {
            if let Some(after) = rest.strip_prefix(ending) {
                (value, rest) = (change(&value), after);
            }
        }
        filled.text.push_str(&value);
        if sign != '@' {
            filled.foreign.push((value, name.to_owned()));
        }
    }
    filled.text.push_str(rest);
    filled
}

type Change = fn(&str) -> String;

const SPELLINGS: [(&str, Change); 3] = [
    (".upper", str::to_uppercase),
    (".bare", |value| value.replace('-', "")),
    (".head", |value| value.chars().take(8).collect()),
];
