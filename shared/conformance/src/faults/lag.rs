//! Tracks items whose last write is not visible in indexes yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use platform::records::Key;
use platform::records::store::Item;
use rand::RngExt as _;

use super::{LONGEST_LAG, State, chance};

pub(super) type Place = (Arc<str>, String, String);

/// Items as still visible in indexes: their state before the oldest hidden write.
#[derive(Default)]
pub(super) struct Lag(BTreeMap<Place, Hidden>);

struct Hidden {
    /// None if there was no item.
    before: Option<Item>,
    /// Number of index reads until the write becomes visible.
    reads_left: u32,
}

impl Lag {
    pub(super) fn settle(&mut self) {
        self.0.clear();
    }

    /// Counts a read of an index of this table, and returns the items that it sees in their old state.
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
    /// May hide the write of an item, by chance. An item with a hidden write keeps its visible state.
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
