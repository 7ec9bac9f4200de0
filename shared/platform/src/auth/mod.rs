//! Describes callers: principals, their roles and permissions, and the trait that authenticates them.

mod authenticator;
pub mod permission;
pub mod principal;
mod run_as_role;
mod run_principal;
mod viewer;

pub use authenticator::Authenticator;
pub use permission::{Permission, Required, Role};
pub use principal::{Principal, PrincipalKind};
pub use run_as_role::RunAsRole;
pub use run_principal::RunPrincipal;
pub use viewer::Viewer;
