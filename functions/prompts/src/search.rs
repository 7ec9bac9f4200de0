//! Selects the templates that a query matches.

use platform::http::{List, strict};
use platform::{Error, Result};
use prompts::records::prompts::{PromptRecord, PromptStatus};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which prompt templates a search takes: those that match every given field.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct PromptSearchQuery {
    /// Part of the name, in upper or lower case.
    pub name: Option<String>,
    /// The whole role, case-sensitive.
    pub role: Option<String>,
    /// Tags of which a template has at least one.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub tags: List,
    /// Status of the current version.
    #[serde(default, deserialize_with = "strict::optional_name")]
    pub status: Option<PromptStatus>,
    /// Most templates to take, at least 1. Default: all.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Number of templates to skip. Default: 0.
    pub offset: Option<usize>,
}

impl PromptSearchQuery {
    /// Refuses a limit of zero.
    pub fn check(&self) -> Result<()> {
        match self.limit {
            Some(0) => Err(Error::invalid_field("limit", "must be at least 1.")),
            _ => Ok(()),
        }
    }

    /// True if the query filters by a property of templates.
    pub fn has_filter(&self) -> bool {
        self.name.is_some() || self.role.is_some() || self.status.is_some() || !self.tags.0.is_empty()
    }

    /// True if the query limits the range of the list.
    pub fn has_window(&self) -> bool {
        self.limit.is_some() || self.offset.is_some()
    }

    /// Returns the templates that the query selects, in their order.
    pub fn search(&self, prompts: Vec<PromptRecord>) -> Vec<PromptRecord> {
        let mut search = self.start();
        prompts
            .into_iter()
            .filter(|prompt| search.verdict(prompt) == Verdict::Take)
            .collect()
    }

    /// Starts a search at the beginning of the list.
    pub fn start(&self) -> Search<'_> {
        Search {
            query: self,
            name: self.name.as_ref().map(|name| name.to_lowercase()),
            to_skip: self.offset.unwrap_or(0),
            to_take: self.limit.unwrap_or(usize::MAX),
        }
    }
}

/// Decision about one template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Take,
    PassOver,
    /// Neither this template nor any later one belongs to the result.
    Done,
}

/// Search that takes one template after the other.
pub struct Search<'a> {
    query: &'a PromptSearchQuery,
    /// In lower case.
    name: Option<String>,
    to_skip: usize,
    to_take: usize,
}

impl Search<'_> {
    /// Decides about the next template of the list.
    pub fn verdict(&mut self, prompt: &PromptRecord) -> Verdict {
        if self.to_take == 0 {
            return Verdict::Done;
        }
        if !self.matches(prompt) {
            return Verdict::PassOver;
        }
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return Verdict::PassOver;
        }
        self.to_take -= 1;
        Verdict::Take
    }

    fn matches(&self, prompt: &PromptRecord) -> bool {
        let query = self.query;
        self.name
            .as_ref()
            .is_none_or(|name| prompt.name.to_lowercase().contains(name))
            && query.role.as_ref().is_none_or(|role| prompt.role == *role)
            && (query.tags.0.is_empty() || query.tags.0.iter().any(|tag| prompt.tags.contains(tag)))
            && query.status.is_none_or(|status| prompt.status == status)
    }
}
