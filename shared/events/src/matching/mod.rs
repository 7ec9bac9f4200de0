//! Finds the subscriptions that match an event.
//!
//! The subscriptions of a project are compiled once and cached; one that changes is compiled again. An index
//! by category, action and resource type leaves few candidates, so that the cost of a match depends on the
//! candidates and their different conditions, and not on the number of subscriptions.

mod index;
mod sets;

use std::collections::HashMap;
use std::sync::Arc;

use platform::Result;
use tracing::error;

use self::index::Index;
pub use self::sets::{Matches, SubscriptionSets};
use crate::condition::{Condition, SharedCondition, SharedConditions, Subject, Unanswered};
use crate::envelope::Envelope;
use crate::filter::{Filter, Refusal};
use crate::records::subscriptions::SubscriptionRecord;
use crate::subscription::StoredSubscription;

/// Maximum length of the chain of subscriptions that led to an event which is still matched.
pub const MAX_LINEAGE: usize = 5;
/// Changes of a small set after which it is compiled anew.
const MIN_CHANGES: usize = 1_000;

/// A compiled subscription.
struct Entry {
    /// Without its condition, which is compiled.
    subscription: Arc<StoredSubscription>,
    revision: u64,
    /// None where it has none, or one that cannot be read.
    condition: Option<SharedCondition>,
    is_readable: bool,
    /// Size of its record's document, in bytes.
    bytes: usize,
    state: State,
}

/// Whether a subscription can match.
#[derive(Clone, Copy)]
enum State {
    /// It is in the index; `is_exact` where the lists of its filter take every event that the index selects
    /// it for.
    Indexed { is_exact: bool },
    /// It can match nothing, for this reason.
    Idle(&'static str),
}

/// Compiled subscriptions of a project.
#[derive(Default)]
pub struct SubscriptionSet {
    /// A deleted subscription leaves its place empty.
    entries: Vec<Option<Entry>>,
    places: HashMap<String, u32>,
    /// System subscriptions that are replaced, by the subscriptions that replace them.
    overriding: HashMap<String, String>,
    index: Index,
    conditions: SharedConditions,
    bytes: usize,
    /// Subscriptions that were added, changed or removed.
    changes: usize,
}

/// An event to match.
#[derive(Clone, Copy, Debug)]
pub struct EventToMatch<'a> {
    pub envelope: &'a Envelope,
    /// The envelope as JSON.
    pub text: &'a str,
    /// Subscriptions that led to the event.
    pub lineage: &'a [String],
    /// Owner of the private run that published the event.
    pub private_to: Option<&'a str>,
}

/// A subscription that matches an event, or whose condition has no result.
#[derive(Clone, Debug)]
pub struct Match {
    pub subscription: Arc<StoredSubscription>,
    pub revision: u64,
    /// Why the condition has no result; None where the subscription matches.
    pub unanswered: Option<String>,
}

/// Whether a subscription matches an event, and why not.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub subscription: Arc<StoredSubscription>,
    /// Why the subscription does not match; None where it matches.
    pub why_not: Option<String>,
}

impl SubscriptionSet {
    pub fn compile(records: &[SubscriptionRecord]) -> Self {
        let mut set = Self::default();
        records.iter().for_each(|record| set.put(record));
        set
    }

    /// Adds a subscription, or replaces the one with its id. One that cannot be parsed matches nothing and is
    /// logged.
    pub fn put(&mut self, record: &SubscriptionRecord) {
        let place = self.remove(&record.id);
        match StoredSubscription::from_record(record) {
            Ok(subscription) => self.insert(place, subscription, record),
            Err(cause) => error!(subscription_id = record.id, %cause, "a subscription cannot be read"),
        }
    }

    fn insert(
        &mut self,
        place: Option<u32>,
        mut subscription: StoredSubscription,
        record: &SubscriptionRecord,
    ) {
        let condition = subscription.filter.condition.take();
        let condition = condition.map(|condition| self.conditions.compile(&condition));
        let condition = condition.transpose().inspect_err(
            |cause| error!(subscription_id = record.id, %cause, "a condition cannot be compiled"),
        );
        let replaces = subscription.overrides_system_subscription_id.clone();
        let entry = Entry {
            subscription: Arc::new(subscription),
            revision: record.revision,
            is_readable: condition.is_ok(),
            condition: condition.ok().flatten(),
            bytes: record.document.len(),
            state: State::Idle("it is not settled"),
        };
        self.bytes += entry.bytes;
        let place = place.unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(slot) = self.entries.get_mut(place as usize) {
            *slot = Some(entry);
        }
        self.places.insert(record.id.clone(), place);
        self.settle(place);
        if let Some(system) = replaces {
            self.overriding.insert(system.clone(), record.id.clone());
            self.settle_system(&system);
        }
    }

