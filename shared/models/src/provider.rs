//! Defines a provider: a wire format that sends one request at a time. Also contains the code that the
//! formats share.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;

use crate::MAX_ANSWER_BYTES;
use crate::answer::{Content, StopReason, Usage};
use crate::error::{ModelError, ModelErrorKind};
use crate::model::Sink;
use crate::output;
use crate::request::{Message, OutputSchema, Request};

pub use crate::assembly::{Assembly, Ended};

/// Maximum length of a provider's error code, in characters. A code that is longer, or has other characters
/// than letters, digits, `.`, `_` and `-`, is left out, because it may contain anything.
const MAX_CODE_CHARS: usize = 64;
/// Codes with the status 400 that mean a content filter.
const FILTERED: [&str; 2] = ["content_filter", "content_policy_violation"];
/// Codes with the status 429 for which a retry does not help.
const USED_UP: [&str; 2] = ["insufficient_quota", "billing_hard_limit_reached"];

/// How the request asks for the form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The request has no schema.
    Free,
    /// By the provider's own structured output.
    Native,
    /// By instructions, for a provider without structured output.
    Instructed,
}

/// One request to a provider.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub request: &'a Request,
    /// Name or id of the model at the provider.
    pub model: &'a str,
    pub form: Form,
    /// Messages after those of the request, for a repair round.
    pub further: &'a [Message],
}

impl<'a> Call<'a> {
    pub fn messages(&self) -> impl Iterator<Item = &'a Message> {
        self.request.messages.iter().chain(self.further)
    }

    /// Returns the schema that the provider must enforce itself.
    pub fn native_output(&self) -> Option<&'a OutputSchema> {
        let output = self.request.output.as_ref();
        output.filter(|_| self.form == Form::Native)
    }

    /// Returns the system text, with the schema where the form is requested by instructions.
    pub fn system(&self) -> Option<Cow<'a, str>> {
        let system = self
            .request
            .system
            .as_deref()
            .filter(|text| !text.trim().is_empty());
        let output = self.request.output.as_ref();
        match (system, output.filter(|_| self.form == Form::Instructed)) {
            (system, None) => system.map(Cow::Borrowed),
            (None, Some(output)) => Some(Cow::Owned(output::instruction(output))),
            (Some(system), Some(output)) => {
                Some(Cow::Owned(format!("{system}\n\n{}", output::instruction(output))))
            }
        }
    }

    /// Returns the number of tool calls in the conversation, from which generated ids continue.
    pub(crate) fn calls_before(&self) -> usize {
        let calls = |message: &Message| match message {
            Message::Assistant { content } => content.iter().filter(|part| part.text().is_none()).count(),
            Message::User { .. } | Message::Tool { .. } => 0,
        };
        self.messages().map(calls).sum()
    }
}

/// Passes text to the sink as it arrives.
pub struct Outlet<'a> {
    sink: Option<&'a mut (dyn Sink + 'a)>,
    given: bool,
}

impl<'a> Outlet<'a> {
    pub(crate) fn new(sink: Option<&'a mut (dyn Sink + 'a)>) -> Self {
        Self { sink, given: false }
    }

    /// Returns whether the answer must be streamed.
    pub fn is_streamed(&self) -> bool {
        self.sink.is_some()
    }

    /// Returns whether the caller has received a part of the answer, so that the call cannot be repeated.
    pub(crate) fn has_given(&self) -> bool {
        self.given
    }

    pub fn text(&mut self, part: &str) {
        if let Some(sink) = &mut self.sink
            && !part.is_empty()
        {
            self.given = true;
            sink.text(part);
        }
    }
}

#[async_trait]
pub trait Provider: Send + Sync {
    /// Sends one request, once, and passes text to the outlet as it arrives. Limits the pauses within the
    /// answer, but not the total time.
    async fn send(&self, call: &Call<'_>, outlet: &mut Outlet<'_>) -> Result<Reply, Failure>;
}

/// A provider's answer, not yet checked against the output schema.
#[derive(Debug)]
pub struct Reply {
    pub content: Vec<Content>,
    pub stop: StopReason,
    pub usage: Usage,
    /// None where the provider does not say.
    pub model: Option<String>,
}

/// A request that failed.
#[derive(Debug)]
pub struct Failure {
    /// Error for the caller.
    pub error: ModelError,
    /// Whether the same request may succeed on an immediate retry.
    pub passes: bool,
}

impl Failure {
    fn new(kind: ModelErrorKind, message: impl Into<String>, passes: bool) -> Self {
        Self {
            error: ModelError::new(kind, message),
            passes,
        }
    }

    pub fn unreachable() -> Self {
        let message =
            "The model provider cannot be reached. The operator checks its address and the network.";
        Self::new(ModelErrorKind::Unavailable, message, true)
    }

