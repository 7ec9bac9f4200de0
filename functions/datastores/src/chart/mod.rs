//! Checks the chart of a dashboard: Vega-Lite 6 with one mark, drawn from the columns of the dashboard's
//! query.
//!
//! Only faults that Vega would show as an empty or wrong chart without an error are checked: the mark, the
//! names of the channels, the types, and that every field in the encoding exists. All other Vega-Lite
//! properties (`title`, `config`, `width`, …) pass unchecked.

use std::collections::{BTreeMap, BTreeSet};

use lake::ResultColumn;
use platform::{Error, Result};
use serde_json::{Map, Value};

const MARKS: [&str; 17] = [
    "arc",
    "area",
    "bar",
    "boxplot",
    "circle",
    "errorband",
    "errorbar",
    "geoshape",
    "image",
    "line",
    "point",
    "rect",
    "rule",
    "square",
    "text",
    "tick",
    "trail",
];

const TYPES: [&str; 5] = ["quantitative", "nominal", "ordinal", "temporal", "geojson"];

/// Channels whose scale depends on the type of their field.
const TYPED_CHANNELS: [&str; 24] = [
    "angle",
    "color",
    "column",
    "facet",
    "fill",
    "fillOpacity",
    "latitude",
    "longitude",
    "opacity",
    "radius",
    "row",
    "shape",
    "size",
    "stroke",
    "strokeDash",
    "strokeOpacity",
    "strokeWidth",
    "text",
    "theta",
    "time",
    "x",
    "xOffset",
    "y",
    "yOffset",
];

/// Channels that share the type of another channel, or that have no scale.
const UNTYPED_CHANNELS: [&str; 17] = [
    "description",
    "detail",
    "href",
    "key",
    "latitude2",
    "longitude2",
    "order",
    "radius2",
    "theta2",
    "tooltip",
    "url",
    "x2",
    "xError",
    "xError2",
    "y2",
    "yError",
    "yError2",
];

/// Channels that take several fields.
const LIST_CHANNELS: [&str; 3] = ["detail", "order", "tooltip"];

/// Maximum number of columns that a message lists, and of characters that it shows of each.
const MAX_SHOWN: usize = 20;
const MAX_SHOWN_LENGTH: usize = 100;

/// Refuses with 400 a chart that the query's result columns, `columns`, cannot fill.
pub fn check(spec: &Value, columns: &[ResultColumn]) -> Result<()> {
    let Value::Object(spec) = spec else {
        return Err(Error::invalid_field("spec", "must be an object."));
    };
    check_mark(spec)?;
    let encoding = match spec.get("encoding") {
        Some(Value::Object(encoding)) if !encoding.is_empty() => encoding,
        Some(Value::Object(_)) | None => {
            return Err(Error::invalid_field(
                "spec.encoding",
                "must have a channel, such as \"x\": { \"field\": …, \"type\": … }.",
            ));
        }
        Some(_) => return Err(Error::invalid_field("spec.encoding", "must be an object.")),
    };
    let fields = Fields::new(columns, spec.get("transform"));
    encoding
        .iter()
        .try_for_each(|(channel, definition)| fields.check_channel(channel, definition))
}

fn check_mark(spec: &Map<String, Value>) -> Result<()> {
    let (path, mark) = match spec.get("mark") {
        None => {
            return Err(Error::invalid_field(
                "spec.mark",
                "is missing; a dashboard is one chart, such as \"mark\": \"bar\".",
            ));
        }
        Some(Value::Object(definition)) => ("spec.mark.type", definition.get("type")),
        other => ("spec.mark", other),
    };
    match mark {
        Some(Value::String(mark)) => one_of(path, mark, "a mark of Vega-Lite", &MARKS),
        _ => Err(Error::invalid_field(
            path,
            "must be the name of a mark, such as \"bar\".",
        )),
    }
}

fn one_of(path: &str, name: &str, what: &str, names: &[&str]) -> Result<()> {
    if names.contains(&name) {
        return Ok(());
    }
    Err(Error::invalid_field(
        path,
        format!(
            "is '{}', which is not {what}; those are: {}.",
            shown(name),
            names.join(", ")
        ),
    ))
}

/// Fields that an encoding may name.
struct Fields<'a> {
    columns: &'a [ResultColumn],
    by_name: BTreeMap<&'a str, Vec<&'a ResultColumn>>,
    /// Fields that the chart's own transforms add: the names under their `as`.
    derived: BTreeSet<&'a str>,
}

