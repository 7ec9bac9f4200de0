//! Defines the filter of a subscription, which selects events.

use platform::http::parse_part;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::condition::Condition;
use crate::envelope::{Category, Envelope, FIELDS, MAX_NAME_BYTES, no_field};
use crate::template;

/// Maximum number of entries of one list.
const MAX_ENTRIES: usize = 100;
/// Maximum length of the instruction of a semantic condition, in characters.
const MAX_INSTRUCTION: usize = 10_000;
/// Entry for all categories, and end of an entry for all names that begin with what stands before it.
const ALL: &str = "*";

/// Filter of a subscription. An event matches if it meets every given condition. Each list has at most 100
/// entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Categories that match: content, workflow, security, billing, system and external, or `["*"]` for all.
    /// Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub event_category: Vec<String>,
    /// Categories that do not match. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_event_category: Vec<String>,
    /// Actions that match, such as `create`; `order.*` matches all that begin with `order.`. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action: Vec<String>,
    /// Resource types that match, such as `content_object`, or `order.*`. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_type: Vec<String>,
    /// JSONLogic rule over the event envelope, such as `{"==": [{"var": "details.verdict"},
    /// "needs_review"]}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Map<String, Value>>,
    /// Condition in natural language, evaluated by a model after the others; not with `target.workflow_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_condition: Option<SemanticCondition>,
}

/// A condition in natural language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SemanticCondition {
    /// Statement that must be true of an event; at most 10,000 characters.
    pub instruction: String,
    /// Whether a negative verdict prevents a delivery. Default: `enforce`.
    #[serde(default, deserialize_with = "platform::http::strict::name")]
    pub mode: SemanticMode,
    /// Effect of a failed evaluation. Default: `fail_closed`.
    #[serde(default, deserialize_with = "platform::http::strict::name")]
    pub on_error: OnError,
    /// Evaluator of the condition.
    #[serde(default, deserialize_with = "platform::http::strict::object")]
    pub evaluator: Evaluator,
}

/// Effect of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SemanticMode {
    /// A negative verdict prevents the delivery.
    #[default]
    Enforce,
    /// The verdict is only recorded.
    Shadow,
}

/// Effect of a failed evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The event is not delivered.
    #[default]
    FailClosed,
    /// The event is delivered.
    FailOpen,
}

/// Evaluator of a condition in natural language.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Evaluator {
    /// Kind of the evaluator. Default: `interaction`.
    #[serde(rename = "type", deserialize_with = "platform::http::strict::name")]
    pub kind: EvaluatorKind,
    /// Whether the evaluator gets the first 16,384 bytes of the text of the content object that the event is
    /// about. Default: no.
    pub enrich_with_content: bool,
    /// Interaction whose prompts and model evaluate: its id, `app:<name>` or `sys:<name>`; at most 200
    /// characters. Default: `sys:classifier`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_ref: Option<String>,
}

/// Kind of an evaluator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EvaluatorKind {
    /// One call of a model.
    #[default]
    Interaction,
    /// An agent, which may read the event and the content object before it decides, in at most five turns.
    Agent,
}

impl Filter {
    /// Parses the field `filter` of a body. Fails with 400 and the fault.
    pub fn parse(value: Value) -> Result<Self> {
        if !value.is_object() {
            return Err(Error::invalid_field("filter", "must be an object."));
        }
        let filter: Self = parse_part("filter", value)?;
        filter.check()?;
        Ok(filter)
    }

    fn check(&self) -> Result<()> {
        for (name, list) in [
            ("event_category", &self.event_category),
            ("exclude_event_category", &self.exclude_event_category),
            ("action", &self.action),
            ("resource_type", &self.resource_type),
        ] {
            let fits = |entry: &String| (1..=MAX_NAME_BYTES).contains(&entry.len());
            if list.len() > MAX_ENTRIES || !list.iter().all(fits) {
                return Err(Error::invalid_field(
                    &format!("filter.{name}"),
                    format!("has at most {MAX_ENTRIES} entries, each of 1 to {MAX_NAME_BYTES} bytes."),
                ));
            }
        }
        if self.event_category.as_slice() != [ALL] {
            check_categories("event_category", &self.event_category)?;
        }
        check_categories("exclude_event_category", &self.exclude_event_category)?;
        if let Some(condition) = &self.condition {
            Condition::compile(condition)?;
        }
        if let Some(semantic) = &self.semantic_condition {
            let reference = semantic.evaluator.interaction_ref.as_ref();
            if reference.is_some_and(|reference| reference.chars().count() > platform::ids::MAX_ID_LENGTH) {
                return Err(Error::invalid_field(
                    "filter.semantic_condition.evaluator.interaction_ref",
                    format!("has at most {} characters.", platform::ids::MAX_ID_LENGTH),
                ));
            }
            let length = semantic.instruction.chars().count();
            if !(1..=MAX_INSTRUCTION).contains(&length) {
                return Err(Error::invalid_field(
                    "filter.semantic_condition.instruction",
                    format!("has 1 to {MAX_INSTRUCTION} characters."),
                ));
            }
        }
        Ok(())
    }

