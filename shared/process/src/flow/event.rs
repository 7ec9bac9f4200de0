//! Matches events with the filters of tasks that wait for them.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::data::Data;
use crate::definition::{EventFilter, ExpectedAttribute, Template};
use crate::pattern::{Steps, count};
use crate::source::Tree;

/// Steps of an attribute besides those of its value.
const STEPS_PER_ATTRIBUTE: u64 = 10;

/// Attributes of an event by name, each parsed once for all filters that name it.
#[derive(Clone, Debug)]
pub struct Attributes(BTreeMap<String, (Data, OnceCell<Tree>)>);

impl Attributes {
    /// Reads the fields of an event.
    pub fn of(event: &Data) -> Self {
        let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(event.get()).unwrap_or_default();
        let fields = fields.into_iter();
        // The fields of data nest no deeper than the data.
        let fields = fields.filter_map(|(name, value)| Some((name, Data::from_raw(value).ok()?)));
        Self(
            fields
                .map(|(name, value)| (name, (value, OnceCell::new())))
                .collect(),
        )
    }

    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    fn data(&self, name: &str) -> Data {
        self.0
            .get(name)
            .map_or_else(Data::null, |(value, _)| value.clone())
    }

    fn tree(&self, name: &str) -> Option<&Tree> {
        let (value, tree) = self.0.get(name)?;
        Some(tree.get_or_init(|| value.tree()))
    }
}

/// Whether an event matches a filter; None where the steps do not suffice.
///
/// `results` are those of the expressions of [`evaluated`], in their order. A result of true or false
/// decides; any other is the expected value of the attribute. A text is compared, or is a pattern for the
/// whole value.
pub fn matches(
    filter: &EventFilter,
    event: &Attributes,
    results: &[Data],
    steps: &mut Steps,
) -> Option<bool> {
    let mut results = results.iter().cloned();
    for attribute in &filter.with {
        let value = event.tree(&attribute.name);
        let matches = match &attribute.constant {
            Some(constant) => {
                // A comparison reads no more of the value than the constant has.
                steps.take(STEPS_PER_ATTRIBUTE + count(attribute.bytes))?;
                match value {
                    Some(value) => fits(attribute, constant, value, steps)?,
                    None => false,
                }
            }
            None => {
                let template = &attribute.template;
                let wanted = template.filled(results.by_ref().take(template.expressions().len()));
                match (template, wanted.as_bool()) {
                    (Template::Expression(_), Some(decision)) => decision,
                    _ => value.is_some_and(|value| wanted.tree().same(value)),
                }
            }
        };
        if !matches {
            return Some(false);
        }
    }
    Some(true)
}

fn fits(attribute: &ExpectedAttribute, constant: &Tree, value: &Tree, steps: &mut Steps) -> Option<bool> {
    if constant.same(value) {
        return Some(true);
    }
    let (Some(pattern), Tree::Text(value)) = (&attribute.pattern, value) else {
        return Some(false);
    };
    steps.take(pattern.steps(value))?;
    Some(pattern.fits(value))
}

/// Returns the attributes for which a filter has expressions, with their templates. Each is evaluated with
/// the attribute's value as its input, or null if the event lacks it.
pub fn evaluated<'a>(
    filter: &'a EventFilter,
    event: &'a Attributes,
) -> impl Iterator<Item = (&'a Template, Data)> + 'a {
    let with = filter
        .with
        .iter()
        .filter(|attribute| attribute.constant.is_none());
    with.map(|attribute| (&attribute.template, event.data(&attribute.name)))
}