    /// Removes a subscription, and returns its place.
    pub fn remove(&mut self, id: &str) -> Option<u32> {
        self.changes += 1;
        let place = self.places.remove(id)?;
        let entry = self.entries.get_mut(place as usize)?.take()?;
        if let State::Indexed { .. } = entry.state {
            self.index.remove(&entry.subscription.filter, place);
        }
        self.bytes -= entry.bytes;
        if let Some(system) = &entry.subscription.overrides_system_subscription_id
            && self.overriding.get(system).is_some_and(|own| own == id)
        {
            self.overriding.remove(system);
            self.settle_system(system);
        }
        Some(place)
    }

    fn settle_system(&mut self, id: &str) {
        if let Some(place) = self.places.get(id) {
            self.settle(*place);
        }
    }

    /// Decides whether the subscription at a place can match, and adds it to the index or removes it.
    fn settle(&mut self, place: u32) {
        let Some(entry) = self.entry(place) else {
            return;
        };
        let why_idle = self.why_idle(entry);
        let subscription = Arc::clone(&entry.subscription);
        let state = match (entry.state, why_idle) {
            (State::Indexed { .. }, None) => return,
            (State::Idle(_), None) => State::Indexed {
                is_exact: self.index.add(&subscription.filter, place),
            },
            (before, Some(why)) => {
                if let State::Indexed { .. } = before {
                    self.index.remove(&subscription.filter, place);
                }
                State::Idle(why)
            }
        };
        if let Some(Some(entry)) = self.entries.get_mut(place as usize) {
            entry.state = state;
        }
    }

    /// Returns why a subscription can match nothing.
    fn why_idle(&self, entry: &Entry) -> Option<&'static str> {
        let subscription = &entry.subscription;
        let own = self
            .overriding
            .get(&subscription.id)
            .filter(|_| subscription.is_system);
        let own = own.and_then(|own| self.entry(*self.places.get(own)?));
        if !subscription.enabled {
            Some("it is disabled")
        // No project silences a protected one: only a subscription that takes events replaces it.
        } else if own.is_some_and(|own| !subscription.protected || own.takes_events()) {
            Some("another subscription takes its place")
        } else if !entry.is_readable {
            Some("its condition cannot be read")
        } else {
            None
        }
    }

    fn entry(&self, place: u32) -> Option<&Entry> {
        self.entries.get(place as usize)?.as_ref()
    }

    /// Returns the size of the documents of its subscriptions, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether so much has changed that what is removed may take as much room as what is there.
    pub fn is_worn(&self) -> bool {
        self.changes > 2 * self.places.len() + MIN_CHANGES
    }

    /// Returns the subscriptions that match an event, and those whose condition has no result for it.
    pub fn matches(&self, event: &EventToMatch<'_>) -> Result<Vec<Match>> {
        let mut subject = None;
        let mut matched = Vec::new();
        for place in self.index.select(event.envelope) {
            let Some(entry) = self.entry(place) else {
                continue;
            };
            let is_taken = matches!(entry.state, State::Indexed { is_exact: true });
            let unanswered = match why_not(entry, event, is_taken, &mut subject)? {
                None => None,
                Some(WhyNot::Unanswered(cause)) => Some(cause.to_string()),
                Some(_) => continue,
            };
            matched.push(Match {
                subscription: Arc::clone(&entry.subscription),
                revision: entry.revision,
                unanswered,
            });
        }
        Ok(matched)
    }

    /// Returns a verdict for every subscription.
    pub fn explain(&self, event: &EventToMatch<'_>) -> Result<Vec<Verdict>> {
        let mut subject = None;
        let mut verdicts = Vec::new();
        for entry in self.entries.iter().flatten() {
            let why_not = match entry.state {
                State::Idle(why) => Some(why.to_owned()),
                State::Indexed { .. } => why_not(entry, event, false, &mut subject)?.map(|why| {
                    let condition = entry.condition.as_ref().map(|shared| &*shared.condition);
                    why.sentence(event.envelope, condition, subject.as_ref())
                }),
            };
            verdicts.push(Verdict {
                subscription: Arc::clone(&entry.subscription),
                why_not,
            });
        }
        verdicts.sort_by(|one, other| one.subscription.id.cmp(&other.subscription.id));
        Ok(verdicts)
    }

    /// Returns the number of subscriptions that the index selects for an event.
    pub fn candidate_count(&self, event: &Envelope) -> usize {
        self.index.select(event).len()
    }
}

enum WhyNot {
    /// A list of its filter excludes the event.
    Filter(Refusal),
    /// The subscription itself led to the event.
    Lineage,
    /// The event is of a private run. A subscription belongs to the project, as do its deliveries, and its
    /// role is never one that sees private runs.
    Private,
    Condition,
    Unanswered(Unanswered),
}

