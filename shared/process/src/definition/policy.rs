//! Durations, errors and retries.

use std::time::Duration;

use super::{Expression, Template};

/// A duration of a definition.
#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    /// Written out.
    Fixed(Duration),
    /// A template whose value is a duration: an ISO 8601 text, or an object with `days` to `milliseconds`.
    /// [`flow::duration`](crate::flow::duration) reads that value.
    Computed(Template),
}

/// An error to raise. The values of `type`, `title`, `detail` and `instance` are texts, that of `status` is
/// an integer.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorTemplate {
    /// A URI.
    pub kind: Template,
    /// As in HTTP.
    pub status: Template,
    /// One line.
    pub title: Option<Template>,
    /// About this occurrence.
    pub detail: Option<Template>,
    /// Without it, the pointer of the task that raises.
    pub instance: Option<Template>,
}

/// When and how often to try again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Try again only if true.
    pub when: Option<Expression>,
    /// Do not try again if true.
    pub except_when: Option<Expression>,
    /// Without it, none.
    pub delay: Option<Span>,
    /// How the delay grows.
    pub backoff: Backoff,
    /// Where to stop.
    pub limits: RetryLimits,
    /// Bounds of what is added to each delay.
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

/// Limits of a retry policy. Without any, retries end with the run's own limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetryLimits {
    /// Most retries.
    pub count: Option<u32>,
    /// Longest time of one attempt.
    pub attempt: Option<Span>,
    /// Longest time of all attempts and the delays between them.
    pub total: Option<Span>,
}
