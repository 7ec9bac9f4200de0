//! Finds variables of a template that its `inputSchema` lacks: a misspelt name would be rendered as nothing,
//! or fail each run.
//!
//! Only what is certain is told. A part of the schema that a template reaches by other ways than properties
//! and items, or that is composed of alternatives, is taken to have any name.

use serde_json::{Map, Value};

use crate::error::Place;
use crate::handlebars::tree::{Call, Expression, Helper, Node, PartialName, Path, Program, Source, Subject};
use crate::jst::tree as jst;
use crate::template::{Parsed, Template};

/// Maximum number of variables that are told.
const MAX_TOLD: usize = 20;
/// Maximum number of names that a sentence lists.
const MAX_NAMES: usize = 10;
/// Maximum length of a name in a sentence, in bytes.
const MAX_NAME_BYTES: usize = 80;
/// Maximum number of references that are followed one after the other.
const MAX_REFERENCES: usize = 20;
/// Keywords that make a schema one of several.
const ALTERNATIVES: [&str; 8] = [
    "allOf",
    "anyOf",
    "else",
    "if",
    "oneOf",
    "then",
    "dependentSchemas",
    "patternProperties",
];

pub fn unknown(template: &Template, schema: &Value) -> Vec<String> {
    let mut search = Search {
        root: schema,
        told: Vec::new(),
    };
    let whole = search.at(schema);
    match &template.0 {
        Parsed::Handlebars(program) => search.program(program, &mut vec![whole]),
        Parsed::Jst(template) => search.template(template, whole),
        Parsed::Text(_) => {}
    }
    search.told
}

/// Schema of a value; None where it is not known.
type Known<'a> = Option<&'a Map<String, Value>>;

struct Search<'a> {
    root: &'a Value,
    told: Vec<String>,
}

