//! Evaluates expressions in a child process with hard limits.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use platform::Result;
use sandbox::{Limits, Sandbox};

use super::child::{Answer, Request, work};
use super::filter::Source;
use crate::data::Data;
use crate::definition::{Expression, Template};
use crate::limits::{
    CHECK_STACK_BYTES, EVALUATION_BYTES, EVALUATION_PATIENCE, EVALUATION_TIME, MAX_INPUT_BYTES,
};

/// First argument of a child process.
const ARGUMENT: &str = "millrace-process-expressions";
pub const LIMITS: Limits = Limits {
    processor: EVALUATION_TIME,
    memory_bytes: EVALUATION_BYTES,
    patience: EVALUATION_PATIENCE,
};

/// If this process was started as a child, serves evaluations and never returns.
///
/// Must be the first call in the `main` of a program that uses [`Evaluator::sandboxed`].
pub fn run_if_child() {
    sandbox::run_if_child(ARGUMENT, work);
}

/// Data that expressions can read.
#[derive(Clone)]
pub struct Scope {
    /// The value of `.`.
    pub input: Data,
    /// Variables by name, without `$`. A missing variable is null.
    pub variables: BTreeMap<String, Data>,
}

impl Scope {
    /// Creates a scope without variables.
    pub fn new(input: Data) -> Self {
        let variables = BTreeMap::new();
        Self { input, variables }
    }

    /// Adds or replaces a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: Data) -> Self {
        self.variables.insert(name.to_owned(), value);
        self
    }
}

/// An expression without a result, or a value that does not satisfy its schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionFailure {
    /// The expression fails, or does not return exactly one result.
    #[error("The expression '{expression}' fails: {reason}.")]
    Failed {
        /// jq text, shortened.
        expression: String,
        /// Withheld if the expression reads secrets, because it may quote one.
        reason: String,
    },
    /// The expressions exceeded [`LIMITS`] or a limit on data. A retry would have the same result.
    #[error(
        "The expression '{expression}' takes more than {} s of processor time, {} MB of memory or {} MB of data.",
        EVALUATION_TIME.as_secs(), EVALUATION_BYTES >> 20, MAX_INPUT_BYTES >> 20
    )]
    Exceeded {
        /// The first of the expressions that were sent together.
        expression: String,
    },
    #[error("The value does not satisfy its schema: {reason}.")]
    Invalid {
        /// Place and rule, without the value.
        reason: String,
    },
}

#[derive(Clone)]
pub struct Evaluator {
    sandbox: Option<Sandbox>,
}

impl Evaluator {
    /// Evaluates in children of this program, at most `max` at a time. Its `main` must begin with
    /// [`run_if_child`].
    pub fn sandboxed(max: usize) -> Result<Self> {
        Ok(Self::over(Sandbox::new(ARGUMENT, LIMITS, max)?))
    }

    /// As [`sandboxed`](Self::sandboxed), with children of a test's program, for which a busy machine may
    /// take long to find time.
    pub fn with_program(program: std::path::PathBuf, max: usize) -> Self {
        let limits = Limits {
            patience: Duration::from_secs(600),
            ..LIMITS
        };
        Self::over(Sandbox::with_program(program, ARGUMENT, limits, max))
    }

    fn over(sandbox: Sandbox) -> Self {
        Self {
            sandbox: Some(sandbox),
        }
    }

    /// Evaluates in this process, without limits on time and memory; only for expressions of tests.
    pub fn in_process() -> Self {
        Self { sandbox: None }
    }

    /// Starts a child before the first evaluation.
    pub fn warm(&self) -> Result<()> {
        self.sandbox.as_ref().map_or(Ok(()), Sandbox::warm)
    }

    /// Returns the result of each expression, or the first failure, with one round trip. An error is a 503:
    /// no child is available for the account. An expression that reads secrets is evaluated alone.
    pub async fn evaluate(
        &self,
        account: &str,
        expressions: &[&Expression],
        scope: &Scope,
    ) -> Result<Result<Vec<Data>, ExpressionFailure>> {
        if expressions.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        // The others would be handed the secrets as well.
        if expressions.len() > 1
            && expressions
                .iter()
                .any(|expression| !expression.secrets().is_empty())
        {
            return Err(platform::Error::internal(
                "an expression that reads secrets is evaluated together with others",
            ));
        }
        let first = shortened(expressions.first().map_or("", |expression| expression.source()));
        let secrets = own_secrets(expressions, scope);
        let request = request(expressions, scope, secrets.as_ref());
        if request.len() > MAX_INPUT_BYTES {
            return Ok(Err(ExpressionFailure::Exceeded { expression: first }));
        }
        let Some(answer) = self.run(account, request).await? else {
            return Ok(Err(ExpressionFailure::Exceeded { expression: first }));
        };
        Ok(match answer {
            Answer::Done(results) => {
                let results: Option<Vec<Data>> =
                    results.into_iter().map(|raw| Data::from_raw(raw).ok()).collect();
                results.ok_or(ExpressionFailure::Exceeded { expression: first })
            }
            Answer::Failed(index, reason) => {
                let expression = expressions.get(index);
                let has_secrets = expression.is_some_and(|expression| !expression.secrets().is_empty());
                let reason = match has_secrets {
                    true => "the reason is withheld, because the expression reads secrets".to_owned(),
                    false => reason.trim_end_matches('.').to_owned(),
                };
                Err(ExpressionFailure::Failed {
                    expression: shortened(expression.map_or("", |expression| expression.source())),
                    reason,
                })
            }
        })
    }

