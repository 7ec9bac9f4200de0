//! Signs with a key of KMS.

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_kms::Client;
use aws_sdk_kms::error::DisplayErrorContext;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::{MessageType, SigningAlgorithmSpec};
use platform::signing::{EarlierKey, SigningKey};
use platform::{Error, Result};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

/// An asymmetric KMS key. The private key never leaves KMS.
pub struct KmsSigningKey {
    client: Client,
    current: KmsKey,
    earlier: Vec<KmsKey>,
}

/// A key of KMS, whose public half is read once: with another key, KMS needs another process.
struct KmsKey {
    /// Id, ARN or alias.
    id: String,
    public_key: OnceCell<Vec<u8>>,
}

impl KmsSigningKey {
    /// `key_ids` are ids, ARNs or aliases, comma-joined: of the key that signs, then of those that it
    /// replaced, latest first.
    pub fn connect(sdk: &SdkConfig, key_ids: &str) -> Self {
        let mut keys = key_ids.split(',').map(|id| KmsKey::new(id.trim()));
        Self {
            client: Client::new(sdk),
            current: keys.next().unwrap_or_else(|| KmsKey::new("")),
            earlier: keys.collect(),
        }
    }
}

impl KmsKey {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            public_key: OnceCell::new(),
        }
    }

    /// 503 if KMS does not answer, or refuses; the next use tries again.
    async fn public_key(&self, client: &Client) -> Result<&Vec<u8>> {
        let read = || async {
            let response = client.get_public_key().key_id(&self.id).send().await;
            let answer =
                response.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
            let key = answer
                .public_key
                .ok_or_else(|| Error::internal("KMS gave no public key"))?;
            Ok(key.into_inner())
        };
        self.public_key.get_or_try_init(read).await
    }
}

#[async_trait]
impl SigningKey for KmsSigningKey {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let response = self
            .client
            .sign()
            .key_id(&self.current.id)
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
        self.current.public_key(&self.client).await.cloned()
    }

    async fn earlier_keys(&self) -> Result<Vec<EarlierKey>> {
        let mut keys = Vec::new();
        for key in &self.earlier {
            keys.push(EarlierKey {
                public_key: key.public_key(&self.client).await?.clone(),
                replaced_at: None,
            });
        }
        Ok(keys)
    }
}