impl<'a> Fields<'a> {
    fn new(columns: &'a [ResultColumn], transform: Option<&'a Value>) -> Self {
        let mut by_name: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for column in columns {
            by_name.entry(column.name.as_str()).or_default().push(column);
        }
        let mut derived = BTreeSet::new();
        if let Some(transform) = transform {
            collect_derived(transform, &mut derived);
        }
        Self {
            columns,
            by_name,
            derived,
        }
    }

    fn check_channel(&self, channel: &str, definition: &Value) -> Result<()> {
        let is_typed = TYPED_CHANNELS.contains(&channel);
        if !is_typed && !UNTYPED_CHANNELS.contains(&channel) {
            let channels: BTreeSet<_> = TYPED_CHANNELS.into_iter().chain(UNTYPED_CHANNELS).collect();
            return Err(Error::invalid_field(
                &format!("spec.encoding.{}", shown(channel)),
                format!(
                    "is not a channel of Vega-Lite; those are: {}.",
                    channels.into_iter().collect::<Vec<_>>().join(", ")
                ),
            ));
        }
        let path = format!("spec.encoding.{channel}");
        match definition {
            Value::Object(definition) => self.check_definition(&path, definition, is_typed),
            Value::Array(list) if LIST_CHANNELS.contains(&channel) => {
                list.iter().enumerate().try_for_each(|(index, definition)| {
                    let path = format!("{path}[{index}]");
                    let definition = definition.as_object().ok_or_else(|| no_object(&path))?;
                    self.check_definition(&path, definition, is_typed)
                })
            }
            Value::Null if channel == "tooltip" => Ok(()),
            _ => Err(no_object(&path)),
        }
    }

    fn check_definition(&self, path: &str, definition: &Map<String, Value>, is_typed: bool) -> Result<()> {
        let property = |key: &str| {
            definition
                .get(key)
                .filter(|value| !matches!(value, Value::Null | Value::Bool(false)))
        };
        let has_field = self.check_field(path, definition)?;
        let is_count = property("aggregate").is_some_and(|aggregate| aggregate == "count");
        for key in ["aggregate", "sort"] {
            self.check_nested(&format!("{path}.{key}"), property(key))?;
        }
        match property("condition") {
            Some(Value::Array(list)) => list.iter().enumerate().try_for_each(|(index, condition)| {
                self.check_nested(&format!("{path}.condition[{index}]"), Some(condition))
            })?,
            condition => self.check_nested(&format!("{path}.condition"), condition)?,
        }
        let has_constant = ["value", "datum"].iter().any(|key| definition.contains_key(*key));
        if !has_field && !is_count && !has_constant && property("condition").is_none() {
            return Err(Error::invalid_field(
                path,
                "must have a 'field', a 'value', a 'datum', or \"aggregate\": \"count\".",
            ));
        }
        let says_its_type = ["aggregate", "bin", "timeUnit", "type"]
            .iter()
            .any(|key| property(key).is_some());
        if has_field && is_typed && !says_its_type {
            return Err(Error::invalid_field(
                &format!("{path}.type"),
                format!("is missing; it is one of: {}.", TYPES.join(", ")),
            ));
        }
        Ok(())
    }

    /// Checks a definition nested in a channel's: a condition, a sort by another field, `{ "argmax": field
    /// }`.
    fn check_nested(&self, path: &str, nested: Option<&Value>) -> Result<()> {
        let Some(Value::Object(nested)) = nested else {
            return Ok(());
        };
        self.check_field(path, nested)?;
        ["argmax", "argmin"]
            .iter()
            .try_for_each(|key| match nested.get(*key) {
                Some(Value::String(field)) => self.check_name(&format!("{path}.{key}"), field),
                Some(_) => Err(Error::invalid_field(
                    &format!("{path}.{key}"),
                    "must be the name of a column.",
                )),
                None => Ok(()),
            })
    }

