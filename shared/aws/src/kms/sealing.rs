//! Seals secrets with a key of KMS.

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_kms::Client;
use aws_sdk_kms::error::{DisplayErrorContext, SdkError};
use aws_sdk_kms::operation::decrypt::DecryptError;
use aws_sdk_kms::primitives::Blob;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use platform::config::Secret;
use platform::sealing::{Place, Sealer, check_length};
use platform::{Error, Result};

/// A symmetric KMS key, which never leaves KMS. The place is the encryption context, which CloudTrail shows.
pub struct KmsSealer {
    client: Client,
    key_id: String,
}

impl KmsSealer {
    /// `key_id` is an id, ARN or alias.
    pub fn connect(sdk: &SdkConfig, key_id: String) -> Self {
        Self {
            client: Client::new(sdk),
            key_id,
        }
    }
}

#[async_trait]
impl Sealer for KmsSealer {
    async fn seal(&self, place: Place<'_>, secret: &Secret) -> Result<String> {
        check_length(secret)?;
        let response = self
            .client
            .encrypt()
            .key_id(&self.key_id)
            .encryption_context("account", place.tenant.account())
            .encryption_context("project", place.tenant.project())
            .encryption_context("name", place.name)
            .plaintext(Blob::new(secret.expose()))
            .send()
            .await;
        let answer = response.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        let sealed = answer
            .ciphertext_blob()
            .ok_or_else(|| Error::internal("KMS gave no ciphertext"))?;
        Ok(BASE64.encode(sealed))
    }

    async fn open(&self, place: Place<'_>, sealed: &str) -> Result<Secret> {
        let sealed = BASE64.decode(sealed).map_err(Error::internal)?;
        let response = self
            .client
            .decrypt()
            .key_id(&self.key_id)
            .encryption_context("account", place.tenant.account())
            .encryption_context("project", place.tenant.project())
            .encryption_context("name", place.name)
            .ciphertext_blob(Blob::new(sealed))
            .send()
            .await;
        let answer = response.map_err(|error| match &error {
            SdkError::ServiceError(refused) if never_opens(refused.err()) => {
                Error::internal(DisplayErrorContext(error).to_string())
            }
            _ => Error::unavailable(DisplayErrorContext(error).to_string()),
        })?;
        let opened = answer
            .plaintext
            .ok_or_else(|| Error::internal("KMS gave no plaintext"))?;
        let text = String::from_utf8(opened.into_inner())
            .map_err(|_| Error::internal("what was sealed is not a text"))?;
        Ok(Secret::new(text))
    }
}

/// Whether no retry can help: another key, another place, or changed bytes.
fn never_opens(error: &DecryptError) -> bool {
    error.is_invalid_ciphertext_exception() || error.is_incorrect_key_exception()
}
