//! The twin of the KMS key that signs service tokens: an RSA key of the data directory.

use std::sync::Arc;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use platform::auth::service::ServiceKey;
use platform::config::ConfigError;
use platform::queue::BoxFuture;
use platform::{Error, Result};

use crate::data_dir::{DataDir, read_or_make};

/// Signs with the key in `keys/service-signing.pkcs8` of a data directory.
#[derive(Clone)]
pub struct LocalServiceKey(Arc<KeyPair>);

impl LocalServiceKey {
    /// Reads the directory's key, and makes one where it has none.
    pub fn open(data: &DataDir) -> Result<Self, ConfigError> {
        let path = data.path("keys/service-signing.pkcs8");
        let der = read_or_make(&path, || {
            let made =
                KeyPair::generate(KeySize::Rsa2048).and_then(|key| AsDer::<Pkcs8V1Der<'_>>::as_der(&key));
            made.map(|der| der.as_ref().to_vec())
                .map_err(|_| ConfigError::new("The machine gave no random numbers for a key."))
        })?;
        let key = KeyPair::from_pkcs8(&der).map_err(|_| {
            ConfigError::new(format!(
                "{} is not a key. Remove it, and a new one is made.",
                path.display()
            ))
        })?;
        Ok(Self(Arc::new(key)))
    }
}

impl ServiceKey for LocalServiceKey {
    fn sign<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            let mut signature = vec![0; self.0.public_modulus_len()];
            self.0
                .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
                .map_err(Error::internal)?;
            Ok(signature)
        })
    }

    fn public_key(&self) -> BoxFuture<'_, Result<Vec<u8>>> {
        Box::pin(async move {
            let der = AsDer::<PublicKeyX509Der<'_>>::as_der(self.0.public_key()).map_err(Error::internal)?;
            Ok(der.as_ref().to_vec())
        })
    }
}
