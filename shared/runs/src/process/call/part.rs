//! Represents a part of a request: data, or data that contains expressions which read secrets.

use std::collections::{BTreeMap, BTreeSet};

use process::Data;
use process::definition::{Expression, Template};
use process::expression::{ExpressionFailure, Names, Scope, parse};
use process::flow::Kind;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::error::{CallError, Ended, ErrorKind};
use super::keyring::Keyring;
use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Value(Box<RawValue>),
    /// An expression that reads secrets.
    Secret(Box<SecretExpression>),
    /// List that contains such an expression.
    List(Vec<Part>),
    /// Object that contains such an expression.
    Object(Vec<(String, Part)>),
}

/// Expression that the activity evaluates, with the data that it reads.
#[derive(Debug, Serialize, Deserialize)]
pub struct SecretExpression {
    source: String,
    secrets: Vec<String>,
    input: Box<RawValue>,
    variables: BTreeMap<String, Box<RawValue>>,
}

impl Part {
    /// Evaluates the expressions that read no secrets.
    pub async fn evaluate(
        process: &Process,
        view: &View<'_>,
        dot: &Data,
        template: &Template,
    ) -> Result<Self, Fault> {
        let expressions = template.expressions();
        let plain: Vec<&Expression> = expressions
            .into_iter()
            .filter(|expression| expression.secrets().is_empty())
            .collect();
        let results = process.evaluate(view, dot, &plain).await?;
        Ok(Self::filled(template, &mut results.into_iter(), &|expression| {
            SecretExpression::new(process, view, dot, expression)
        }))
    }

    /// Does the same for a part that may be missing.
    pub async fn optional(
        process: &Process,
        view: &View<'_>,
        dot: &Data,
        template: Option<&Template>,
    ) -> Result<Option<Self>, Fault> {
        match template {
            Some(template) => Ok(Some(Self::evaluate(process, view, dot, template).await?)),
            None => Ok(None),
        }
    }

    fn filled(
        template: &Template,
        results: &mut impl Iterator<Item = Data>,
        secret: &impl Fn(&Expression) -> SecretExpression,
    ) -> Self {
        let expressions = template.expressions();
        if expressions
            .iter()
            .all(|expression| expression.secrets().is_empty())
        {
            let filled = template.filled(results.by_ref().take(expressions.len()));
            return Self::Value(filled.as_raw().to_owned());
        }
        match template {
            Template::Constant(data) => Self::Value(data.as_raw().to_owned()),
            Template::Expression(expression) => Self::Secret(Box::new(secret(expression))),
            Template::List(items) => Self::List(
                items
                    .iter()
                    .map(|item| Self::filled(item, results, secret))
                    .collect(),
            ),
            Template::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| (name.clone(), Self::filled(value, results, secret)));
                Self::Object(fields.collect())
            }
        }
    }

    pub fn text(text: &str) -> Self {
        Self::Value(Data::text(text).as_raw().to_owned())
    }

    /// Returns whether the part contains no secrets.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Value(_))
    }

    /// Returns the data, with the secrets filled in.
    pub(super) fn resolve<'a>(
        &'a self,
        keyring: &'a mut Keyring<'_>,
    ) -> futures::future::BoxFuture<'a, Result<Data, Ended>> {
        Box::pin(async move {
            match self {
                Self::Value(raw) => Ok(data(raw)),
                Self::Secret(expression) => expression.resolve(keyring).await,
                Self::List(items) => {
                    let mut resolved = Vec::with_capacity(items.len());
                    for item in items {
                        resolved.push(item.resolve(keyring).await?);
                    }
                    Ok(Data::list(&resolved))
                }
                Self::Object(fields) => {
                    let mut resolved = Vec::with_capacity(fields.len());
                    for (name, value) in fields {
                        resolved.push((name, value.resolve(keyring).await?));
                    }
                    Ok(Data::object(resolved))
                }
            }
        })
    }
}

impl SecretExpression {
    fn new(process: &Process, view: &View<'_>, dot: &Data, expression: &Expression) -> Self {
        let scope = process.scope(view, dot, &[expression]);
        let variables = scope.variables.iter();
        Self {
            source: expression.source().to_owned(),
            secrets: expression.secrets().to_vec(),
            input: dot.as_raw().to_owned(),
            variables: variables
                .map(|(name, value)| (name.clone(), value.as_raw().to_owned()))
                .collect(),
        }
    }

    async fn resolve(&self, keyring: &mut Keyring<'_>) -> Result<Data, Ended> {
        let variables: Vec<String> = self.variables.keys().cloned().collect();
        let names = Names {
            variables: &variables,
            secrets: &self.secrets,
        };
        let expression =
            parse(&self.source, names).map_err(|message| CallError::new(ErrorKind::Expression, message))?;
        let mut secrets = Vec::new();
        for name in self.secrets.iter().collect::<BTreeSet<_>>() {
            secrets.push((name, keyring.open(name).await?));
        }
        let mut scope = Scope::new(data(&self.input)).with("secrets", Data::object(secrets));
        for (name, value) in &self.variables {
            scope = scope.with(name, data(value));
        }
        let evaluator = &keyring.services.evaluator;
        let evaluated = evaluator
            .evaluate(keyring.tenant.account(), &[&expression], &scope)
            .await?;
        match evaluated {
            Ok(results) => Ok(results.into_iter().next().unwrap_or_else(Data::null)),
            Err(
                failure @ (ExpressionFailure::Failed { .. }
                | ExpressionFailure::Exceeded { .. }
                | ExpressionFailure::Invalid { .. }),
            ) => Err(CallError::new(ErrorKind::Expression, failure.to_string()).into()),
        }
    }
}

/// Converts data that the turn evaluated.
fn data(raw: &RawValue) -> Data {
    Data::from_raw(raw.to_owned()).unwrap_or_else(|_| Data::null())
}

/// Returns the error for an invalid value in the definition, found in the turn.
pub(super) fn wrong(detail: impl Into<String>, view: &View<'_>) -> Fault {
    Fault::error(Kind::Expression, detail, view.pointer)
}
