//! Selects the subscriptions whose filter may take an event, by category, action and resource type.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::envelope::{Category, Envelope};
use crate::filter::{Filter, is_open};

/// Maximum number of keys of one filter. A filter with more gets wider keys, and is selected for more events
/// than it takes.
const MAX_KEYS: usize = 512;

/// A category, and the numbers of an action and a resource type; None stands for all.
type Key = (Option<Category>, Option<u32>, Option<u32>);

#[derive(Default)]
pub(super) struct Index {
    /// Numbers of the names in the lists of filters.
    names: HashMap<String, u32>,
    places: HashMap<Key, Vec<u32>>,
}

impl Index {
    /// Adds the filter at a place. Returns whether its lists take every event that it is selected for.
    pub fn add(&mut self, filter: &Filter, place: u32) -> bool {
        let (keys, is_exact) = self.keys(filter);
        for key in keys {
            self.places.entry(key).or_default().push(place);
        }
        is_exact
    }

    /// Removes a filter that was added at a place.
    pub fn remove(&mut self, filter: &Filter, place: u32) {
        for key in self.keys(filter).0 {
            if let Entry::Occupied(mut places) = self.places.entry(key) {
                places.get_mut().retain(|other| *other != place);
                if places.get().is_empty() {
                    places.remove();
                }
            }
        }
    }

    /// Returns the keys of a filter, each once, and whether its lists take every event with one of them.
    fn keys(&mut self, filter: &Filter) -> (Vec<Key>, bool) {
        let categories = filter.categories();
        let categories: Vec<_> = match categories.len() == Category::ALL.len() {
            true => vec![None],
            false => categories.into_iter().map(Some).collect(),
        };
        let mut actions = self.numbers(&filter.action);
        let mut resource_types = self.numbers(&filter.resource_type);
        if categories.len() * actions.len() * resource_types.len() > MAX_KEYS {
            // The longer list narrows less.
            let longer = if actions.len() > resource_types.len() {
                &mut actions
            } else {
                &mut resource_types
            };
            *longer = vec![None];
        }
        let is_exact = |numbers: &[Option<u32>], list: &[String]| numbers.contains(&None) == list.is_empty();
        let is_exact = is_exact(&actions, &filter.action) && is_exact(&resource_types, &filter.resource_type);
        let mut keys = Vec::with_capacity(categories.len() * actions.len() * resource_types.len());
        for category in categories {
            for action in &actions {
                keys.extend(
                    resource_types
                        .iter()
                        .map(|resource_type| (category, *action, *resource_type)),
                );
            }
        }
        (keys, is_exact)
    }

    /// Returns the numbers of the names in a list, each once; None where it takes more names than it has.
    fn numbers(&mut self, list: &[String]) -> Vec<Option<u32>> {
        if list.is_empty() || list.iter().any(|entry| is_open(entry)) {
            return vec![None];
        }
        let number = |name: &String| {
            if let Some(number) = self.names.get(name) {
                return Some(*number);
            }
            let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
            self.names.insert(name.clone(), next);
            Some(next)
        };
        let mut numbers: Vec<_> = list.iter().map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Returns the places of the filters that an event selects, each once, in their order: a filter has all
    /// names of a list or their numbers, so one of its keys at most is one of the event's.
    pub fn select(&self, event: &Envelope) -> Vec<u32> {
        let number = |name: &String| self.names.get(name).copied();
        let mut places = Vec::new();
        for category in [Some(event.event_category), None] {
            for action in unlike(number(&event.action)) {
                for resource_type in unlike(number(&event.resource_type)) {
                    let selected = self.places.get(&(category, action, resource_type));
                    places.extend(selected.into_iter().flatten());
                }
            }
        }
        // A stable sort takes little time over few lists that are in order.
        places.sort();
        places
    }
}

/// Returns the parts of keys that take a name: its number, where it has one, and that of all names.
fn unlike(number: Option<u32>) -> impl Iterator<Item = Option<u32>> {
    number.into_iter().map(Some).chain([None])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(category: Category, action: &str, resource_type: &str) -> Envelope {
        let text = r#"{"event_id":"e1","event_category":"content","action":"a","resource_type":"b","resource_id":"o1",
            "account_id":"acme","project_id":"demo","timestamp":"2026-01-02T03:04:05Z","source":"shop"}"#;
        let mut event = Envelope::parse(text).unwrap();
        event.event_category = category;
        event.action = action.to_owned();
        event.resource_type = resource_type.to_owned();
        event
    }

    fn numbered(prefix: &str) -> Vec<String> {
        (0..30).map(|number| format!("{prefix}{number}")).collect()
    }

    #[test]
    fn filter_with_too_many_keys_is_selected_for_more_than_it_takes() {
        let filter = Filter {
            action: numbered("a"),
            resource_type: numbered("b"),
            ..Filter::default()
        };
        let mut index = Index::default();
        assert!(!index.add(&filter, 0));
        assert_eq!(index.select(&event(Category::Content, "a1", "b1")), [0]);
        assert_eq!(index.select(&event(Category::Content, "a1", "c")), [0]);
        assert!(index.select(&event(Category::Content, "c", "b1")).is_empty());
    }

    const NAMES: [&str; 9] = ["", "a", "b", "ab", "a*", "*", "*a", "a\u{1f}b", "b\u{1f}"];

    fn names() -> impl Strategy<Value = Vec<String>> {
        let few = prop::collection::vec(prop::sample::select(&NAMES[..]).prop_map(str::to_owned), 0..4);
        prop_oneof![9 => few, 1 => Just(numbered("a"))]
    }

    fn categories() -> impl Strategy<Value = Vec<String>> {
        let categories = Category::ALL.map(Category::as_str).to_vec();
        let few = prop::sample::subsequence(categories, 0..=Category::ALL.len());
        let few = few.prop_map(|few| few.into_iter().map(str::to_owned).collect());
        prop_oneof![few, Just(vec!["*".to_owned()])]
    }

    fn filter() -> impl Strategy<Value = Filter> {
        let lists = (categories(), categories(), names(), names());
        lists.prop_map(
            |(event_category, exclude_event_category, action, resource_type)| Filter {
                event_category,
                exclude_event_category,
                action,
                resource_type,
                ..Filter::default()
            },
        )
    }

    proptest! {
        #[test]
        fn filters_that_take_an_event_are_selected_and_exact_ones_alone(filters in prop::collection::vec(filter(), 1..8)) {
            let mut index = Index::default();
            let exact: Vec<_> = (0..).zip(&filters).map(|(place, filter)| index.add(filter, place)).collect();
            // What is removed, and what is added again, leaves no trace.
            for (place, filter) in (0..).zip(&filters) {
                index.add(filter, place + 100);
            }
            for (place, filter) in (0..).zip(&filters) {
                index.remove(filter, place + 100);
                index.remove(filter, place);
                index.add(filter, place);
            }
            for category in Category::ALL {
                for action in NAMES {
                    for resource_type in NAMES {
                        let event = event(category, action, resource_type);
                        let selected = index.select(&event);
                        prop_assert!(selected.is_sorted_by(|one, other| one < other));
                        prop_assert!(selected.iter().all(|place| *place < 100));
                        for ((place, filter), is_exact) in (0..).zip(&filters).zip(&exact) {
                            let takes = filter.refuses(&event).is_none();
                            let is_selected = selected.contains(&place);
                            prop_assert!(is_selected || !takes, "{filter:?} {event:?}");
                            prop_assert!(takes || !(is_selected && *is_exact), "{filter:?} {event:?}");
                        }
                    }
                }
            }
        }
    }
}
