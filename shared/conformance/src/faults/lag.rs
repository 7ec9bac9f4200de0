//! Items whose last write indexes do not show yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use platform::records::Key;
use platform::records::store::Item;
use rand::RngExt as _;

use super::{LONGEST_LAG, State, chance};

/// Table, partition key and sort key.
pub(super) type Place = (Arc<str>, String, String);

/// Items as indexes still show them: as they were before the oldest write that is hidden.
#[derive(Default)]
pub(super) struct Lag(BTreeMap<Place, Hidden>);

struct Hidden {
    /// None where there was no item.
    before: Option<Item>,
    /// Reads of indexes until it is shown.
    reads_left: u32,
}

impl Lag {
    pub(super) fn settle(&mut self) {
        self.0.clear();
    }

    /// The items of a table that one more read of an index sees as they were.
    pub(super) fn read(&mut self, table: &str) -> Vec<(Key, Option<Item>)> {
        for hidden in self.0.values_mut() {
            hidden.reads_left = hidden.reads_left.saturating_sub(1);
        }
        self.0.retain(|_, hidden| hidden.reads_left > 0);
        let of_table = self.0.iter().filter(|((of, ..), _)| &**of == table);
        of_table
            .map(|((_, pk, sk), hidden)| (Key::new(pk, sk), hidden.before.clone()))
            .collect()
    }
}

impl State {
    /// Hides the write of an item, or does not. An item of which one is hidden already stays as it is shown.
    pub(super) fn may_hide(&mut self, place: Place, before: Option<Item>) {
        if !chance(&mut self.records, self.rates.late) {
            return;
        }
        self.counts.late += 1;
        let reads_left = self.records.random_range(2..=LONGEST_LAG + 1);
        let hidden = Hidden { before, reads_left };
        self.lag.0.entry(place).or_insert(hidden);
    }
}
