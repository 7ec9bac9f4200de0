//! Holds a tenant's data: one record of every kind, with the tenant's mark in all its names and values.

use std::collections::BTreeMap;

use tests::Scope;

/// Values that the callers know anyway.
const KNOWN: [&str; 5] = ["account", "project", "namesake", "namesake_workflow", "signature"];

#[derive(Clone)]
pub struct Household {
    pub scope: Scope,
    /// Text in every name and value.
    pub mark: String,
    values: BTreeMap<String, String>,
}

impl Household {
    pub fn new(scope: Scope, mark: String) -> Self {
        let mut household = Self {
            values: BTreeMap::new(),
            scope,
            mark,
        };
        household.keep("account", &household.scope.account.clone());
        household.keep("project", &household.scope.project.clone());
        household
    }

    /// Keeps a value under its name in the tables.
    #[track_caller]
    pub fn keep(&mut self, name: &str, value: &str) {
        assert!(!value.is_empty(), "the {name} is missing");
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// Returns a value by its name in the tables.
    #[track_caller]
    pub fn value(&self, name: &str) -> String {
        match self.values.get(name) {
            Some(value) => value.clone(),
            None => panic!("a household has no '{name}'"),
        }
    }

    /// Returns the user as records name it.
    pub fn reference(&self) -> String {
        format!("user:{}", self.value("user"))
    }

    /// Returns the values that no other tenant may see, in lower case.
    pub fn secrets(&self) -> Vec<String> {
        let values = self
            .values
            .iter()
            .filter(|(name, _)| !KNOWN.contains(&name.as_str()));
        let values = values.map(|(_, value)| value.to_lowercase());
        values.chain([self.mark.to_lowercase()]).collect()
    }
}
