//! The key schema that the tables have, for whoever makes tables: the local runner and the tests. In the cloud
//! `template.yaml` makes them.

/// The attribute that ends an item's life, in seconds since the Unix epoch.
pub const EXPIRES_AT: &str = "expires_at";

/// Index `gsi1`, for a second way to ask.
pub const GSI1: &str = "gsi1";

/// Sparse index of unfinished work, by the time at which somebody should look at it.
pub const DUE: &str = "due";

/// Indexes of what is listed in several ways: by time, by status, and by two things more, which are a run's type and document, and a
/// delivery's subscription and event.
pub const LISTING_INDEXES: [&str; 4] = [GSI1, "gsi2", "gsi3", "gsi4"];

const INDEXES_OF_LISTED: [&str; 5] = {
    let [time, status, first, second] = LISTING_INDEXES;
    [DUE, time, status, first, second]
};

/// The attribute that these indexes carry beside keys: what a listing shows, or chooses by.
pub const SUMMARY: &str = "summary";

/// What a table is for; it decides which indexes there are and what these carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Records of any kind: `gsi1`, with whole items.
    Records,
    /// Runs, events and deliveries: an index for each question of a listing, with the summary alone. A run is written with each of its
    /// steps, and an index only where what it carries has changed.
    Listed,
}

/// What an index holds of an item, beside the keys of the item and of its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Every attribute.
    All,
    /// [`SUMMARY`].
    Summary,
    /// The keys alone.
    Keys,
}

/// In the order that the SQLite adapter numbers them: new ones come last.
pub const fn indexes(kind: TableKind) -> &'static [&'static str] {
    match kind {
        TableKind::Records => &[DUE, GSI1],
        TableKind::Listed => &INDEXES_OF_LISTED,
    }
}

/// What an index of a table holds of an item.
pub fn carried(kind: TableKind, index: &str) -> Carried {
    match (kind, index) {
        (TableKind::Records, _) => Carried::All,
        (TableKind::Listed, DUE) => Carried::Keys,
        (TableKind::Listed, _) => Carried::Summary,
    }
}
