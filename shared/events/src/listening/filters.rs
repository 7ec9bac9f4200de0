//! Compiles the filters of listeners once, and compares an event with all of them within a budget.
//!
//! A filter is text of a caller, and a project has up to a thousand. So an event has a number of steps for
//! all of them, which counts compilations too: a listener that is not decided within them may fit, and its
//! run decides. The work has a low priority, and is shared by account.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use platform::fair::{FairPermits, Permit};
use platform::{Error, Result, low_priority};
use process::Data;
use process::definition::{EventFilter, ExpectedAttribute, Template, pattern_text};
use process::flow::event::{Attributes, matches};
use process::pattern::{Pattern, Steps};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::DATA;
use crate::records::listeners::Listener;

/// Steps for one event: about 0.2 s of processor time at most. A thousand listeners with some patterns each
/// take less.
const STEPS: u64 = 20_000_000;
/// Maximum memory of the compiled filters, in bytes.
const MAX_BYTES: usize = 16 * 1_024 * 1_024;
/// Approximate memory of a compiled filter for each byte of its text.
const BYTES_PER_BYTE: usize = 8;
/// Events that are compared at a time; those of one account one by one.
const MAX_EVENTS: usize = 2;

/// The filters of one listener, one of which an event must match.
type Filters = Vec<EventFilter>;
type Digest = [u8; 32];

/// Compiled filters of listeners. Clones share them.
#[derive(Clone)]
pub struct ListenerFilters {
    cache: Arc<Mutex<Cache>>,
    permits: FairPermits,
}

/// Compiled filters by the hash of their text; None for a text that cannot be compiled.
struct Cache {
    filters: LruCache<Digest, Entry>,
    bytes: usize,
}

#[derive(Clone)]
struct Entry {
    filters: Option<Arc<Filters>>,
    bytes: usize,
}

impl Default for ListenerFilters {
    fn default() -> Self {
        Self {
            cache: Arc::new(Mutex::new(Cache {
                filters: LruCache::unbounded(),
                bytes: 0,
            })),
            // The queue of events limits the number of those that wait.
            permits: FairPermits::new(MAX_EVENTS, usize::MAX),
        }
    }
}

impl ListenerFilters {
    /// Waits until the account may compare an event. Its listeners are read afterwards, so that few events
    /// hold them in memory.
    pub async fn permit(&self, account: &str) -> Result<Permit> {
        self.permits.wait(account).await
    }

    /// Returns the listeners that an event may concern.
    pub async fn fitting(
        &self,
        permit: Permit,
        listeners: Vec<Listener>,
        event: Box<RawValue>,
    ) -> Result<Vec<Listener>> {
        let cache = Arc::clone(&self.cache);
        let account = permit.account().to_owned();
        let fitting = low_priority::run(&account, async move {
            let _permit = permit;
            fitting(&cache, listeners, event, &mut Steps::new(STEPS))
        });
        fitting.await?
    }
}

fn fitting(
    cache: &Mutex<Cache>,
    listeners: Vec<Listener>,
    event: Box<RawValue>,
    steps: &mut Steps,
) -> Result<Vec<Listener>> {
    let event = Data::from_raw(event).map_err(Error::internal)?;
    let event = Attributes::of(&event).without(DATA);
    // The runs of one definition have the same filter.
    let mut decided: HashMap<Digest, bool> = HashMap::new();
    let mut fitting = Vec::new();
    for listener in listeners {
        let digest = Sha256::digest(&listener.filter).into();
        let may_fit = match decided.get(&digest) {
            Some(may_fit) => *may_fit,
            None => {
                // The run decides about a filter for which no steps are left.
                let may_fit = may_fit(cache, digest, &listener.filter, &event, steps).unwrap_or(true);
                decided.insert(digest, may_fit);
                may_fit
            }
        };
        if may_fit {
            fitting.push(listener);
        }
    }
    Ok(fitting)
}

/// None where the steps do not suffice.
fn may_fit(
    cache: &Mutex<Cache>,
    digest: Digest,
    text: &str,
    event: &Attributes,
    steps: &mut Steps,
) -> Option<bool> {
    let entry = cache.lock().filters.get(&digest).cloned();
    let entry = match entry {
        Some(entry) => entry,
        None => {
            let entry = Entry::compile(text, steps)?;
            cache.lock().put(digest, entry.clone());
            entry
        }
    };
    // The run decides about a filter that cannot be compiled here.
    let Some(filters) = entry.filters else {
        return Some(true);
    };
    for filter in filters.iter() {
        if matches(filter, event, &[], steps)? {
            return Some(true);
        }
    }
    Some(filters.is_empty())
}

impl Cache {
    fn put(&mut self, digest: Digest, entry: Entry) {
        self.bytes += entry.bytes;
        if let Some(replaced) = self.filters.put(digest, entry) {
            self.bytes -= replaced.bytes;
        }
        while self.bytes > MAX_BYTES
            && let Some((_, oldest)) = self.filters.pop_lru()
        {
            self.bytes -= oldest.bytes;
        }
    }
}

