//! Which templates a query takes.

use platform::http::{List, strict};
use platform::records::prompts::{PromptRecord, PromptStatus};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

/// A search over templates; what is left out takes everything.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct PromptSearchQuery {
    /// Part of the name, without regard to case.
    pub name: Option<String>,
    /// The role, exactly.
    pub role: Option<String>,
    /// Any of these tags.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub tags: List,
    /// The status.
    #[serde(default, deserialize_with = "strict::optional_name")]
    pub status: Option<PromptStatus>,
    /// Most templates to answer with; all where it is left out.
    pub limit: Option<usize>,
    /// Templates to skip; 0 where it is left out.
    pub offset: Option<usize>,
}

impl PromptSearchQuery {
    /// Refuses a limit that asks for nothing.
    pub fn check(&self) -> Result<()> {
        match self.limit {
            Some(0) => Err(Error::invalid("The field 'limit' must be at least 1.")),
            _ => Ok(()),
        }
    }

    /// What the query takes of `prompts`, in their order.
    pub fn search(&self, prompts: Vec<PromptRecord>) -> Vec<PromptRecord> {
        let name = self.name.as_ref().map(|name| name.to_lowercase());
        let takes = |prompt: &PromptRecord| {
            name.as_ref()
                .is_none_or(|name| prompt.name.to_lowercase().contains(name))
                && self.role.as_ref().is_none_or(|role| prompt.role == *role)
                && (self.tags.0.is_empty() || self.tags.0.iter().any(|tag| prompt.tags.contains(tag)))
                && self.status.is_none_or(|status| prompt.status == status)
        };
        let found = prompts.into_iter().filter(takes);
        found
            .skip(self.offset.unwrap_or(0))
            .take(self.limit.unwrap_or(usize::MAX))
            .collect()
    }
}
