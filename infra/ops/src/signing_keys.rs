//! Prints the public halves of a signing key and of those that it replaced.

use platform::signing::{SigningKey, fingerprint, public_key_pem};
use platform::{Result, UtcTime};
use serde::Serialize;

#[derive(Serialize)]
pub struct SigningKeys {
    /// PEM of the current key.
    public_key: String,
    /// Current key, then those that it replaced, latest first.
    pub keys: Vec<KeyOutput>,
}

#[derive(Serialize)]
pub struct KeyOutput {
    /// SHA-256 of the DER, in hexadecimal, as in the `kid` of a signature.
    pub fingerprint: String,
    public_key: String,
    /// None for the current key, and for a key of KMS.
    pub replaced_at: Option<UtcTime>,
}

impl SigningKeys {
    pub async fn read(key: &dyn SigningKey) -> Result<Self> {
        let current = key.public_key().await?;
        let mut keys = vec![key_output(&current, None)];
        for earlier in key.earlier_keys().await? {
            // A rotation that died left the current key among the earlier ones.
            if earlier.public_key != current {
                keys.push(key_output(&earlier.public_key, earlier.replaced_at));
            }
        }
        Ok(Self {
            public_key: public_key_pem(&current),
            keys,
        })
    }

    /// Returns a block of PEM for each key.
    pub fn pem(&self) -> String {
        self.keys.iter().map(|key| key.public_key.as_str()).collect()
    }
}

fn key_output(public_key: &[u8], replaced_at: Option<UtcTime>) -> KeyOutput {
    KeyOutput {
        fingerprint: fingerprint(public_key),
        public_key: public_key_pem(public_key),
        replaced_at,
    }
}
