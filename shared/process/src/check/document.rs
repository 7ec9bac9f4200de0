//! Checks the parts of a document other than its tasks.

use super::Checker;
use crate::definition::{Definition, Document, Span, Transform};
use crate::fault::Place;
use crate::source::Tree;

/// Maximum length of a name; the limit of the specification.
const MAX_NAME_CHARACTERS: usize = 63;

impl Checker {
    pub(super) fn definition(&mut self, tree: &Tree) -> Option<Definition> {
        let root = Place::default();
        let mut fields = self.fields(&root, tree, "the definition")?;
        let document = self
            .required(&mut fields, "document")
            .and_then(|(at, tree)| self.document(&at, tree));
        let reusable = fields.take("use");
        let functions =
            reusable.map_or_else(|| Some(Default::default()), |(at, tree)| self.reusable(&at, tree));
        let timeout = self.timeout(fields.take("timeout"));
        let input = self.transform(fields.take("input"), "from");
        let output = self.transform(fields.take("output"), "as");
        if let Some((at, tree)) = fields.take("evaluate") {
            self.evaluate(&at, tree);
        }
        if let Some((at, _)) = fields.take("schedule") {
            self.report(
                &at,
                "A process has no 'schedule' here: an event subscription starts it; remove the field.",
            );
        }
        if let Some((at, tree)) = fields.take("metadata") {
            self.fields(&at, tree, "'metadata'");
        }
        let tasks = self
            .required(&mut fields, "do")
            .and_then(|(at, tree)| self.tasks(&at, tree));
        self.done(&fields, "a definition");
        Some(Definition {
            document: document?,
            input: input?,
            output: output?,
            timeout,
            secrets: self.secrets.clone(),
            functions: functions?,
            tasks: tasks?,
            source: tree.clone().into(),
        })
    }

    fn document(&mut self, at: &Place, tree: &Tree) -> Option<Document> {
        let mut fields = self.fields(at, tree, "'document'")?;
        let dsl = self.required(&mut fields, "dsl").and_then(|(at, tree)| {
            let version = self.text(&at, tree)?;
            let core = version.split(['-', '+']).next().unwrap_or_default();
            let is_taken = is_semantic(version) && core.starts_with("1.0.") && !version.contains('-');
            if is_taken {
                return Some(version.to_owned());
            }
            self.refuse(
                &at,
                format!("The DSL has version '{version}'; versions 1.0.x are taken."),
            )
        });
        let namespace = self
            .required(&mut fields, "namespace")
            .and_then(|(at, tree)| self.label(&at, tree));
        let name = self
            .required(&mut fields, "name")
            .and_then(|(at, tree)| self.label(&at, tree));
        let version = self
            .required(&mut fields, "version")
            .and_then(|(at, tree)| self.version(&at, tree));
        let mut optional = |name| {
            let (at, tree) = fields.take(name)?;
            self.text(&at, tree).map(str::to_owned)
        };
        let (title, summary) = (optional("title"), optional("summary"));
        for name in ["tags", "metadata"] {
            if let Some((at, tree)) = fields.take(name) {
                self.fields(&at, tree, "the field");
            }
        }
        self.done(&fields, "'document'");
        Some(Document {
            dsl: dsl?,
            namespace: namespace?,
            name: name?,
            version: version?,
            title,
            summary,
        })
    }

    /// Reads a name that follows the rule of RFC 1123 labels.
    pub(super) fn label(&mut self, at: &Place, tree: &Tree) -> Option<String> {
        let name = self.text(at, tree)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty()
            || name.len() > MAX_NAME_CHARACTERS
            || !name.bytes().all(is_plain)
            || name.starts_with('-')
            || name.ends_with('-')
        {
            return self.refuse(
                at,
                format!(
                    "The name '{}' is none of 1 to {MAX_NAME_CHARACTERS} letters, digits and hyphens \
                     that begins and ends with a letter or digit.",
                    name.chars().take(100).collect::<String>()
                ),
            );
        }
        Some(name.to_owned())
    }