impl WhyNot {
    fn sentence(&self, event: &Envelope, condition: Option<&Condition>, subject: Option<&Subject>) -> String {
        match self {
            Self::Filter(refusal) => refusal.sentence(event),
            Self::Lineage => "it has led to the event itself".to_owned(),
            Self::Private => "the event is of a private run".to_owned(),
            Self::Condition => {
                let values = condition
                    .zip(subject)
                    .map(|(condition, subject)| condition.values(subject));
                match values.filter(|values| !values.is_empty()) {
                    Some(values) => format!("condition is not true: {values}"),
                    None => "condition is not true".to_owned(),
                }
            }
            Self::Unanswered(cause) => cause.to_string(),
        }
    }
}

/// Returns why a filter excludes an event, in the sentence of [`SubscriptionSet::explain`]; None where all of
/// it but the semantic condition, which is not evaluated, is met.
pub fn why_filter_excludes(filter: &Filter, envelope: &Envelope) -> Result<Option<String>> {
    let condition = filter.condition.as_ref().map(Condition::compile).transpose()?;
    let mut subject = Subject::new(&envelope.to_json()?)?;
    let mut refusal = filter.refuses(envelope).map(WhyNot::Filter);
    if let (None, Some(condition)) = (&refusal, &condition) {
        refusal = why_condition_fails(condition.holds(&mut subject));
    }
    Ok(refusal.map(|why| why.sentence(envelope, condition.as_ref(), Some(&subject))))
}

/// Returns why a subscription does not match an event; `is_taken` where the lists of its filter are known to
/// take the event.
fn why_not(
    entry: &Entry,
    event: &EventToMatch<'_>,
    is_taken: bool,
    subject: &mut Option<Subject>,
) -> Result<Option<WhyNot>> {
    let subscription = &entry.subscription;
    if event.private_to.is_some() {
        return Ok(Some(WhyNot::Private));
    }
    if !is_taken && let Some(refusal) = subscription.filter.refuses(event.envelope) {
        return Ok(Some(WhyNot::Filter(refusal)));
    }
    // A subscription must not react to what it started itself.
    if event.lineage.contains(&subscription.id) {
        return Ok(Some(WhyNot::Lineage));
    }
    let Some(condition) = &entry.condition else {
        return Ok(None);
    };
    let subject = match subject {
        Some(subject) => subject,
        None => subject.insert(Subject::new(event.text)?),
    };
    Ok(why_condition_fails(condition.holds(subject)))
}

fn why_condition_fails(holds: std::result::Result<bool, Unanswered>) -> Option<WhyNot> {
    match holds {
        Ok(true) => None,
        Ok(false) => Some(WhyNot::Condition),
        Err(cause) => Some(WhyNot::Unanswered(cause)),
    }
}

impl Entry {
    /// Returns whether it takes events: it is enabled, and its condition can be read.
    fn takes_events(&self) -> bool {
        self.subscription.enabled && self.is_readable
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn record(id: &str, parts: &Value) -> SubscriptionRecord {
        let mut document = json!({
            "id": id, "name": "s", "scope": "project", "enabled": true, "priority": "normal", "run_as_role": "reader",
            "filter": {}, "target": { "type": "workflow", "endpoint": "w" }, "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z", "created_by": "u", "updated_by": "u",
        });
        for (name, value) in parts.as_object().unwrap() {
            document[name] = value.clone();
        }
        SubscriptionRecord {
            id: id.to_owned(),
            revision: 1,
            document: document.to_string(),
        }
    }

    /// Returns the ids of the subscriptions that can match.
    fn taking(set: &SubscriptionSet) -> String {
        let entries = set.entries.iter().flatten();
        let indexed = entries.filter(|entry| matches!(entry.state, State::Indexed { .. }));
        let ids: Vec<_> = indexed.map(|entry| entry.subscription.id.as_str()).collect();
        ids.join(" ")
    }

    #[test]
    fn override_that_takes_no_events_silences_no_protected_subscription() {
        let unreadable = json!({ "filter": { "condition": { "no_such_operator": [] } } });
        for (protected, own, expected) in [
            (false, json!({}), "own"),
            (false, json!({ "enabled": false }), ""),
            (false, unreadable.clone(), ""),
            (true, json!({}), "own"),
            (true, json!({ "enabled": false }), "system"),
            (true, unreadable, "system"),
        ] {
            let mut own = own;
            own["overrides_system_subscription_id"] = json!("system");
            let records = [
                record("own", &own),
                record("system", &json!({ "is_system": true, "protected": protected })),
            ];
            let set = SubscriptionSet::compile(&records);
            assert_eq!(taking(&set), expected, "{protected} {own}");
        }
    }
}
