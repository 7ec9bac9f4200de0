//! Issues and verifies service tokens, with which workflow runs call the platform's API.
//!
//! The worker signs them with a key that only it may use, and the verifier of all other tokens checks them. A
//! service token names one run, its project and its one role, and expires after five minutes. It names its
//! key by `kid`: while tokens of a replaced key are valid, that key verifies, too.

mod claims;
mod tokens;
mod verify;

pub use tokens::ServiceTokens;
pub(crate) use verify::ServiceVerifier;
