//! Checks tasks: their lists, and the fields that all types share.

use super::Checker;
use super::reader::Fields;
use crate::definition::{Task, Then};
use crate::fault::Place;
use crate::limits::{MAX_TASK_LEVELS, MAX_TASKS};
use crate::source::Tree;

/// Task types, each named by its required field.
pub(super) const TYPES: [&str; 12] = [
    "call", "do", "emit", "for", "fork", "listen", "raise", "run", "set", "switch", "try", "wait",
];
/// Fields of every task.
const COMMON: [&str; 7] = ["if", "input", "output", "export", "timeout", "then", "metadata"];
/// Texts of `then` with a special meaning.
const DIRECTIVES: [(&str, Then); 3] = [
    ("continue", Then::Continue),
    ("exit", Then::Exit),
    ("end", Then::End),
];

impl Checker {
    /// Reads a list of tasks. None if one of them has a fault.
    pub(super) fn tasks(&mut self, at: &Place, tree: &Tree) -> Option<Vec<Task>> {
        let names = self.task_names(at, tree)?;
        let tasks = self.each_task(at, tree, &names)?;
        self.jumps(at, &tasks);
        Some(tasks)
    }

    /// Reads the branches of a fork, which cannot jump to each other.
    pub(super) fn branches(&mut self, at: &Place, tree: &Tree) -> Option<Vec<Task>> {
        if self.task_names(at, tree)?.is_empty() {
            return self.refuse(at, "The fork has no branches; add one.");
        }
        self.each_task(at, tree, &[])
    }

    fn each_task(&mut self, at: &Place, tree: &Tree, names: &[&str]) -> Option<Vec<Task>> {
        if self.levels >= MAX_TASK_LEVELS {
            return self.refuse(at, format!("Tasks nest deeper than {MAX_TASK_LEVELS} levels."));
        }
        self.levels += 1;
        let mut tasks = Vec::new();
        for (index, item) in self.list(at, tree).unwrap_or_default().iter().enumerate() {
            // The fault of the name has been reported.
            let Tree::Object(entries) = item else { continue };
            if let [(name, task)] = entries.as_slice() {
                tasks.push(self.task(name, &at.item(index).field(name), task, names));
            }
        }
        self.levels -= 1;
        tasks.into_iter().collect()
    }

    /// Returns the names of the tasks of a list, in order.
    fn task_names<'t>(&mut self, at: &Place, tree: &'t Tree) -> Option<Vec<&'t str>> {
        let items = self.list(at, tree)?;
        let mut names: Vec<&str> = Vec::with_capacity(items.len());
        let mut seen = std::collections::HashSet::new();
        for (index, item) in items.iter().enumerate() {
            let Some((name, place, _)) = self.named(&at.item(index), item, "a task") else {
                // Keeps the positions of the others.
                names.push("");
                continue;
            };
            if name.trim().is_empty() {
                self.report(&place, "The name of the task is empty.");
            } else if DIRECTIVES.iter().any(|(directive, _)| *directive == name) {
                self.report(
                    &place,
                    format!("A task cannot have the name '{name}', which 'then' uses for itself."),
                );
            } else if !seen.insert(name) {
                self.report(&place, format!("The list has two tasks '{name}'; rename one."));
            }
            names.push(name);
        }
        Some(names)
    }

    /// Reads one task; `names` are the possible targets of its `then`.
    pub(super) fn task(&mut self, name: &str, at: &Place, tree: &Tree, names: &[&str]) -> Option<Task> {
        self.tasks += 1;
        if self.tasks > MAX_TASKS {
            if self.tasks == MAX_TASKS + 1 {
                self.report(at, format!("The definition has more than {MAX_TASKS} tasks."));
            }
            return None;
        }
        let mut fields = self.fields(at, tree, "a task")?;
        let condition = self.optional_expression(fields.take("if"));
        let input = self.transform(fields.take("input"), "from");
        let output = self.transform(fields.take("output"), "as");
        let export = self.transform(fields.take("export"), "as");
        let timeout = self.timeout(fields.take("timeout"));
        let then = self.then(fields.take("then"), names);
        let metadata = fields.take("metadata");
        if let Some((at, tree)) = &metadata {
            self.fields(at, tree, "'metadata'");
        }
        let metadata = metadata.map(|(_, tree)| tree.clone().into());
        let work = match self.task_type(&fields) {
            Some(kind) => self.work(kind, &mut fields, names),
            None => return None,
        };
        self.done(&fields, "such a task");
        Some(Task {
            name: name.to_owned(),
            pointer: at.pointer().to_owned(),
            condition,
            input: input?,
            output: output?,
            export: export?,
            timeout,
            then,
            metadata,
            source: tree.clone().into(),
            work: work?,
        })
    }

    fn task_type(&mut self, fields: &Fields<'_>) -> Option<&'static str> {
        // `for` has its own `do`.
        let is_loop = fields.has("for");
        let mut found = TYPES
            .into_iter()
            .filter(|kind| fields.has(kind) && !(is_loop && *kind == "do"));
        match (found.next(), found.next()) {
            (Some(kind), None) => Some(kind),
            (Some(one), Some(other)) => self.refuse(
                &fields.at,
                format!("The task has two types, '{one}' and '{other}'; make two tasks of it."),
            ),
            (None, _) => {
                let unknown = fields.names().find(|name| !COMMON.contains(name));
                let known = TYPES.join(", ");
                let message = match unknown {
                    Some(name) => format!("Unknown task type '{name}'; known are: {known}."),
                    None => format!("The task has no type; known are: {known}."),
                };
                self.refuse(&fields.at, message)
            }
        }
    }

    /// Reads `then` of a task or of a case.
    pub(super) fn then(&mut self, taken: Option<(Place, &Tree)>, names: &[&str]) -> Then {
        let Some((at, tree)) = taken else {
            return Then::Continue;
        };
        let Some(name) = self.text(&at, tree) else {
            return Then::Continue;
        };
        let directive = DIRECTIVES.iter().find(|(directive, _)| *directive == name);
        if let Some((_, then)) = directive {
            return *then;
        }
        match names.iter().position(|other| *other == name) {
            Some(index) => Then::Task(index),
            None => {
                let message = format!(
                    "The list has no task '{name}' to go to; 'then' names a task of the same list, \
                     or is continue, exit or end."
                );
                self.report(&at, message);
                Then::Continue
            }
        }
    }
}
