//! Evaluates expressions within a turn, so that replays stay short and give the same results.
//!
//! A replay repeats every evaluation that is not recorded. So a result is recorded where the evaluation hit a
//! limit (which it might not hit on another machine), where it took long, and where the turn has spent its
//! time. Code that has spent its time also waits for a timer of zero length: that ends the turn, and the
//! records are written.

use std::cell::Cell;
use std::future::Future;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use lru::LruCache;
use parking_lot::Mutex;
use process::Data;
use process::definition::Expression;
use process::expression::{Evaluator, ExpressionFailure, Scope};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use workflow::turn::Local;
use workflow::turn_failure::TurnFailure;
use workflow::{Context, Failure};

/// Duration above which an evaluation is recorded.
const SLOW: Duration = Duration::from_millis(20);
/// Total evaluation time of a turn, after which each further evaluation is recorded.
const TURN_BUDGET: Duration = Duration::from_secs(1);
/// Maximum length of an expression that a message quotes, in characters.
const MAX_QUOTED: usize = 100;
/// Maximum number of remembered evaluations that exceeded a limit.
const MAX_EXCEEDED: NonZeroUsize = match NonZeroUsize::new(256) {
    Some(most) => most,
    None => NonZeroUsize::MIN,
};

/// Evaluations that exceeded a limit. On a busy machine a turn may end before such an evaluation does, and
/// nothing is recorded; the repeated turn must not wait for the evaluation again.
#[derive(Clone)]
struct Exceeding(Arc<Mutex<LruCache<[u8; 32], ()>>>);

impl Exceeding {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(LruCache::new(MAX_EXCEEDED))))
    }

    fn knows(&self, expressions: &[&Expression], scope: &Scope) -> bool {
        let mut known = self.0.lock();
        // Hashing the data is costly, so an empty cache is not searched.
        !known.is_empty() && known.get(&digest(expressions, scope)).is_some()
    }

    fn add(&self, expressions: &[&Expression], scope: &Scope) {
        let mut known = self.0.lock();
        known.put(digest(expressions, scope), ());
    }
}

/// Returns the cache key of an evaluation: a hash over its parts, each with its length in front.
fn digest(expressions: &[&Expression], scope: &Scope) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut part = |text: &str| {
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    };
    expressions
        .iter()
        .for_each(|expression| part(expression.source()));
    part(scope.input.get());
    for (name, value) in &scope.variables {
        part(name);
        part(value.get());
    }
    digest.finalize().into()
}

/// Evaluates the expressions of processes in the turns of their runs.
#[derive(Clone)]
pub struct Expressions {
    evaluator: Option<Evaluator>,
    /// Runtime that drives the pipes to the children. An in-process evaluation never waits and needs none.
    runtime: Option<Handle>,
    exceeding: Option<Exceeding>,
}

impl Expressions {
    /// Evaluates in child processes, on the runtime of the caller.
    pub fn sandboxed(evaluator: Evaluator) -> Self {
        Self {
            evaluator: Some(evaluator),
            runtime: Handle::try_current().ok(),
            exceeding: Some(Exceeding::new()),
        }
    }

    /// Evaluates in this process, without limits on time and memory: for tests.
    pub fn in_process() -> Self {
        Self {
            evaluator: Some(Evaluator::in_process()),
            runtime: None,
            exceeding: None,
        }
    }

    /// Evaluates nothing: for a process that starts runs and makes no turns.
    pub const fn none() -> Self {
        Self {
            evaluator: None,
            runtime: None,
            exceeding: None,
        }
    }

    /// Blocks the thread of the turn until the evaluation ends. Where no evaluation is possible at the
    /// moment, the turn fails and is retried.
    fn wait<T>(&self, work: impl Future<Output = platform::Result<T>>) -> T {
        let done = match &self.runtime {
            Some(runtime) => runtime.block_on(work),
            None => work
                .now_or_never()
                .unwrap_or_else(|| Err(platform::Error::unavailable("expressions have no runtime here"))),
        };
        match done {
            Ok(value) => value,
            Err(error) => fail_turn(&format!("No expression can be evaluated at the moment: {error}.")),
        }
    }

    fn evaluator(&self) -> &Evaluator {
        match &self.evaluator {
            Some(evaluator) => evaluator,
            None => fail_turn("This process evaluates no expressions."),
        }
    }
}

/// Ends the turn from within the code. The engine retries it after a pause.
fn fail_turn(message: &str) -> ! {
    resume_unwind(Box::new(TurnFailure::stuck(message)))
}

