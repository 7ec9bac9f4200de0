//! Issues ids for the next version, makes rollbacks, and checks that a version may follow another.
//!
//! Files identify columns by field id alone. An id reused for another column would show the old column's
//! values in the new one. So a store never reuses a table id, and a table never reuses a field id, not even
//! after a rollback to a version that did not know the id.

use crate::schema::definition::Column;
use crate::schema::manifest::{Manifest, TableVersion};

impl Manifest {
    /// Issues the id of a new table.
    pub fn issue_table_id(&mut self) -> u32 {
        let issued = self.next_table_id;
        self.next_table_id = issued.saturating_add(1);
        issued
    }

    /// Returns the version that follows this one and has the content of `old`, an earlier version of the same
    /// store.
    ///
    /// A table that is in both keeps its id, and its next field id is the later one. A table that was dropped
    /// in between comes back under a new id, because its last field id is no longer known.
    #[must_use]
    pub fn rolled_back_to(&self, old: &Manifest) -> Self {
        let mut next = old.clone();
        next.next_table_id = self.next_table_id;
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

    /// Returns whether callers see the same schema in both versions.
    fn has_schema_of(&self, other: &Manifest) -> bool {
        let shown = |table: &TableVersion| {
            let columns: Vec<Column> = table.columns.iter().map(|column| column.definition()).collect();
            (table.name.clone(), table.description.clone(), columns)
        };
        self.description == other.description
            && self.relationships == other.relationships
            && self.tables.iter().map(shown).eq(other.tables.iter().map(shown))
    }

    /// Checks whether this version may follow `base`, at each commit; the error has a sentence for each
    /// broken rule.
    pub fn check_follows(&self, base: &Manifest) -> Result<(), Vec<String>> {
        let mut broken = Vec::new();
        no_table_id_is_given_twice(self, base, &mut broken);
        no_field_id_is_given_twice(self, base, &mut broken);
        schema_versions_rise(self, base, &mut broken);
        if broken.is_empty() { Ok(()) } else { Err(broken) }
    }
}

fn no_table_id_is_given_twice(next: &Manifest, base: &Manifest, broken: &mut Vec<String>) {
    let first_free = base.next_table_id;
    if next.next_table_id < first_free {
        broken.push(format!(
            "next_table_id falls from {first_free} to {}",
            next.next_table_id
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
mod tests;
