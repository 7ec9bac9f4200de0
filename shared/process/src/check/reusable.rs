//! Checks `use`, the parts that tasks refer to by name.

use std::collections::{BTreeMap, BTreeSet};

use super::Checker;
use crate::definition::Task;
use crate::fault::Place;
use crate::source::Tree;

impl Checker {
    /// Reads the parts in the order of their references. Returns the functions.
    pub(super) fn reusable(&mut self, at: &Place, tree: &Tree) -> Option<BTreeMap<String, Task>> {
        let mut fields = self.fields(at, tree, "'use'")?;
        if let Some((at, tree)) = fields.take("secrets") {
            self.secrets(&at, tree);
        }
        for (name, at, tree) in self.entries(fields.take("authentications")) {
            let authentication = self.authentication_object(&at, tree);
            self.authentications.insert(name, authentication);
        }
        for (name, at, tree) in self.entries(fields.take("errors")) {
            let error = self.error_object(&at, tree);
            self.errors.insert(name, error);
        }
        for (name, at, tree) in self.entries(fields.take("retries")) {
            let retry = self.retry_object(&at, tree);
            self.retries.insert(name, retry);
        }
        for (name, at, tree) in self.entries(fields.take("timeouts")) {
            let timeout = self.timeout_object(&at, tree);
            self.timeouts.insert(name, timeout);
        }
        if let Some((at, _)) = fields.take("extensions") {
            self.report(
                &at,
                "Extensions are not carried out here; put their tasks into 'do'.",
            );
        }
        if let Some((at, _)) = fields.take("catalogs") {
            self.report(
                &at,
                "Functions are not fetched from catalogs; define them in 'use.functions'.",
            );
        }
        let functions = self.entries(fields.take("functions"));
        self.done(&fields, "'use'");
        self.functions = functions.iter().map(|(name, ..)| name.clone()).collect();
        let mut read = BTreeMap::new();
        let mut calls = BTreeMap::new();
        for (name, at, tree) in functions {
            let task = self.task(&name, &at, tree, &[]);
            calls.insert(name.clone(), std::mem::take(&mut self.calls));
            if let Some(task) = task {
                read.insert(name, task);
            }
        }
        self.recursion(&calls);
        Some(read)
    }

    fn secrets(&mut self, at: &Place, tree: &Tree) {
        for (index, secret) in self.list(at, tree).unwrap_or_default().iter().enumerate() {
            let at = at.item(index);
            match self.text(&at, secret) {
                Some("") => self.report(&at, "The name of a secret is empty."),
                Some(name) if self.secrets.iter().any(|other| other == name) => {
                    self.report(&at, format!("The secret '{name}' is listed twice; remove one."));
                }
                Some(name) => self.secrets.push(name.to_owned()),
                None => {}
            }
        }
    }

    fn entries<'t>(&mut self, taken: Option<(Place, &'t Tree)>) -> Vec<(String, Place, &'t Tree)> {
        match taken {
            None => Vec::new(),
            Some((at, Tree::Object(entries))) => {
                let entries = entries.iter();
                entries
                    .map(|(name, tree)| (name.clone(), at.field(name), tree))
                    .collect()
            }
            Some((at, other)) => {
                self.report(
                    &at,
                    format!(
                        "Expected an object with a field for each name, found {}.",
                        other.kind()
                    ),
                );
                Vec::new()
            }
        }
    }

    /// Refuses functions that call themselves, because they would never end.
    fn recursion(&mut self, calls: &BTreeMap<String, Vec<(String, Place)>>) {
        let none = Vec::new();
        for (name, called) in calls {
            for (first, at) in called {
                let (mut open, mut seen) = (vec![first], BTreeSet::new());
                while let Some(next) = open.pop() {
                    if seen.insert(next) {
                        let further = calls.get(next).unwrap_or(&none);
                        open.extend(further.iter().map(|(further, _)| further));
                    }
                }
                if seen.contains(name) {
                    self.report(
                        at,
                        format!(
                            "The function '{name}' calls itself by way of '{first}', and would never end."
                        ),
                    );
                }
            }
        }
    }
}