    /// Fills a template; evaluates all its expressions with one round trip.
    pub async fn fill(
        &self,
        account: &str,
        template: &Template,
        scope: &Scope,
    ) -> Result<Result<Data, ExpressionFailure>> {
        let results = self.evaluate(account, &template.expressions(), scope).await?;
        Ok(results.map(|results| template.filled(results)))
    }

    /// Whether a condition holds: its result is neither false nor null, as in jq.
    pub async fn holds(
        &self,
        account: &str,
        condition: &Expression,
        scope: &Scope,
    ) -> Result<Result<bool, ExpressionFailure>> {
        let results = self.evaluate(account, &[condition], scope).await?;
        Ok(results.map(|results| {
            let result = results.first().map_or("null", Data::get);
            !matches!(result, "false" | "null")
        }))
    }

    /// Validates a value against a JSON Schema. The failure has the first fault.
    pub async fn validate(
        &self,
        account: &str,
        schema: &Data,
        value: &Data,
    ) -> Result<Result<(), ExpressionFailure>> {
        self.validate_for(account, schema, value, 1).await
    }

    /// As [`validate`](Self::validate), with as many faults in the failure.
    pub async fn validate_for(
        &self,
        account: &str,
        schema: &Data,
        value: &Data,
        faults: usize,
    ) -> Result<Result<(), ExpressionFailure>> {
        let invalid = |reason: &str| {
            Ok(Err(ExpressionFailure::Invalid {
                reason: reason.trim_end_matches('.').to_owned(),
            }))
        };
        let request = Request::Validate {
            schema: schema.as_raw(),
            value: value.as_raw(),
            faults,
        };
        let request = serde_json::to_vec(&request).map_err(platform::Error::internal)?;
        if request.len() > MAX_INPUT_BYTES {
            return invalid("the value is too large to be checked");
        }
        match self.run(account, request).await? {
            Some(Answer::Done(_)) => Ok(Ok(())),
            Some(Answer::Failed(_, reason)) => invalid(&reason),
            None => invalid("the check takes too much time or memory; make the schema simpler"),
        }
    }

    /// None if the work exceeded its limits.
    async fn run(&self, account: &str, request: Vec<u8>) -> Result<Option<Answer>> {
        let answer = match &self.sandbox {
            Some(sandbox) => sandbox.run(account, &request).await?.ok(),
            None => thread::Builder::new()
                .stack_size(CHECK_STACK_BYTES)
                .spawn(move || work(&request))
                .map_err(platform::Error::internal)?
                .join()
                .ok(),
        };
        Ok(answer.and_then(|answer| serde_json::from_slice(&answer).ok()))
    }
}

/// Returns the variable `secrets` with only the fields that the expressions read.
fn own_secrets(expressions: &[&Expression], scope: &Scope) -> Option<Data> {
    let names: BTreeSet<&str> = expressions
        .iter()
        .flat_map(|expression| expression.secrets())
        .map(String::as_str)
        .collect();
    if names.is_empty() {
        return None;
    }
    let secrets = scope.variables.get("secrets")?;
    let fields = names.into_iter();
    Some(Data::object(
        fields.filter_map(|name| Some((name, secrets.field(name)?))),
    ))
}

fn request(expressions: &[&Expression], scope: &Scope, secrets: Option<&Data>) -> Vec<u8> {
    let mut variables = BTreeMap::new();
    for name in expressions.iter().flat_map(|expression| expression.variables()) {
        let value = match name.as_str() {
            "secrets" => secrets,
            name => scope.variables.get(name),
        };
        if let Some(value) = value {
            variables.insert(name.clone(), value.as_raw());
        }
    }
    let request = Request::Evaluate {
        input: scope.input.as_raw(),
        variables,
        secrets: expressions
            .iter()
            .flat_map(|expression| expression.secrets().to_vec())
            .collect(),
        sources: expressions
            .iter()
            .map(|expression| Source {
                source: expression.source().to_owned(),
                variables: expression.variables().to_vec(),
            })
            .collect(),
    };
    serde_json::to_vec(&request).unwrap_or_default()
}

fn shortened(source: &str) -> String {
    /// Maximum length of a quoted expression, in characters.
    const MAX_QUOTED: usize = 100;
    let source = source.trim();
    match source.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}…", source.get(..end).unwrap_or_default()),
        None => source.to_owned(),
    }
}
