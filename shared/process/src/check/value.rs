//! Checks expressions, and values that contain expressions.

use super::Checker;
use crate::data::Data;
use crate::definition::{Expression, Template};
use crate::expression::{self, Names, VARIABLES, enclosed};
use crate::fault::Place;
use crate::source::{Tree, is_beyond_double};

impl Checker {
    /// Reads a field that is an expression by definition, with or without `${ }`.
    pub(super) fn expression(&mut self, at: &Place, tree: &Tree) -> Option<Expression> {
        let text = self.text(at, tree)?;
        self.source(at, enclosed(text).unwrap_or(text))
    }

    pub(super) fn optional_expression(&mut self, taken: Option<(Place, &Tree)>) -> Option<Expression> {
        let (at, tree) = taken?;
        self.expression(&at, tree)
    }

    fn source(&mut self, at: &Place, source: &str) -> Option<Expression> {
        let names = Names {
            variables: &self.variables,
            secrets: &self.secrets,
        };
        match expression::parse(source, names) {
            Ok(expression) => Some(expression),
            Err(message) => self.refuse(at, message),
        }
    }

    /// Reads a value in which texts of the form `${ … }` are expressions.
    pub(super) fn template(&mut self, at: &Place, tree: &Tree) -> Option<Template> {
        match tree {
            Tree::Text(text) => match enclosed(text) {
                Some(source) => self.source(at, source).map(Template::Expression),
                None => Some(Template::Constant(tree.clone().into())),
            },
            Tree::List(items) => {
                let items = items.iter().enumerate();
                let items: Vec<_> = items
                    .map(|(index, item)| self.template(&at.item(index), item))
                    .collect();
                let items: Vec<Template> = items.into_iter().collect::<Option<_>>()?;
                Some(folded(tree, items.iter().all(is_constant), Template::List(items)))
            }
            Tree::Object(fields) => {
                let fields = fields.iter();
                let fields: Vec<_> = fields
                    .map(|(name, value)| Some((name.clone(), self.template(&at.field(name), value)?)))
                    .collect();
                let fields: Vec<(String, Template)> = fields.into_iter().collect::<Option<_>>()?;
                let is_folded = fields.iter().all(|(_, value)| is_constant(value));
                Some(folded(tree, is_folded, Template::Object(fields)))
            }
            Tree::Number(number) if is_beyond_double(number) => self.refuse(
                at,
                format!("No double holds the number {number}, so readers of JSON do not keep it; write it as a text."),
            ),
            _ => Some(Template::Constant(tree.clone().into())),
        }
    }

    pub(super) fn optional_template(&mut self, taken: Option<(Place, &Tree)>) -> Option<Template> {
        let (at, tree) = taken?;
        self.template(&at, tree)
    }

    /// As [`template`](Self::template), but a text is an expression also without `${ }`: `from` and `as`.
    pub(super) fn shape(&mut self, at: &Place, tree: &Tree) -> Option<Template> {
        match tree {
            Tree::Text(_) => self.expression(at, tree).map(Template::Expression),
            Tree::Object(_) => self.template(at, tree),
            other => self.refuse(
                at,
                format!("Expected an expression or an object, found {}.", other.kind()),
            ),
        }
    }

    /// Reads a text, or an expression that computes one.
    pub(super) fn text_template(&mut self, at: &Place, tree: &Tree) -> Option<Template> {
        self.text(at, tree)?;
        self.template(at, tree)
    }

    pub(super) fn optional_text_template(&mut self, taken: Option<(Place, &Tree)>) -> Option<Template> {
        let (at, tree) = taken?;
        self.text_template(&at, tree)
    }

    /// Reads an object, or an expression that computes one.
    pub(super) fn object_template(&mut self, at: &Place, tree: &Tree) -> Option<Template> {
        match self.template(at, tree)? {
            template @ (Template::Expression(_) | Template::Object(_)) => Some(template),
            Template::Constant(data) if matches!(tree, Tree::Object(_)) => Some(Template::Constant(data)),
            _ => self.refuse(
                at,
                format!(
                    "Expected an object or an expression ${{ … }}, found {}.",
                    tree.kind()
                ),
            ),
        }
    }

    pub(super) fn optional_object_template(&mut self, taken: Option<(Place, &Tree)>) -> Option<Template> {
        let (at, tree) = taken?;
        self.object_template(&at, tree)
    }

    /// Reads the name of a variable of a loop or of `catch`, without `$`.
    pub(super) fn variable(&mut self, taken: Option<(Place, &Tree)>, default: &str) -> String {
        let named = taken.and_then(|(at, tree)| {
            let name = self.text(&at, tree)?;
            let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !is_word {
                return self.refuse(
                    &at,
                    format!(
                        "The variable '{name}' is not a name of letters, digits and '_'; leave out the '$'."
                    ),
                );
            }
            if VARIABLES.contains(&name) || name == "ENV" {
                return self.refuse(
                    &at,
                    format!("The variable '${name}' exists already; choose another name."),
                );
            }
            Some(name.to_owned())
        });
        named.unwrap_or_else(|| default.to_owned())
    }

    /// Calls `read` with additional known variables.
    pub(super) fn with_variables<T>(&mut self, names: &[&str], read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.variables.len();
        self.variables.extend(names.iter().map(|name| (*name).to_owned()));
        let value = read(self);
        self.variables.truncate(outer);
        value
    }
}

fn is_constant(template: &Template) -> bool {
    matches!(template, Template::Constant(_))
}

fn folded(tree: &Tree, is_constant: bool, template: Template) -> Template {
    if is_constant {
        Template::Constant(Data::from(tree.clone()))
    } else {
        template
    }
}
