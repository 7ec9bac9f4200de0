//! Signs with a key of KMS.

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_kms::Client;
use aws_sdk_kms::error::DisplayErrorContext;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::{MessageType, SigningAlgorithmSpec};
use platform::signing::SigningKey;
use platform::{Error, Result};
use sha2::{Digest as _, Sha256};

/// An asymmetric KMS key. The private key never leaves KMS.
pub struct KmsSigningKey {
    client: Client,
    key_id: String,
}

impl KmsSigningKey {
    /// `key_id` is an id, ARN or alias.
    pub fn connect(sdk: &SdkConfig, key_id: String) -> Self {
        Self {
            client: Client::new(sdk),
            key_id,
        }
    }
}

#[async_trait]
impl SigningKey for KmsSigningKey {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let response = self
            .client
            .sign()
            .key_id(&self.key_id)
            .message(Blob::new(Sha256::digest(message).to_vec()))
            .message_type(MessageType::Digest)
            .signing_algorithm(SigningAlgorithmSpec::RsassaPkcs1V15Sha256)
            .send()
            .await;
        let answer = response.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        let signature = answer
            .signature
            .ok_or_else(|| Error::internal("KMS gave no signature"))?;
        Ok(signature.into_inner())
    }

    async fn public_key(&self) -> Result<Vec<u8>> {
        let response = self.client.get_public_key().key_id(&self.key_id).send().await;
        let answer = response.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        let key = answer
            .public_key
            .ok_or_else(|| Error::internal("KMS gave no public key"))?;
        Ok(key.into_inner())
    }
}
