//! Checks the work of tasks, by type.

use super::Checker;
use super::reader::Fields;
use crate::definition::{Case, Catch, ErrorFilter, Fork, Loop, RunProcess, Try, Work};
use crate::fault::Place;
use crate::source::Tree;

/// Fields of an error that a `catch` can filter by.
const ERROR_FIELDS: [&str; 5] = ["type", "status", "title", "detail", "instance"];

impl Checker {
    /// Reads the part of a task that its type names. None after a fault.
    pub(super) fn work(
        &mut self,
        kind: &'static str,
        fields: &mut Fields<'_>,
        names: &[&str],
    ) -> Option<Work> {
        let (at, tree) = self.required(fields, kind)?;
        match kind {
            "call" => self.call(&at, tree, fields),
            "do" => self.tasks(&at, tree).map(Work::Do),
            "emit" => self.emit(&at, tree).map(Work::Emit),
            "for" => self.repeat(&at, tree, fields),
            "fork" => self.fork(&at, tree),
            "listen" => self.listen(&at, tree, fields),
            "raise" => self.raise(&at, tree),
            "run" => self.run(&at, tree),
            "set" => self.object_template(&at, tree).map(Work::Set),
            "switch" => self.switch(&at, tree, names),
            "try" => self.attempt(&at, tree, fields),
            _ => self.span(&at, tree).map(Work::Wait),
        }
    }

    fn repeat(&mut self, at: &Place, tree: &Tree, task: &mut Fields<'_>) -> Option<Work> {
        let mut fields = self.fields(at, tree, "'for'")?;
        let each = self.variable(fields.take("each"), "item");
        let index = self.variable(fields.take("at"), "index");
        if each == index {
            self.report(
                at,
                format!("The item and its index are both '${each}'; rename one."),
            );
        }
        let items = self.required(&mut fields, "in");
        let items = items.and_then(|(at, tree)| self.expression(&at, tree));
        self.done(&fields, "'for'");
        let condition = task.take("while");
        let tasks = self.required(task, "do");
        let (condition, tasks) = self.with_variables(&[&each, &index], |checker| {
            let condition = checker.optional_expression(condition);
            (condition, tasks.and_then(|(at, tree)| checker.tasks(&at, tree)))
        });
        Some(Work::For(Loop {
            each,
            at: index,
            items: items?,
            condition,
            tasks: tasks?,
        }))
    }

    fn fork(&mut self, at: &Place, tree: &Tree) -> Option<Work> {
        let mut fields = self.fields(at, tree, "'fork'")?;
        let branches = self.required(&mut fields, "branches");
        let branches = branches.and_then(|(at, tree)| self.branches(&at, tree));
        let compete = self.boolean(fields.take("compete"), false);
        self.done(&fields, "'fork'");
        Some(Work::Fork(Fork {
            branches: branches?,
            compete,
        }))
    }

    fn switch(&mut self, at: &Place, tree: &Tree, names: &[&str]) -> Option<Work> {
        let items = self.list(at, tree)?;
        if items.is_empty() {
            return self.refuse(at, "The switch has no cases; add one.");
        }
        let (mut cases, mut default) = (Vec::new(), None);
        for (index, item) in items.iter().enumerate() {
            let Some((name, at, case)) = self.named(&at.item(index), item, "a case") else {
                continue;
            };
            let Some(mut fields) = self.fields(&at, case, "a case") else {
                continue;
            };
            let when = fields.take("when");
            if when.is_none() {
                match default {
                    None => default = Some(name),
                    Some(first) => self.report(
                        &at,
                        format!(
                            "The switch has two default cases, '{first}' and '{name}'; give one a 'when'."
                        ),
                    ),
                }
            }
            let when = self.optional_expression(when);
            let then = self.required(&mut fields, "then");
            let then = self.then(then, names);
            self.done(&fields, "a case");
            cases.push(Case {
                name: name.to_owned(),
                when,
                then,
            });
        }
        Some(Work::Switch(cases))
    }

