//! Who calls, and what they may do: tokens and keys become a [`Principal`], roles become permissions.

pub mod api_key;
pub mod jwks;
pub mod permission;
pub mod principal;
pub mod token;
mod verified;

pub use permission::{Permission, Required, Role};
pub use principal::{Principal, PrincipalKind};
pub use token::{Claims, Verifier, VerifierConfig};
