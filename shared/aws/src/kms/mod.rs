//! Seals and signs with keys of KMS.

mod sealing;
mod signing;

pub use sealing::KmsSealer;
pub use signing::KmsSigningKey;
