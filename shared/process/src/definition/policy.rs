//! Defines durations, errors and retries.

use std::time::Duration;

use super::{Expression, Template};

#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    Fixed(Duration),
    /// A template whose value is a duration: an ISO 8601 text, or an object with `days` to `milliseconds`.
    /// [`flow::duration`](crate::flow::duration) parses that value.
    Computed(Template),
}

/// An error to raise. The values of `type`, `title`, `detail` and `instance` are texts, and that of `status`
/// is an integer.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorTemplate {
    /// A URI.
    pub kind: Template,
    /// HTTP status.
    pub status: Template,
    /// One line.
    pub title: Option<Template>,
    /// Description of this occurrence.
    pub detail: Option<Template>,
    /// Without it, the pointer of the task that raises the error.
    pub instance: Option<Template>,
}

/// Conditions and limits of retries.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Retries only if true.
    pub when: Option<Expression>,
    /// Does not retry if true.
    pub except_when: Option<Expression>,
    /// Without it, retries are immediate.
    pub delay: Option<Span>,
    pub backoff: Backoff,
    pub limits: RetryLimits,
    /// Minimum and maximum of the time that is added to each delay.
    pub jitter: Option<(Span, Span)>,
}

/// Growth of the delay from one retry to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backoff {
    /// The same delay each time.
    #[default]
    Constant,
    /// The n-th retry waits n times the delay.
    Linear,
    /// Each retry waits twice as long as the one before.
    Exponential,
}

/// Limits of a retry policy. Without any, the run's own limits end the retries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetryLimits {
    /// Maximum number of retries.
    pub count: Option<u32>,
    /// Maximum time of one attempt.
    pub attempt: Option<Span>,
    /// Maximum time of all attempts and the delays between them.
    pub total: Option<Span>,
}
