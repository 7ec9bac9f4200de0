//! Defines expressions, and values that contain expressions.

use std::sync::Arc;

use crate::data::Data;

/// A jq expression that parses and refers only to known names. Created by [`check`](crate::check()) or
/// [`parse`](crate::expression::parse).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    pub(crate) inner: Arc<Parsed>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub source: String,
    /// Variables from outside the expression, without `$`, sorted.
    pub variables: Vec<String>,
    /// Names of `use.secrets`, sorted.
    pub secrets: Vec<String>,
}

impl Expression {
    /// Returns the jq text, without `${` and `}`.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// Returns the variables that the expression reads, without `$`, sorted.
    pub fn variables(&self) -> &[String] {
        &self.inner.variables
    }

    /// Returns the secrets that the expression reads, sorted. Its variable `$secrets` needs no others.
    pub fn secrets(&self) -> &[String] {
        &self.inner.secrets
    }
}

/// A value that may contain expressions at any depth.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// A value without expressions.
    Constant(Data),
    /// A text that consists of one expression: `${ … }`. The result keeps its type.
    Expression(Expression),
    /// A list that contains an expression.
    List(Vec<Template>),
    /// An object with an expression in a value. Names are never expressions.
    Object(Vec<(String, Template)>),
}

impl Template {
    /// Returns the expressions of the value, in their order.
    pub fn expressions(&self) -> Vec<&Expression> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect<'a>(&'a self, found: &mut Vec<&'a Expression>) {
        match self {
            Self::Constant(_) => {}
            Self::Expression(expression) => found.push(expression),
            Self::List(items) => items.iter().for_each(|item| item.collect(found)),
            Self::Object(fields) => fields.iter().for_each(|(_, value)| value.collect(found)),
        }
    }

    /// Fills in the results of the expressions, in the order of [`expressions`](Self::expressions). A missing
    /// result is null.
    pub fn filled(&self, results: impl IntoIterator<Item = Data>) -> Data {
        self.fill(&mut results.into_iter())
    }

    fn fill(&self, results: &mut impl Iterator<Item = Data>) -> Data {
        match self {
            Self::Constant(data) => data.clone(),
            Self::Expression(_) => results.next().unwrap_or_else(Data::null),
            Self::List(items) => {
                let items: Vec<Data> = items.iter().map(|item| item.fill(results)).collect();
                Data::list(&items)
            }
            Self::Object(fields) => {
                let fields = fields.iter();
                Data::object(fields.map(|(name, value)| (name, value.fill(results))))
            }
        }
    }

    /// Returns the value if it has no expressions.
    pub fn constant(&self) -> Option<&Data> {
        match self {
            Self::Constant(data) => Some(data),
            _ => None,
        }
    }
}