impl Entry {
    /// None where the steps do not suffice.
    fn compile(text: &str, steps: &mut Steps) -> Option<Self> {
        let bytes = text.len().saturating_mul(BYTES_PER_BYTE);
        steps.take(u64::try_from(bytes).ok()?)?;
        let Ok(constants) = serde_json::from_str::<Vec<BTreeMap<String, Box<RawValue>>>>(text) else {
            return Some(Self { filters: None, bytes });
        };
        let mut filters = Vec::new();
        for constants in constants {
            let mut with = Vec::new();
            for (name, value) in constants.into_iter().filter(|(name, _)| name != DATA) {
                let Ok(constant) = Data::from_raw(value) else {
                    return Some(Self { filters: None, bytes });
                };
                let template = Template::Constant(constant);
                if let Some(pattern) = pattern_text(&template) {
                    steps.take(Pattern::compilation_steps(&pattern))?;
                }
                let Ok(attribute) = ExpectedAttribute::new(name, template) else {
                    return Some(Self { filters: None, bytes });
                };
                with.push(attribute);
            }
            filters.push(EventFilter {
                with,
                correlate: Vec::new(),
            });
        }
        let attributes = filters.iter().flat_map(|filter| &filter.with);
        let patterns: usize = attributes.map(ExpectedAttribute::pattern_bytes).sum();
        Some(Self {
            filters: Some(Arc::new(filters)),
            bytes: bytes + patterns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(run_id: usize, filter: &str) -> Listener {
        Listener {
            run_id: format!("run-{run_id}"),
            listener_id: "l".to_owned(),
            filter: filter.to_owned(),
            created_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        }
    }

    /// Returns which of the filters the event may fit, with so many steps.
    fn fitting(filters: &ListenerFilters, texts: &[String], steps: u64) -> Vec<usize> {
        let event = r#"{"type":"external.paid","source":"external:shop","level":7,"data":{"n":1}}"#;
        let event = RawValue::from_string(event.to_owned()).unwrap();
        let listeners = texts
            .iter()
            .enumerate()
            .map(|(run, text)| listener(run, text))
            .collect();
        let fitting = super::fitting(&filters.cache, listeners, event, &mut Steps::new(steps)).unwrap();
        let number = |listener: &Listener| listener.run_id.trim_start_matches("run-").parse().unwrap();
        fitting.iter().map(number).collect()
    }

    #[test]
    fn the_constants_of_a_filter_decide() {
        for (filter, fits) in [
            ("[]", true),
            ("[{}]", true),
            (r#"[{"type":"external.paid"}]"#, true),
            (r#"[{"type":"external\\..*","source":"external:shop"}]"#, true),
            (r#"[{"type":"external.sent"},{"level":7.0}]"#, true),
            (r#"[{"type":"external.sent"}]"#, false),
            (r#"[{"type":"external.paid","source":"other"}]"#, false),
            (r#"[{"type":"internal\\..*"}]"#, false),
            (r#"[{"unknown":"x"}]"#, false),
            // The run compares the data itself.
            (r#"[{"data":{"n":7}}]"#, true),
            ("no JSON", true),
            (r#"[{"type":"("}]"#, true),
        ] {
            let fitting = fitting(&ListenerFilters::default(), &[filter.to_owned()], STEPS);
            assert_eq!(!fitting.is_empty(), fits, "{filter}");
        }
    }

    #[test]
    fn a_filter_is_compiled_once_while_it_is_kept() {
        let filters = ListenerFilters::default();
        let text = r#"[{"type":"internal\\..*"}]"#.to_owned();
        let texts = [text.clone(), text.clone(), text];
        // Enough for one compilation and one comparison.
        let enough = 10_000;
        assert_eq!(fitting(&filters, &texts, enough), [] as [usize; 0]);
        assert_eq!(filters.cache.lock().filters.len(), 1);
        let comparison = 2_000;
        assert_eq!(fitting(&filters, &texts, comparison), [] as [usize; 0]);
        assert_eq!(
            fitting(&ListenerFilters::default(), &texts, comparison),
            [0, 1, 2]
        );
    }

    #[test]
    fn a_listener_without_steps_may_fit_and_is_compiled_with_a_later_event() {
        let filters = ListenerFilters::default();
        let texts: Vec<String> = (0..100)
            .map(|number| format!(r#"[{{"type":"internal{number}\\..*"}}]"#))
            .collect();
        let mut undecided = texts.len();
        while undecided > 0 {
            let next = fitting(&filters, &texts, 200_000).len();
            assert!(next < undecided, "{next} of {undecided}");
            undecided = next;
        }
    }

    #[test]
    fn a_cache_of_large_filters_stays_within_its_size() {
        let filters = ListenerFilters::default();
        let patterns: Vec<String> = (0..20)
            .map(|number| format!(r#"{{"type":"(a?){{300}}{number}"}}"#))
            .collect();
        for number in 0..100 {
            let text = format!(r#"[{{"source":"{number}"}},{}]"#, patterns.join(","));
            fitting(&filters, &[text], STEPS);
            let cache = filters.cache.lock();
            let kept: usize = cache.filters.iter().map(|(_, entry)| entry.bytes).sum();
            assert_eq!(cache.bytes, kept);
            assert!(kept <= MAX_BYTES, "{kept}");
        }
        assert!(filters.cache.lock().filters.len() < 100);
    }

    #[tokio::test]
    async fn events_of_one_account_are_compared_one_by_one_and_leave_room_for_another() {
        use futures::FutureExt as _;
        let filters = ListenerFilters::default();
        let first = filters.permit("a").await.unwrap();
        let mut second = Box::pin(filters.permit("a"));
        assert!(second.as_mut().now_or_never().is_none());
        let other = filters.permit("b").now_or_never();
        assert!(other.is_some_and(|permit| permit.is_ok()));
        let event = RawValue::from_string("{}".to_owned()).unwrap();
        let fitting = filters.fitting(first, vec![listener(1, "[]")], event).await;
        assert_eq!(fitting.unwrap().len(), 1);
        assert!(second.now_or_never().is_some_and(|permit| permit.is_ok()));
    }
}