pub(super) struct Evaluations {
    expressions: Expressions,
    /// Account for which children work: evaluations of one account wait for each other first.
    account: String,
    /// Time of all evaluations of the turn.
    spent: Cell<Duration>,
    /// Time of new, not replayed evaluations since the last pause.
    fresh: Cell<Duration>,
}

/// Recorded outcome of an evaluation.
#[derive(Serialize, Deserialize)]
struct Recorded {
    outcome: Outcome,
    /// Whether the turn ends after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pauses: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Results(Vec<Box<RawValue>>),
    Failed { expression: String, reason: String },
    Exceeded { expression: String },
    Invalid { reason: String },
}

impl Evaluations {
    pub fn new(expressions: Expressions, account: String) -> Self {
        Self {
            expressions,
            account,
            spent: Cell::default(),
            fresh: Cell::default(),
        }
    }

    /// Returns the result of each expression, or the reason why there is none.
    pub async fn evaluate(
        &self,
        context: &Context,
        expressions: &[&Expression],
        scope: &Scope,
    ) -> Result<Result<Vec<Data>, ExpressionFailure>, Failure> {
        if expressions.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        self.recorded(context, || self.evaluated(expressions, scope))
            .await
    }

    fn evaluated(&self, expressions: &[&Expression], scope: &Scope) -> Result<Vec<Data>, ExpressionFailure> {
        let exceeding = self.expressions.exceeding.as_ref();
        if exceeding.is_some_and(|exceeding| exceeding.knows(expressions, scope)) {
            let first = expressions.first().map_or("", |expression| expression.source());
            let expression = first.trim().chars().take(MAX_QUOTED).collect();
            return Err(ExpressionFailure::Exceeded { expression });
        }
        let evaluator = self.expressions.evaluator();
        let result = self
            .expressions
            .wait(evaluator.evaluate(&self.account, expressions, scope));
        if let (Some(exceeding), Err(ExpressionFailure::Exceeded { .. })) = (exceeding, &result) {
            exceeding.add(expressions, scope);
        }
        result
    }

    /// Checks a value against a JSON Schema.
    pub async fn validate(
        &self,
        context: &Context,
        schema: &Data,
        value: &Data,
    ) -> Result<Result<(), ExpressionFailure>, Failure> {
        let validated = self.recorded(context, || {
            let evaluator = self.expressions.evaluator();
            let work = evaluator.validate(&self.account, schema, value);
            self.expressions.wait(work).map(|()| Vec::new())
        });
        Ok(validated.await?.map(drop))
    }

    async fn recorded(
        &self,
        context: &Context,
        work: impl FnOnce() -> Result<Vec<Data>, ExpressionFailure>,
    ) -> Result<Result<Vec<Data>, ExpressionFailure>, Failure> {
        let recorded = context.local(|| {
            let began = Instant::now();
            let outcome = Outcome::from_result(work());
            let took = began.elapsed();
            self.spent.set(self.spent.get() + took);
            let is_new = !context.is_replaying();
            if is_new {
                self.fresh.set(self.fresh.get() + took);
            }
            let pauses = is_new && self.fresh.get() > TURN_BUDGET;
            let exceeded = matches!(outcome, Outcome::Exceeded { .. });
            Local {
                keep: pauses || exceeded || took > SLOW || self.spent.get() > TURN_BUDGET,
                value: Recorded { outcome, pauses },
            }
        })?;
        if recorded.pauses {
            self.fresh.set(Duration::ZERO);
            context.timer(Duration::ZERO).await?;
        }
        Ok(recorded.outcome.into_result())
    }
}

impl Outcome {
    fn from_result(result: Result<Vec<Data>, ExpressionFailure>) -> Self {
        match result {
            Ok(results) => Self::Results(results.iter().map(|data| data.as_raw().to_owned()).collect()),
            Err(ExpressionFailure::Failed { expression, reason }) => Self::Failed { expression, reason },
            Err(ExpressionFailure::Exceeded { expression }) => Self::Exceeded { expression },
            Err(ExpressionFailure::Invalid { reason }) => Self::Invalid { reason },
        }
    }

    fn into_result(self) -> Result<Vec<Data>, ExpressionFailure> {
        match self {
            Self::Results(results) => {
                let results = results.into_iter();
                // Recorded results passed the nesting check before.
                Ok(results
                    .map(|raw| Data::from_raw(raw).unwrap_or_else(|_| Data::null()))
                    .collect())
            }
            Self::Failed { expression, reason } => Err(ExpressionFailure::Failed { expression, reason }),
            Self::Exceeded { expression } => Err(ExpressionFailure::Exceeded { expression }),
            Self::Invalid { reason } => Err(ExpressionFailure::Invalid { reason }),
        }
    }
}