impl<'a> Search<'a> {
    /// Returns a schema without references; None for one that says little.
    fn at(&self, schema: &'a Value) -> Known<'a> {
        let mut schema = schema.as_object()?;
        for _ in 0..MAX_REFERENCES {
            if ALTERNATIVES.iter().any(|keyword| schema.contains_key(*keyword)) {
                return None;
            }
            let Some(reference) = schema.get("$ref") else {
                return Some(schema);
            };
            let pointer = reference.as_str()?.strip_prefix('#')?;
            schema = self.root.pointer(pointer)?.as_object()?;
        }
        None
    }

    /// Returns the schema of a property, and tells where there is none.
    fn property(&mut self, schema: Known<'a>, name: &str, path: &str, place: Place) -> Known<'a> {
        let schema = schema?;
        let properties = schema.get("properties")?.as_object()?;
        if let Some(property) = properties.get(name) {
            return self.at(property);
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = required.is_some_and(|names| names.iter().any(|other| other == name));
        let takes_any = schema
            .get("additionalProperties")
            .is_some_and(|rest| *rest != Value::Bool(false));
        let is_object = schema.get("type").is_none_or(|kind| kind == "object");
        if !is_required && !takes_any && is_object && self.told.len() < MAX_TOLD {
            let names: Vec<_> = properties
                .keys()
                .take(MAX_NAMES)
                .map(|name| shortened(name))
                .collect();
            let path = shortened(path);
            let known = match names.is_empty() {
                true => "has no names there".to_owned(),
                false => format!("has {} there", names.join(", ")),
            };
            let sentence = format!(
                "The content uses '{path}' at {place}, which 'inputSchema' lacks: it {known}. Correct the name, or add it to the \
                 schema."
            );
            if !self.told.contains(&sentence) {
                self.told.push(sentence);
            }
        }
        None
    }

    fn items(&self, schema: Known<'a>) -> Known<'a> {
        let items = schema?.get("items")?;
        self.at(items)
    }

    /// Looks at a Handlebars program, whose contexts are the last ones.
    fn program(&mut self, program: &Program, contexts: &mut Vec<Known<'a>>) {
        for node in &program.body {
            match node {
                Node::Content(_) | Node::Comment(_) => {}
                Node::Mustache(expression, _) => {
                    self.expression(expression, contexts);
                }
                Node::Block(block) => {
                    let inner = match &block.subject {
                        Subject::Call(call) => self.call(call, contexts),
                        Subject::Value(path) => {
                            self.path(path, contexts);
                            Inner::Unknown
                        }
                    };
                    if let Some(program) = &block.program {
                        self.within(program, inner, contexts);
                    }
                    if let Some(inverse) = &block.inverse {
                        self.program(inverse, contexts);
                    }
                }
                Node::Partial(partial) => {
                    if let PartialName::Computed(name) = &partial.name {
                        self.expression(name, contexts);
                    }
                    let values = partial.hash.iter().map(|(_, value)| value);
                    for value in partial.context.iter().chain(values) {
                        self.expression(value, contexts);
                    }
                }
                // Partials run in the contexts of those that include them.
                Node::Decorator(_) => {}
            }
        }
    }

    fn within(&mut self, program: &Program, inner: Inner<'a>, contexts: &mut Vec<Known<'a>>) {
        match inner {
            Inner::Same => self.program(program, contexts),
            Inner::Of(schema) => {
                contexts.push(schema);
                self.program(program, contexts);
                contexts.pop();
            }
            // How many contexts there are depends on the data, too.
            Inner::Unknown => self.program(program, &mut Vec::new()),
        }
    }

    /// Returns the context of the block that a helper begins.
    fn call(&mut self, call: &Call, contexts: &mut Vec<Known<'a>>) -> Inner<'a> {
        let mut schemas = call
            .params
            .iter()
            .map(|param| self.expression(param, contexts))
            .collect::<Vec<_>>()
            .into_iter();
        let subject = schemas.next().flatten();
        for (_, value) in &call.hash {
            self.expression(value, contexts);
        }
        match call.helper {
            Helper::If | Helper::Unless => Inner::Same,
            Helper::With => Inner::Of(subject),
            Helper::Each => Inner::Of(self.items(subject)),
            _ => Inner::Unknown,
        }
    }

    fn expression(&mut self, expression: &Expression, contexts: &mut Vec<Known<'a>>) -> Known<'a> {
        match expression {
            Expression::Path(path) => self.path(path, contexts),
            Expression::Call(call) => {
                self.call(call, contexts);
                None
            }
            _ => None,
        }
    }

    fn path(&mut self, path: &Path, contexts: &[Known<'a>]) -> Known<'a> {
        let mut parts = path.parts.iter();
        let mut schema = match path.source {
            Source::Context(up) => *contexts.get(contexts.len().checked_sub(up + 1)?)?,
            Source::Data(0) if parts.next().is_some_and(|name| name == "root") => self.at(self.root),
            Source::Data(_) | Source::Param(..) => return None,
        };
        for part in parts {
            schema = self.property(schema, part, &path.original, path.place);
        }
        schema
    }

    fn template(&mut self, template: &jst::Template, whole: Known<'a>) {
        for part in &template.parts {
            if let jst::Part::Expression(expression) = part {
                self.value(expression, whole);
            }
        }
    }

    /// Looks at an expression of JavaScript, and returns the schema of its value.
    fn value(&mut self, expression: &jst::Expression, whole: Known<'a>) -> Known<'a> {
        use jst::Kind;
        match &expression.kind {
            Kind::Variable(name) => self.property(whole, name, name, expression.place),
            Kind::Group(inside) => self.value(inside, whole),
            Kind::Member(object, name, _) => {
                let schema = self.value(object, whole);
                self.property(schema, name, name, expression.place)
            }
            Kind::Index(object, index, _) => {
                let schema = self.value(object, whole);
                self.value(index, whole);
                match &index.kind {
                    Kind::Text(name) => self.property(schema, name, name, expression.place),
                    _ => self.items(schema),
                }
            }
            Kind::Template(template) => {
                self.template(template, whole);
                None
            }
            Kind::Method(object, _, arguments, _) => {
                self.value(object, whole);
                self.arguments(arguments, whole);
                None
            }
            Kind::Global(_, arguments) => {
                self.arguments(arguments, whole);
                None
            }
            Kind::Array(elements) => {
                for element in elements {
                    self.value(&element.value, whole);
                }
                None
            }
            Kind::Object(fields) => {
                for (_, value) in fields {
                    self.value(value, whole);
                }
                None
            }
            Kind::Not(one) | Kind::Minus(one) | Kind::Plus(one) | Kind::TypeOf(one) => {
                self.value(one, whole);
                None
            }
            Kind::Binary(_, one, other) => {
                self.value(one, whole);
                self.value(other, whole);
                None
            }
            Kind::Choice(condition, one, other) => {
                self.value(condition, whole);
                self.value(one, whole);
                self.value(other, whole);
                None
            }
            Kind::Undefined
            | Kind::Null
            | Kind::Bool(_)
            | Kind::Number(_)
            | Kind::Text(_)
            | Kind::Local(..) => None,
        }
    }

    fn arguments(&mut self, arguments: &jst::Arguments, whole: Known<'a>) {
        if let Some(jst::Function::Arrow(_, body)) = arguments.function.as_deref() {
            self.value(body, whole);
        }
        for argument in &arguments.values {
            self.value(&argument.value, whole);
        }
    }
}

fn shortened(name: &str) -> &str {
    name.get(..name.floor_char_boundary(MAX_NAME_BYTES))
        .unwrap_or(name)
}

enum Inner<'a> {
    Same,
    /// One of its own.
    Of(Known<'a>),
    Unknown,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::records::prompts::ContentType::{self, Handlebars, Jst};

    use super::*;

    fn told(content_type: ContentType, content: &str, schema: &Value) -> Vec<String> {
        unknown(&Template::compile(content_type, content).unwrap(), schema)
    }

    #[test]
    fn variable_that_the_schema_lacks_is_told_with_its_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "customer": { "$ref": "#/$defs/customer" },
                "items": { "type": "array", "items": { "properties": { "title": {} } } },
                "free": { "type": "object" },
                "open": { "properties": { "a": {} }, "additionalProperties": true },
                "either": { "anyOf": [{ "properties": { "a": {} } }] },
            },
            "$defs": { "customer": { "type": "object", "properties": { "city": {} } } },
        });
        for (content_type, content, path) in [
            (Handlebars, "Hi {{nme}}", "'nme' at line 1, column 6"),
            (Handlebars, "{{#if nme}}x{{/if}}", "'nme'"),
            (Handlebars, "{{customer.town}}", "'customer.town'"),
            (Handlebars, "{{#each items}}{{title}}{{name}}{{/each}}", "'name'"),
            (
                Handlebars,
                "{{#each items}}{{../nme}}{{@root.nom}}{{/each}}",
                "'../nme'",
            ),
            (
                Handlebars,
                "{{#with customer}}{{city}}{{street}}{{/with}}",
                "'street'",
            ),
            (Handlebars, "{{#each items}}{{else}}{{nme}}{{/each}}", "'nme'"),
            (Jst, "a\n${nme}", "'nme' at line 2, column 3"),
            (Jst, "${customer.town ?? ''}", "'town'"),
            (Jst, "${items[0].titel}", "'titel'"),
            (Jst, "${items.map(i => i.title + nme)}", "'nme'"),
        ] {
            let told = told(content_type, content, &schema);
            assert!(
                told.first().is_some_and(|told| told.contains(path)),
                "{content}: {told:?}"
            );
        }
        for (content_type, content) in [
            (
                Handlebars,
                "{{name}}{{this.name}}{{#if customer.city}}{{customer.city}}{{/if}}",
            ),
            (
                Handlebars,
                "{{free.any}}{{open.b}}{{either.b}}{{items.length}}{{name.length}}",
            ),
            (
                Handlebars,
                "{{#each items as |item n|}}{{item.titel}}{{n}}{{@index}}{{/each}}",
            ),
            (Handlebars, "{{#section}}{{any}}{{/section}}"),
            (Handlebars, "{{#*inline 'p'}}{{any}}{{/inline}}{{> p items}}"),
            (
                Jst,
                "${items.map(i => i.titel).join()}${items.length}${name.length}${free.x}",
            ),
        ] {
            let told = told(content_type, content, &schema);
            let is_section = content.starts_with("{{#section");
            assert_eq!(told.len(), usize::from(is_section), "{content}: {told:?}");
        }
        assert_eq!(told(Handlebars, "{{any}}", &json!({ "type": "object" })), [""; 0]);
        assert_eq!(told(Handlebars, "{{any}}", &json!({})), [""; 0]);
    }
}
