//! Defines the roles of a run's service identity.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::permission::Role;

/// Role of the service identity that a delivery runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunAsRole {
    /// Executor that also writes data stores and prompt templates.
    Automation,
    /// Reader that also uses workflow runs.
    Executor,
    /// Reads prompt templates, data stores, subscriptions and deliveries.
    Reader,
}

impl RunAsRole {
    pub const ALL: [Self; 3] = [Self::Automation, Self::Executor, Self::Reader];

    /// Returns the role with the same permissions.
    pub const fn role(self) -> Role {
        match self {
            Self::Automation => Role::Automation,
            Self::Executor => Role::Executor,
            Self::Reader => Role::Reader,
        }
    }
}

impl fmt::Display for RunAsRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.role().as_str())
    }
}

impl FromStr for RunAsRole {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|role| role.role().as_str() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(|role| role.to_string());
            format!("The role is one of {}.", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back_and_others_are_refused() {
        for role in RunAsRole::ALL {
            assert_eq!(role.to_string().parse(), Ok(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.to_string());
        }
        let refusal = "developer".parse::<RunAsRole>().unwrap_err();
        assert_eq!(refusal, "The role is one of automation, executor, reader.");
    }
}
