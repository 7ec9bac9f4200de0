//! Authenticates and authorises callers: tokens and keys become a [`Principal`], roles become permissions.

pub mod api_key;
mod claims;
pub mod jwks;
pub mod permission;
pub mod principal;
mod run_as_role;
mod run_principal;
pub mod service;
pub mod token;
mod verified;
mod viewer;

pub use claims::{Audience, Claims};
pub use permission::{Permission, Required, Role};
pub use principal::{Principal, PrincipalKind};
pub use run_as_role::RunAsRole;
pub use run_principal::RunPrincipal;
pub use token::{Verifier, VerifierConfig};
pub use viewer::Viewer;