    pub(super) fn version(&mut self, at: &Place, tree: &Tree) -> Option<String> {
        let version = self.text(at, tree)?;
        if !is_semantic(version) {
            return self.refuse(
                at,
                format!("The version '{version}' is not a semantic version such as 1.0.0."),
            );
        }
        Some(version.to_owned())
    }

    fn evaluate(&mut self, at: &Place, tree: &Tree) {
        let Some(mut fields) = self.fields(at, tree, "'evaluate'") else {
            return;
        };
        if let Some((at, tree)) = fields.take("language") {
            match self.text(&at, tree) {
                None | Some("jq") => {}
                Some(language) => {
                    let message =
                        format!("Expressions in '{language}' are not evaluated here; write them in jq.");
                    self.report(&at, message);
                }
            }
        }
        if let Some((at, tree)) = fields.take("mode") {
            match self.text(&at, tree) {
                None | Some("strict") => {}
                Some(mode) => {
                    let message = format!(
                        "Expressions in the mode '{mode}' are not evaluated here; use strict, and put each in ${{ }}."
                    );
                    self.report(&at, message);
                }
            }
        }
        self.done(&fields, "'evaluate'");
    }

    /// Reads `timeout`: an object, or a name from `use.timeouts`.
    pub(super) fn timeout(&mut self, taken: Option<(Place, &Tree)>) -> Option<Span> {
        let (at, tree) = taken?;
        let Tree::Text(name) = tree else {
            return self.timeout_object(&at, tree);
        };
        match self.timeouts.get(name) {
            Some(timeout) => timeout.clone(),
            None => self.unknown_name(&at, "timeout", name, "timeouts"),
        }
    }

    pub(super) fn timeout_object(&mut self, at: &Place, tree: &Tree) -> Option<Span> {
        let mut fields = self.fields(at, tree, "a timeout")?;
        let after = self.required(&mut fields, "after");
        let after = after.and_then(|(at, tree)| self.span(&at, tree));
        self.done(&fields, "a timeout");
        after
    }

    /// Reads `input`, `output` or `export`. None after a fault; an empty transform if the field is missing.
    pub(super) fn transform(
        &mut self,
        taken: Option<(Place, &Tree)>,
        shape: &'static str,
    ) -> Option<Transform> {
        let Some((at, tree)) = taken else {
            return Some(Transform::default());
        };
        let mut fields = self.fields(&at, tree, "the field")?;
        let schema = fields.take("schema");
        let schema = schema.map(|(at, tree)| self.schema(&at, tree));
        let template = fields.take(shape);
        let template = template.map(|(at, tree)| self.shape(&at, tree));
        self.done(&fields, "the object");
        Some(Transform {
            schema: schema.unwrap_or(Some(None))?,
            template: template.map_or(Some(None), |template| template.map(Some))?,
        })
    }

    pub(super) fn unknown_name<T>(&mut self, at: &Place, what: &str, name: &str, list: &str) -> Option<T> {
        self.refuse(at, format!("Unknown {what} '{name}'; define it in 'use.{list}'."))
    }
}

/// Whether a version is `MAJOR.MINOR.PATCH` with optional pre-release and build.
fn is_semantic(version: &str) -> bool {
    let (version, build) = version
        .split_once('+')
        .map_or((version, None), |(version, build)| (version, Some(build)));
    let (core, pre) = version
        .split_once('-')
        .map_or((version, None), |(core, pre)| (core, Some(pre)));
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let is_word = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_pre =
        |part: &str| is_word(part) && (is_number(part) || !part.bytes().all(|byte| byte.is_ascii_digit()));
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && pre.is_none_or(|pre| pre.split('.').all(is_pre))
        && build.is_none_or(|build| build.split('.').all(is_word))
}