    /// Checks the `field` and the `type` of a definition. Returns whether it has a field.
    fn check_field(&self, path: &str, definition: &Map<String, Value>) -> Result<bool> {
        match definition.get("type") {
            Some(Value::String(name)) => {
                one_of(&format!("{path}.type"), name, "a type of Vega-Lite", &TYPES)?;
            }
            Some(_) => {
                return Err(Error::invalid_field(
                    &format!("{path}.type"),
                    format!("must be one of: {}.", TYPES.join(", ")),
                ));
            }
            None => {}
        }
        match definition.get("field") {
            Some(Value::String(field)) => self.check_name(&format!("{path}.field"), field).map(|()| true),
            Some(_) => Err(Error::invalid_field(
                &format!("{path}.field"),
                "must be the name of a column of the query.",
            )),
            None => Ok(false),
        }
    }

    fn check_name(&self, path: &str, field: &str) -> Result<()> {
        let refused = |rest: String| Error::invalid_field(path, format!("is '{}'{rest}", shown(field)));
        let steps = steps(field).ok_or_else(|| {
            refused(", which is not the name of a field; brackets and quotes must be closed.".to_owned())
        })?;
        let name = steps.first().map_or("", String::as_str);
        if self.derived.contains(name) {
            return Ok(());
        }
        match self.by_name.get(name).map(Vec::as_slice) {
            Some([column]) if steps.len() == 1 || column.has_parts() => Ok(()),
            Some([column]) => Err(refused(format!(
                ", a part of the column '{}'; that is a {} and has no parts.{}",
                shown(name),
                shown(&column.column_type),
                self.hint(field)
            ))),
            Some(_) => Err(refused(
                ", and the query has more than one column of that name; give each its own with AS."
                    .to_owned(),
            )),
            None => Err(refused(format!(
                ", which the query does not produce; its columns are: {}.{}",
                self.listed(),
                self.hint(field)
            ))),
        }
    }

    /// Returns the likely fix for an unknown `field`.
    fn hint(&self, field: &str) -> String {
        if self.by_name.contains_key(field) {
            let mut escaped = String::new();
            for letter in field.chars() {
                if matches!(letter, '.' | '[' | ']' | '\\') {
                    escaped.push('\\');
                }
                escaped.push(letter);
            }
            return format!(
                " Dots and brackets of a column's name are written with a backslash before them: '{}'.",
                shown(&escaped)
            );
        }
        let other_case = self
            .columns
            .iter()
            .find(|column| column.name.to_lowercase() == field.to_lowercase());
        other_case.map_or_else(String::new, |column| {
            format!(" Case counts: did you mean '{}'?", shown(&column.name))
        })
    }

    fn listed(&self) -> String {
        let names = self
            .columns
            .iter()
            .take(MAX_SHOWN)
            .map(|column| shown(&column.name));
        let mut listed = names.collect::<Vec<_>>().join(", ");
        if let Some(more) = self.columns.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
            listed.push_str(&format!(" and {more} more"));
        }
        listed
    }
}

fn collect_derived<'a>(value: &'a Value, names: &mut BTreeSet<&'a str>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect_derived(value, names)),
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(name) if key == "as" => {
                        names.insert(name);
                    }
                    Value::Array(list) if key == "as" => names.extend(list.iter().filter_map(Value::as_str)),
                    _ => collect_derived(value, names),
                }
            }
        }
        _ => {}
    }
}

/// Splits a field's path as Vega reads it: `a.b`, `a['b']` and `a[0]` are parts of `a`, and a backslash
/// escapes the next character. Returns None for an empty path or an unclosed bracket or quote.
fn steps(field: &str) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    let mut step = String::new();
    let mut letters = field.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => step.extend(letters.next()),
            '.' | '[' => {
                if !step.is_empty() {
                    steps.push(std::mem::take(&mut step));
                }
                if letter == '[' {
                    let quote = letters.next_if(|next| matches!(next, '"' | '\''));
                    let mut inner = String::new();
                    loop {
                        match letters.next()? {
                            '\\' => inner.extend(letters.next()),
                            end if Some(end) == quote => {
                                letters.next_if_eq(&']')?;
                                break;
                            }
                            ']' if quote.is_none() => break,
                            other => inner.push(other),
                        }
                    }
                    steps.push(inner);
                }
            }
            ']' => return None,
            other => step.push(other),
        }
    }
    if !step.is_empty() {
        steps.push(step);
    }
    (!steps.is_empty()).then_some(steps)
}

fn no_object(path: &str) -> Error {
    Error::invalid_field(path, "must be an object.")
}

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN_LENGTH).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