    /// The connection ended before the answer was complete.
    pub fn broke_off() -> Self {
        let message =
            "The connection to the model provider broke off before the answer was complete. Repeat the call.";
        Self::new(ModelErrorKind::Unavailable, message, true)
    }

    /// Nothing arrived for this long.
    pub fn too_slow(limit: Duration) -> Self {
        let seconds = limit.as_secs_f64();
        let message =
            format!("The model provider sent nothing for {seconds} seconds. Repeat the call later.");
        Self::new(ModelErrorKind::Timeout, message, false)
    }

    /// The answer exceeds [`MAX_ANSWER_BYTES`].
    pub fn too_long() -> Self {
        Self::bad_answer(&format!("has more than {MAX_ANSWER_BYTES} bytes"))
    }

    /// The answer is not in the provider's format; `what` completes a sentence about it and quotes nothing of
    /// it.
    pub fn bad_answer(what: &str) -> Self {
        let message = format!("The model provider's answer {what}.");
        Self::new(ModelErrorKind::BadAnswer, message, false)
    }

    /// The provider refuses the service's credentials.
    pub fn unauthorized(told: &str) -> Self {
        let message = format!(
            "The model provider does not accept the credentials of the service ({told}). The operator checks the key or role."
        );
        Self::new(ModelErrorKind::Unauthorized, message, false)
    }

    /// A response with an error status, with the provider's code and sentence.
    pub fn of_status(status: u16, code: Option<&str>, sentence: &str, pause_ms: Option<u64>) -> Self {
        let code = code.filter(|code| is_code(code)).unwrap_or_default();
        let told = match code {
            "" => format!("status {status}"),
            code => format!("status {status}, {code}"),
        };
        let failure = match status {
            300..=399 => {
                return Self::bad_answer(&format!(
                    "is a redirect (status {status}), which is not followed; the operator sets the address that it leads to"
                ));
            }
            401 | 403 => return Self::unauthorized(&told),
            429 => Self::new(
                ModelErrorKind::Throttled,
                format!("The model provider takes no more requests for now ({told}). Repeat the call later."),
                !USED_UP.contains(&code),
            ),
            408 | 424 | 500 | 502..=599 => Self::new(
                ModelErrorKind::Unavailable,
                format!("The model provider failed ({told}). Repeat the call later."),
                true,
            ),
            400..=499 if FILTERED.contains(&code) => Self::new(
                ModelErrorKind::Refused,
                format!(
                    "A content filter of the model provider refused the request ({told}). Change the prompt."
                ),
                false,
            ),
            400..=501 => Self::new(
                ModelErrorKind::BadRequest,
                format!("The model provider refused the request ({told}). Change the request or the model."),
                false,
            ),
            _ => return Self::bad_answer(&format!("has the status {status}")),
        };
        Self {
            error: failure.error.with_detail(sentence).with_retry_after_ms(pause_ms),
            passes: failure.passes,
        }
    }
}

fn is_code(code: &str) -> bool {
    (1..=MAX_CODE_CHARS).contains(&code.len())
        && code
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_decides_the_kind_and_whether_it_passes() {
        use ModelErrorKind::{BadAnswer, BadRequest, Refused, Throttled, Unauthorized, Unavailable};
        for (status, code, kind, passes) in [
            (204, None, BadAnswer, false),
            (302, None, BadAnswer, false),
            (400, None, BadRequest, false),
            (400, Some("content_filter"), Refused, false),
            (401, None, Unauthorized, false),
            (403, None, Unauthorized, false),
            (404, Some("model_not_found"), BadRequest, false),
            (408, None, Unavailable, true),
            (413, None, BadRequest, false),
            (429, None, Throttled, true),
            (429, Some("insufficient_quota"), Throttled, false),
            (500, None, Unavailable, true),
            (501, None, BadRequest, false),
            (503, None, Unavailable, true),
            (529, Some("overloaded_error"), Unavailable, true),
            (999, None, BadAnswer, false),
        ] {
            let failure = Failure::of_status(status, code, "said", None);
            assert_eq!((failure.error.kind(), failure.passes), (kind, passes), "{status}");
            assert!(
                failure.error.message().contains(&status.to_string()),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn a_code_that_may_be_anything_is_not_told() {
        for code in ["", "hunter2 is the key", &"x".repeat(65), "a\nb"] {
            let failure = Failure::of_status(400, Some(code), "", None);
            assert!(failure.error.message().contains("(status 400)"), "{failure:?}");
        }
        let refused_key = Failure::of_status(401, Some("invalid_api_key"), "the key hunter2 is wrong", None);
        assert_eq!(refused_key.error.detail(), None);
    }
}
