//! How one version follows another: which ids it gives out, and what a rollback makes.
//!
//! Files know their columns by field id alone. An id that stood for two columns would let the values of one show through
//! in the other, so neither a table's id nor, within a table, a column's is ever given twice in a store, also not after a
//! rollback to a version that did not know it yet.

use crate::schema::definition::Column;
use crate::schema::manifest::{Manifest, TableVersion};

impl Manifest {
    /// The id of a new table.
    pub fn issue_table_id(&mut self) -> u32 {
        let issued = self.first_free_table_id();
        self.next_table_id = issued.saturating_add(1);
        issued
    }

    /// Above every id ever given in the store, also where an older program did not count.
    pub(crate) fn first_free_table_id(&self) -> u32 {
        let used = self.tables.iter().map(|table| table.table_id).max().unwrap_or(0);
        self.next_table_id.max(used.saturating_add(1))
    }

    /// The next version after this one with the content of `old`, an earlier version of the same store.
    ///
    /// A table that is in both keeps its id and goes on counting its columns where the later one was. One that was dropped
    /// in between comes back under a new id, because nothing remembers how far its columns were counted.
    #[must_use]
    pub fn rolled_back_to(&self, old: &Manifest) -> Self {
        let mut next = old.clone();
        next.next_table_id = self.first_free_table_id().max(old.first_free_table_id());
        let mut tables = std::mem::take(&mut next.tables);
        for table in &mut tables {
            match self.tables.iter().find(|now| now.table_id == table.table_id) {
                Some(now) => table.next_field_id = table.next_field_id.max(now.next_field_id),
                None => table.table_id = next.issue_table_id(),
            }
        }
        next.tables = tables;
        next.schema_version = self.schema_version + u64::from(!self.has_schema_of(&next));
        next
    }

    /// Whether callers see the same schema in both.
    fn has_schema_of(&self, other: &Manifest) -> bool {
        let shown = |table: &TableVersion| {
            let columns: Vec<Column> = table.columns.iter().map(|column| column.definition()).collect();
            (table.name.clone(), table.description.clone(), columns)
        };
        self.description == other.description
            && self.relationships == other.relationships
            && self.tables.iter().map(shown).eq(other.tables.iter().map(shown))
    }

    /// Whether this version may follow `base`, checked at each commit; the sentences say what is broken.
    pub fn check_follows(&self, base: &Manifest) -> Result<(), Vec<String>> {
        let mut broken = Vec::new();
        no_table_id_is_given_twice(self, base, &mut broken);
        no_field_id_is_given_twice(self, base, &mut broken);
        schema_versions_rise(self, base, &mut broken);
        if broken.is_empty() { Ok(()) } else { Err(broken) }
    }
}

fn no_table_id_is_given_twice(next: &Manifest, base: &Manifest, broken: &mut Vec<String>) {
    let first_free = base.first_free_table_id();
    if next.first_free_table_id() < first_free {
        broken.push(format!(
            "next_table_id falls from {first_free} to {}",
            next.first_free_table_id()
        ));
    }
    for table in &next.tables {
        let is_old = base.tables.iter().any(|old| old.table_id == table.table_id);
        if !is_old && table.table_id < first_free {
            broken.push(format!(
                "the new table '{}' has the id {}, which was given before",
                table.name, table.table_id
            ));
        }
    }
}

fn no_field_id_is_given_twice(next: &Manifest, base: &Manifest, broken: &mut Vec<String>) {
    for old in &base.tables {
        let now = next.tables.iter().find(|table| table.table_id == old.table_id);
        if let Some(now) = now
            && now.next_field_id < old.next_field_id
        {
            broken.push(format!(
                "next_field_id of table '{}' falls from {} to {}",
                now.name, old.next_field_id, now.next_field_id
            ));
        }
    }
}

fn schema_versions_rise(next: &Manifest, base: &Manifest, broken: &mut Vec<String>) {
    if next.schema_version < base.schema_version {
        broken.push(format!(
            "the schema version falls from {} to {}",
            base.schema_version, next.schema_version
        ));
    }
}

#[cfg(test)]
#[path = "succession_tests.rs"]
mod tests;
