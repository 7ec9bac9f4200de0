//! Checks whether JSON Schemas are valid. Values are validated against them in a child process, because a
//! schema is untrusted code.

use jsonschema::meta;

use super::Checker;
use crate::data::Data;
use crate::fault::Place;
use crate::source::Tree;

impl Checker {
    /// Reads the inline schema. None after a fault.
    pub(super) fn schema(&mut self, at: &Place, tree: &Tree) -> Option<Option<Data>> {
        let mut fields = self.fields(at, tree, "a schema")?;
        if let Some((at, tree)) = fields.take("format") {
            let format = self.text(&at, tree);
            if format.is_some_and(|format| format != "json" && !format.starts_with("json:")) {
                self.report(
                    &at,
                    "A schema of another format than 'json' is not read here; write a JSON Schema.",
                );
            }
        }
        if let Some((at, _)) = fields.take("resource") {
            self.report(
                &at,
                "A schema is not fetched from elsewhere; put it into 'document'.",
            );
        }
        let has_resource = fields.has("resource");
        let document = fields.take("document");
        self.done(&fields, "a schema");
        match document {
            Some((at, tree)) => self.schema_document(&at, tree).map(Some),
            None if has_resource => None,
            None => self.refuse(at, "The field 'document' is missing."),
        }
    }

    fn schema_document(&mut self, at: &Place, tree: &Tree) -> Option<Data> {
        let data = Data::from(tree.clone());
        if !matches!(tree, Tree::Object(_) | Tree::Bool(_)) {
            return self.refuse(
                at,
                format!("Expected a JSON Schema as an object, found {}.", tree.kind()),
            );
        }
        let schema = data.to_value();
        let draft = schema.get("$schema").and_then(serde_json::Value::as_str);
        if draft.is_some_and(|draft| {
            !draft.starts_with("http://json-schema.org/") && !draft.starts_with("https://json-schema.org/")
        }) {
            return self.refuse(
                &at.field("$schema"),
                "The '$schema' of a JSON Schema is one of json-schema.org; others are not fetched.",
            );
        }
        match meta::validate(&schema) {
            Ok(()) => Some(data),
            Err(error) => {
                let below = error.instance_path().to_string();
                let message = format!("The JSON Schema is not valid at '{below}': {}.", error.masked());
                self.refuse(at, message)
            }
        }
    }
}
