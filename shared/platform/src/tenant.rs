//! Identifies the owner of data: an account and one of its projects. Every record key starts with it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// An account and one of its projects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Tenant {
    account: String,
    project: String,
}

/// A tenant as it is read, with ids that may break a key.
#[derive(Deserialize)]
struct Unchecked {
    account: String,
    project: String,
}

impl TryFrom<Unchecked> for Tenant {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Self> {
        Self::new(&read.account, &read.project)
    }
}

/// Maximum length of an account, project or user id, in bytes.
pub const MAX_TENANT_ID_LENGTH: usize = 128;

impl Tenant {
    /// Creates the tenant of an account's project. Ids are 1 to 128 of `[A-Za-z0-9._:@-]`, so they cannot
    /// contain the `#` and `/` that separate the parts of record keys and object keys.
    pub fn new(account: &str, project: &str) -> Result<Self> {
        check_id("account", account)?;
        check_id("project", project)?;
        Ok(Self {
            account: account.to_owned(),
            project: project.to_owned(),
        })
    }

    pub fn account(&self) -> &str {
        &self.account
    }

    pub fn project(&self) -> &str {
        &self.project
    }

    /// Returns the tenant of another project of the same account.
    pub fn with_project(&self, project: &str) -> Result<Self> {
        Self::new(&self.account, project)
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.account, self.project)
    }
}

/// Refuses an id that cannot be part of a key.
pub fn check_id(what: &str, id: &str) -> Result<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@-".contains(&byte);
    let dots_only = id.bytes().all(|byte| byte == b'.');
    if id.is_empty() || id.len() > MAX_TENANT_ID_LENGTH || dots_only || !id.bytes().all(allowed) {
        return Err(Error::invalid(format!(
            "The {what} id must be 1 to {MAX_TENANT_ID_LENGTH} letters, digits or any of '._:@-'."
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_would_break_a_key_are_refused() {
        assert!(Tenant::new("acme", "demo").is_ok());
        for id in ["", "a#b", "a/b", "..", ".", "a b", "ä", "a\0", &"x".repeat(129)] {
            assert!(Tenant::new(id, "demo").is_err(), "{id:?}");
            assert!(Tenant::new("acme", id).is_err(), "{id:?}");
            let read = serde_json::json!({ "account": "acme", "project": id });
            assert!(serde_json::from_value::<Tenant>(read).is_err(), "{id:?}");
        }
    }
}
