//! Finds the subscriptions that match an event.
//!
//! The subscriptions of a project are compiled once and cached until one of them changes. An index by
//! category, action and resource type leaves few candidates, so that the cost of a match depends on the
//! candidates and their different conditions, and not on the number of subscriptions.

mod index;

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use platform::{Error, Result, Tenant};
use tracing::error;

use self::index::Index;
use crate::condition::{Condition, SharedCondition, SharedConditions, Subject, Unanswered};
use crate::envelope::Envelope;
use crate::filter::{Filter, Refusal};
use crate::records::subscriptions::{SubscriptionRecord, Subscriptions};
use crate::subscription::StoredSubscription;

/// Maximum length of the chain of subscriptions that led to an event which is still matched.
pub const MAX_LINEAGE: usize = 5;
/// Maximum number of projects in the cache.
const MAX_PROJECTS: Option<NonZeroUsize> = NonZeroUsize::new(1_000);
/// Number of attempts to read subscriptions that change meanwhile.
const MAX_READS: u32 = 16;

/// A compiled subscription that can match.
struct Entry {
    subscription: Arc<StoredSubscription>,
    revision: u64,
    condition: Option<SharedCondition>,
    /// Whether the lists of its filter take every event that the index selects it for.
    is_exact: bool,
}

/// Compiled subscriptions of a project.
pub struct SubscriptionSet {
    change_id: Option<String>,
    entries: Vec<Entry>,
    index: Index,
    /// Subscriptions that can match nothing, with the reason.
    idle: Vec<(Arc<StoredSubscription>, &'static str)>,
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
    /// Compiles the subscriptions of a project. A subscription that cannot be parsed matches nothing and is
    /// logged.
    pub fn compile(records: &[SubscriptionRecord], change_id: Option<String>) -> Self {
        let read = |record: &SubscriptionRecord| {
            let read = StoredSubscription::from_record(record);
            let read = read.inspect_err(
                |cause| error!(subscription_id = record.id, %cause, "a subscription cannot be read"),
            );
            Some((Arc::new(read.ok()?), record.revision))
        };
        let subscriptions: Vec<_> = records.iter().filter_map(read).collect();
        let overriding = || {
            subscriptions.iter().filter_map(|(own, _)| {
                let system = own.overrides_system_subscription_id.clone()?;
                Some((system, own))
            })
        };
        let replaced: HashSet<String> = overriding().map(|(system, _)| system).collect();
        // No project silences a protected one: only a subscription that takes events replaces it.
        let replaced_protected: HashSet<String> = overriding()
            .filter(|(_, own)| takes_events(own))
            .map(|(system, _)| system)
            .collect();
        let mut set = Self {
            change_id,
            entries: Vec::new(),
            index: Index::default(),
            idle: Vec::new(),
        };
        let mut conditions = SharedConditions::default();
        for (subscription, revision) in subscriptions {
            if !subscription.enabled {
                set.idle.push((subscription, "it is disabled"));
            } else if subscription.is_system
                && match subscription.protected {
                    true => replaced_protected.contains(&subscription.id),
                    false => replaced.contains(&subscription.id),
                }
            {
                set.idle
                    .push((subscription, "another subscription takes its place"));
            } else {
                set.add(subscription, revision, &mut conditions);
            }
        }
        set
    }

    fn add(
        &mut self,
        subscription: Arc<StoredSubscription>,
        revision: u64,
        conditions: &mut SharedConditions,
    ) {
        let condition = subscription.filter.condition.as_ref();
        let compiled = condition.map(|condition| conditions.compile(condition));
        let condition = match compiled.transpose() {
            Ok(condition) => condition,
            Err(cause) => {
                error!(subscription_id = subscription.id, %cause, "a condition cannot be compiled");
                self.idle.push((subscription, "its condition cannot be read"));
                return;
            }
        };
        let is_exact = self.index.add(&subscription.filter, self.entries.len());
        self.entries.push(Entry {
            subscription,
            revision,
            condition,
            is_exact,
        });
    }

    /// Returns the subscriptions that match an event, and those whose condition has no result for it.
    pub fn matches(&self, event: &EventToMatch<'_>) -> Result<Vec<Match>> {
        let mut subject = None;
        let mut matched = Vec::new();
        let places = self.index.select(event.envelope).into_iter();
        for entry in places.filter_map(|place| self.entries.get(place)) {
            let unanswered = match why_not(entry, event, entry.is_exact, &mut subject)? {
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
        for entry in &self.entries {
            verdicts.push(Verdict {
                subscription: Arc::clone(&entry.subscription),
                why_not: why_not(entry, event, false, &mut subject)?.map(|why| {
                    let condition = entry.condition.as_ref().map(|shared| &*shared.condition);
                    why.sentence(event.envelope, condition, subject.as_ref())
                }),
            });
        }
        verdicts.extend(self.idle.iter().map(|(subscription, why)| Verdict {
            subscription: Arc::clone(subscription),
            why_not: Some((*why).to_owned()),
        }));
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

/// Returns whether a subscription takes events: it is enabled, and its condition can be read.
fn takes_events(subscription: &StoredSubscription) -> bool {
    let condition = subscription.filter.condition.as_ref();
    subscription.enabled && condition.is_none_or(|condition| Condition::compile(condition).is_ok())
}

/// Caches the compiled subscriptions of projects with recent events.
pub struct SubscriptionSets {
    subscriptions: Subscriptions,
    kept: Mutex<LruCache<Tenant, Arc<SubscriptionSet>>>,
}

impl SubscriptionSets {
    pub fn new(subscriptions: Subscriptions) -> Self {
        Self {
            subscriptions,
            kept: Mutex::new(LruCache::new(MAX_PROJECTS.unwrap_or(NonZeroUsize::MIN))),
        }
    }

    /// Returns the current subscriptions of a project, and the number of its listening runs.
    pub async fn get(&self, tenant: &Tenant) -> Result<(Arc<SubscriptionSet>, u64)> {
        let mut last = self.subscriptions.state(tenant).await?;
        let kept = self.kept.lock().get(tenant).cloned();
        if let Some(set) = kept.filter(|set| set.change_id == last.change_id) {
            return Ok((set, last.listeners));
        }
        for _ in 0..MAX_READS {
            let records = self.subscriptions.list(tenant).await?;
            let after = self.subscriptions.state(tenant).await?;
            if after.change_id == last.change_id {
                let set = Arc::new(SubscriptionSet::compile(&records, after.change_id));
                self.kept.lock().put(tenant.clone(), Arc::clone(&set));
                return Ok((set, after.listeners));
            }
            last = after;
        }
        Err(Error::unavailable(
            "the subscriptions of a project change all the time",
        ))
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
            let set = SubscriptionSet::compile(&records, None);
            let taking: Vec<_> = set
                .entries
                .iter()
                .map(|entry| entry.subscription.id.as_str())
                .collect();
            assert_eq!(taking.join(" "), expected, "{protected} {own}");
        }
    }
}
