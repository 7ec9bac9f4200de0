//! Makes the secrets of a data directory.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use platform::config::{ConfigError, Secret};
use rand::Rng as _;

use crate::data_dir::{DataDir, read_or_make};

/// Reads a secret of this directory, or makes it on first use.
pub(crate) fn secret(data: &DataDir, name: &str) -> Result<String, ConfigError> {
    let path = data.path("keys").join(name);
    let secret = read_or_make(&path, || Ok(random_secret().expose().as_bytes().to_vec()))?;
    String::from_utf8(secret)
        .map_err(|_| ConfigError::new(format!("{} is not a key; remove it.", path.display())))
}

/// Reads the secret that the queues of this directory's runner require.
pub(crate) fn queue_secret(data: &DataDir) -> Result<Secret, ConfigError> {
    secret(data, "services").map(Secret::new)
}

/// Makes a secret of letters, digits, `-` and `_`.
pub(crate) fn random_secret() -> Secret {
    let mut random = [0_u8; 24];
    rand::rng().fill_bytes(&mut random);
    Secret::new(URL_SAFE_NO_PAD.encode(random))
}