    /// Returns advice about what an accepted filter hardly means.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (name, list) in [("action", &self.action), ("resource_type", &self.resource_type)] {
            for entry in list {
                if entry.trim() != entry {
                    warnings.push(format!(
                        "The entry '{entry}' of 'filter.{name}' begins or ends with a blank, and so does what it matches."
                    ));
                }
                if entry.strip_suffix(ALL).unwrap_or(entry).contains(ALL) {
                    warnings.push(format!(
                        "The entry '{entry}' of 'filter.{name}' has a '*' before its end, where it stands for itself alone."
                    ));
                }
            }
        }
        let condition = self.condition.iter();
        warnings.extend(condition.flat_map(|condition| {
            let reason = "a condition reads the event by {\"var\": \"action\"}";
            template::warnings::of_constants("filter.condition", condition, reason)
        }));
        let condition = self.condition.as_ref().map(Condition::compile);
        let paths = condition.and_then(Result::ok).map(|condition| condition.paths());
        for path in paths.into_iter().flatten() {
            let root = path.split('.').next().unwrap_or_default();
            if !FIELDS.contains(&root) {
                warnings.push(format!(
                    "The condition in 'filter.condition' reads '{path}', and {}",
                    no_field(root)
                ));
            }
        }
        warnings
    }

    pub fn categories(&self) -> Vec<Category> {
        let wanted = |category: &Category| {
            let name = category.as_str();
            let all = self.event_category.is_empty() || self.event_category.iter().any(|entry| entry == ALL);
            (all || self.event_category.iter().any(|entry| entry == name))
                && !self.exclude_event_category.iter().any(|entry| entry == name)
        };
        Category::ALL.into_iter().filter(wanted).collect()
    }

    /// Returns the first list of the filter that excludes an event; None where no list does.
    pub fn refuses(&self, event: &Envelope) -> Option<Refusal> {
        let category = event.event_category.as_str();
        let lacks =
            |list: &[String], value: &str| !list.is_empty() && !list.iter().any(|entry| takes(entry, value));
        if lacks(&self.event_category, category) {
            return Some(Refusal::Category);
        }
        if self.exclude_event_category.iter().any(|entry| entry == category) {
            return Some(Refusal::ExcludedCategory);
        }
        if lacks(&self.action, &event.action) {
            return Some(Refusal::Action);
        }
        lacks(&self.resource_type, &event.resource_type).then_some(Refusal::ResourceType)
    }
}

/// Returns whether an entry matches more than one name.
pub(crate) fn is_open(entry: &str) -> bool {
    entry.ends_with(ALL)
}

fn takes(entry: &str, name: &str) -> bool {
    match entry.strip_suffix(ALL) {
        Some(start) => name.starts_with(start),
        None => entry == name,
    }
}

/// The list of a filter that excludes an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Category,
    ExcludedCategory,
    Action,
    ResourceType,
}

impl Refusal {
    /// Returns a sentence for people.
    pub fn sentence(self, event: &Envelope) -> String {
        let category = event.event_category.as_str();
        match self {
            Self::Category => format!("event_category does not have '{category}'"),
            Self::ExcludedCategory => format!("exclude_event_category has '{category}'"),
            Self::Action => format!("action does not have '{}'", event.action),
            Self::ResourceType => format!("resource_type does not have '{}'", event.resource_type),
        }
    }
}

fn check_categories(name: &str, list: &[String]) -> Result<()> {
    let known = |entry: &&String| Category::ALL.iter().any(|category| category.as_str() == *entry);
    match list.iter().find(|entry| !known(entry)) {
        None => Ok(()),
        Some(unknown) => Err(Error::invalid_field(
            &format!("filter.{name}"),
            format!(
                "names '{unknown}'; there are {}{}.",
                Category::ALL.map(Category::as_str).join(", "),
                if name == "event_category" {
                    ", or '*' alone"
                } else {
                    ""
                }
            ),
        )),
    }
}
