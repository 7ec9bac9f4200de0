//! Reads the fields of an object, and reports unknown ones.

use super::Checker;
use crate::fault::Place;
use crate::source::Tree;

/// The fields of an object, each taken by name.
pub struct Fields<'t> {
    pub at: Place,
    entries: &'t [(String, Tree)],
    known: Vec<&'static str>,
}

impl<'t> Fields<'t> {
    /// Takes the field, if present.
    pub fn take(&mut self, name: &'static str) -> Option<(Place, &'t Tree)> {
        self.known.push(name);
        let entry = self.entries.iter().find(|(other, _)| other == name);
        entry.map(|(_, value)| (self.at.field(name), value))
    }

    /// Whether the field is present; does not take it.
    pub fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(other, _)| other == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &'t str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }
}

impl Checker {
    pub(super) fn fields<'t>(&mut self, at: &Place, tree: &'t Tree, what: &str) -> Option<Fields<'t>> {
        match tree {
            Tree::Object(entries) => Some(Fields {
                at: at.clone(),
                entries,
                known: Vec::new(),
            }),
            other => self.refuse(
                at,
                format!("Expected {what} as an object, found {}.", other.kind()),
            ),
        }
    }

    /// Reports the fields that were not taken.
    pub(super) fn done(&mut self, fields: &Fields<'_>, what: &str) {
        let mut known = fields.known.clone();
        known.sort_unstable();
        known.dedup();
        for name in fields.names().filter(|name| !known.contains(name)) {
            let known = known.join(", ");
            self.report(
                &fields.at.field(name),
                format!("Unknown field '{name}'; {what} has: {known}."),
            );
        }
    }

    /// Takes a required field.
    pub(super) fn required<'t>(
        &mut self,
        fields: &mut Fields<'t>,
        name: &'static str,
    ) -> Option<(Place, &'t Tree)> {
        let taken = fields.take(name);
        if taken.is_none() {
            self.report(&fields.at, format!("The field '{name}' is missing."));
        }
        taken
    }

    pub(super) fn text<'t>(&mut self, at: &Place, tree: &'t Tree) -> Option<&'t str> {
        match tree {
            Tree::Text(text) => Some(text),
            other => self.refuse(at, format!("Expected a text, found {}.", other.kind())),
        }
    }

    pub(super) fn list<'t>(&mut self, at: &Place, tree: &'t Tree) -> Option<&'t [Tree]> {
        match tree {
            Tree::List(items) => Some(items),
            other => self.refuse(at, format!("Expected a list, found {}.", other.kind())),
        }
    }

    pub(super) fn boolean(&mut self, taken: Option<(Place, &Tree)>, default: bool) -> bool {
        match taken {
            None => default,
            Some((_, Tree::Bool(value))) => *value,
            Some((at, other)) => {
                self.report(&at, format!("Expected true or false, found {}.", other.kind()));
                default
            }
        }
    }

    /// Reads an object with one field, as in lists of named items.
    pub(super) fn named<'t>(
        &mut self,
        at: &Place,
        tree: &'t Tree,
        what: &str,
    ) -> Option<(&'t str, Place, &'t Tree)> {
        match tree {
            Tree::Object(entries) => match entries.as_slice() {
                [(name, value)] => Some((name, at.field(name), value)),
                entries => self.refuse(
                    at,
                    format!(
                        "Expected {what} as an object with one field, its name; found {} fields.",
                        entries.len()
                    ),
                ),
            },
            other => self.refuse(
                at,
                format!(
                    "Expected {what} as an object with one field, its name; found {}.",
                    other.kind()
                ),
            ),
        }
    }

    /// Reads one of a few texts.
    pub(super) fn choice<T: Copy>(
        &mut self,
        taken: Option<(Place, &Tree)>,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let (at, tree) = taken?;
        let text = self.text(&at, tree)?;
        let found = choices.iter().find(|(name, _)| *name == text);
        if let Some((_, value)) = found {
            return Some(*value);
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.refuse(
            &at,
            format!("Unknown value '{text}'; known are: {}.", names.join(", ")),
        )
    }
}