    fn attempt(&mut self, at: &Place, tree: &Tree, task: &mut Fields<'_>) -> Option<Work> {
        let tasks = self.tasks(at, tree);
        let (at, tree) = self.required(task, "catch")?;
        let mut fields = self.fields(&at, tree, "'catch'")?;
        let errors = fields.take("errors");
        let errors = errors.map_or(Some(ErrorFilter::default()), |(at, tree)| {
            self.error_filter(&at, tree)
        });
        let variable = self.variable(fields.take("as"), "error");
        let (when, except_when) = (fields.take("when"), fields.take("exceptWhen"));
        let (retry, handler) = (fields.take("retry"), fields.take("do"));
        self.done(&fields, "'catch'");
        let has_handler = handler.is_some();
        let catch = self.with_variables(&[&variable.clone()], |checker| {
            let handler = handler.and_then(|(at, tree)| checker.tasks(&at, tree));
            if has_handler && handler.is_none() {
                return None;
            }
            Some(Catch {
                errors: errors?,
                variable,
                when: checker.optional_expression(when),
                except_when: checker.optional_expression(except_when),
                retry: retry.and_then(|(at, tree)| checker.retry(&at, tree)),
                tasks: handler,
            })
        });
        Some(Work::Try(Box::new(Try {
            tasks: tasks?,
            catch: catch?,
        })))
    }

    fn error_filter(&mut self, at: &Place, tree: &Tree) -> Option<ErrorFilter> {
        let mut fields = self.fields(at, tree, "'errors'")?;
        let with = fields.take("with");
        self.done(&fields, "'errors'");
        let Some((at, tree)) = with else {
            return Some(ErrorFilter::default());
        };
        let mut fields = self.fields(&at, tree, "'with'")?;
        let mut wanted = Vec::new();
        for name in ERROR_FIELDS {
            let template = fields.take(name).and_then(|(at, tree)| match (name, tree) {
                // An error without this field.
                (_, Tree::Null) => self.template(&at, tree),
                ("status", _) => self.status(&at, tree),
                _ => self.text_template(&at, tree),
            });
            wanted.extend(template.map(|template| (name.to_owned(), template)));
        }
        self.done(&fields, "an error");
        Some(ErrorFilter { with: wanted })
    }

    fn raise(&mut self, at: &Place, tree: &Tree) -> Option<Work> {
        let mut fields = self.fields(at, tree, "'raise'")?;
        let error = self.required(&mut fields, "error");
        let error = error.and_then(|(at, tree)| self.error(&at, tree));
        self.done(&fields, "'raise'");
        error.map(Work::Raise)
    }

    fn run(&mut self, at: &Place, tree: &Tree) -> Option<Work> {
        let mut fields = self.fields(at, tree, "'run'")?;
        for kind in ["container", "script", "shell"] {
            if fields.has(kind) {
                return self.refuse(
                    &at.field(kind),
                    format!("A process runs no {kind} here; use 'run: workflow' or a call."),
                );
            }
        }
        let wait = self.boolean(fields.take("await"), true);
        let returns = fields
            .take("return")
            .map(|(at, tree)| match self.text(&at, tree) {
                Some("none") => false,
                None | Some("stdout") => true,
                Some(other) => {
                    let message = format!(
                        "A process that runs another has no '{other}' to return; use stdout or none."
                    );
                    self.report(&at, message);
                    true
                }
            });
        let process = self.required(&mut fields, "workflow");
        self.done(&fields, "'run'");
        let (at, tree) = process?;
        let mut fields = self.fields(&at, tree, "'workflow'")?;
        let mut label = |checker: &mut Self, name| {
            let (at, tree) = checker.required(&mut fields, name)?;
            checker.label(&at, tree)
        };
        let (namespace, name) = (label(self, "namespace"), label(self, "name"));
        let version = match fields.take("version") {
            None => Some("latest".to_owned()),
            Some((_, Tree::Text(text))) if text == "latest" => Some("latest".to_owned()),
            Some((at, tree)) => self.version(&at, tree),
        };
        let input = self.optional_template(fields.take("input"));
        self.done(&fields, "'workflow'");
        Some(Work::Run(RunProcess {
            namespace: namespace?,
            name: name?,
            version: version?,
            input,
            wait,
            returns: returns.unwrap_or(true),
        }))
    }
}
