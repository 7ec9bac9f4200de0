//! Selects the subscriptions whose filter may take an event, by category, action and resource type.

use std::collections::HashMap;

use crate::envelope::{Category, Envelope};
use crate::filter::{Filter, is_open};

/// Maximum number of keys of one filter. A filter with more gets wider keys, and is selected for more events
/// than it takes.
const MAX_KEYS: usize = 512;

/// A category, and the numbers of an action and a resource type; None stands for all.
type Key = (Option<Category>, Option<usize>, Option<usize>);

#[derive(Default)]
pub(super) struct Index {
    /// Numbers of the names in the lists of filters.
    names: HashMap<String, usize>,
    places: HashMap<Key, Vec<usize>>,
}

impl Index {
    /// Adds the filter at a place. Returns whether its lists take every event that it is selected for.
    pub fn add(&mut self, filter: &Filter, place: usize) -> bool {
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
        let is_exact =
            |numbers: &[Option<usize>], list: &[String]| numbers.contains(&None) == list.is_empty();
        let is_exact = is_exact(&actions, &filter.action) && is_exact(&resource_types, &filter.resource_type);
        for category in categories {
            for action in &actions {
                for resource_type in &resource_types {
                    let places = self.places.entry((category, *action, *resource_type));
                    places.or_default().push(place);
                }
            }
        }
        is_exact
    }

    /// Returns the numbers of the names in a list, each once; None where it takes more names than it has.
    fn numbers(&mut self, list: &[String]) -> Vec<Option<usize>> {
        if list.is_empty() || list.iter().any(|entry| is_open(entry)) {
            return vec![None];
        }
        let number = |name: &String| {
            let next = self.names.len();
            Some(*self.names.entry(name.clone()).or_insert(next))
        };
        let mut numbers: Vec<_> = list.iter().map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Returns the places of the filters that an event selects, each once, in their order.
    pub fn select(&self, event: &Envelope) -> Vec<usize> {
        let number = |name: &String| self.names.get(name).copied();
        let mut places = Vec::new();
        for category in [Some(event.event_category), None] {
            for action in [number(&event.action), None] {
                for resource_type in [number(&event.resource_type), None] {
                    let selected = self.places.get(&(category, action, resource_type));
                    places.extend(selected.into_iter().flatten());
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }
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
            let exact: Vec<_> = filters.iter().enumerate().map(|(place, filter)| index.add(filter, place)).collect();
            for category in Category::ALL {
                for action in NAMES {
                    for resource_type in NAMES {
                        let event = event(category, action, resource_type);
                        let selected = index.select(&event);
                        prop_assert!(selected.is_sorted_by(|one, other| one < other));
                        for (place, filter) in filters.iter().enumerate() {
                            let takes = filter.refuses(&event).is_none();
                            let is_selected = selected.contains(&place);
                            prop_assert!(is_selected || !takes, "{filter:?} {event:?}");
                            prop_assert!(takes || !(is_selected && exact[place]), "{filter:?} {event:?}");
                        }
                    }
                }
            }
        }
    }
}
