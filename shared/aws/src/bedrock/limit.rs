//! Checks an answer before the SDK reads it, because the SDK reads a body of any type and length to its end.

use std::mem;

use aws_sdk_bedrockruntime::config::interceptors::BeforeDeserializationInterceptorContextMut;
use aws_sdk_bedrockruntime::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_bedrockruntime::error::BoxError;
use aws_smithy_types::body::SdkBody;
use http_body_util::Limited;
use models::MAX_ANSWER_BYTES;

/// Limits the size of the body, and refuses a content type other than the operation's, such as a page of a
/// proxy.
#[derive(Debug)]
pub(super) struct AnswerGuard {
    pub(super) content_type: &'static str,
}

#[derive(Debug)]
pub(super) struct WrongType;

impl std::fmt::Display for WrongType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the answer is of another content type than the operation's")
    }
}

impl std::error::Error for WrongType {}

impl Intercept for AnswerGuard {
    fn name(&self) -> &'static str {
        "AnswerGuard"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response_mut();
        let content_type = response.headers().get("content-type").unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        if response.status().is_success() && !essence.eq_ignore_ascii_case(self.content_type) {
            return Err(WrongType.into());
        }
        let body = response.body_mut();
        let whole = mem::replace(body, SdkBody::taken());
        *body = SdkBody::from_body_1_x(Limited::new(whole, MAX_ANSWER_BYTES));
        Ok(())
    }
}
