//! Defines the key schema of the tables, for the local runner and the tests, which create tables. In the
//! cloud `template.yaml` creates them.

/// Attribute with an item's expiry, in seconds since the Unix epoch.
pub const EXPIRES_AT: &str = "expires_at";

/// A second index with its own keys.
pub const GSI1: &str = "gsi1";

/// Attribute with the sort key of an item's places in all indexes but [`DUE`].
pub const LISTED_AT: &str = "listed_at";

/// Sparse index of unfinished work, by the time at which the sweeper looks at it.
pub const DUE: &str = "due";

/// Indexes of records that are listed in several ways: by time, by status, and by two more attributes, which
/// are the type and document of a run, or the subscription and event of a delivery.
pub const LISTING_INDEXES: [&str; 4] = [GSI1, "gsi2", "gsi3", "gsi4"];

/// A further index of the same kind, of the runs of a subscription. Deliveries have no place in it, so the
/// template leaves it out of their table.
pub const BY_RULE: &str = "gsi5";

const INDEXES_OF_LISTED: [&str; 6] = {
    let [time, status, first, second] = LISTING_INDEXES;
    [DUE, time, status, first, second, BY_RULE]
};

/// Attribute that these indexes carry besides keys: what a listing shows or filters by.
pub const SUMMARY: &str = "summary";

/// Purpose of a table, which determines its indexes and what these carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Records of any kind: `gsi1`, with whole items.
    Records,
    /// Runs, events and deliveries: an index for each kind of listing, with only the summary. A run is
    /// written with each of its steps, but an index only when its carried attributes change.
    Listed,
}

/// Attributes of an item in an index, besides the keys of the item and of its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    All,
    /// Only [`SUMMARY`].
    Summary,
    /// Nothing besides the keys.
    Keys,
}

/// Ordered as the SQLite adapter numbers them; a new index must come last.
pub const fn indexes(kind: TableKind) -> &'static [&'static str] {
    match kind {
        TableKind::Records => &[DUE, GSI1],
        TableKind::Listed => &INDEXES_OF_LISTED,
    }
}

/// Returns what an index of a table carries.
pub fn carried(kind: TableKind, index: &str) -> Carried {
    match (kind, index) {
        (TableKind::Records, _) => Carried::All,
        (TableKind::Listed, DUE) => Carried::Keys,
        (TableKind::Listed, _) => Carried::Summary,
    }
}
