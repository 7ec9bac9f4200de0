//! Columns whose values together occur once: a primary key, or a unique column.

use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::Context;
use crate::manifest::ManifestColumn;
use crate::{messages, sql, staging};

/// A primary key, or a unique column. Rows without a value in one of the columns do not count.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) is_primary: bool,
    pub(crate) columns: Vec<ManifestColumn>,
}

impl Key {
    /// Those of a table.
    pub(crate) fn of(columns: &[ManifestColumn]) -> Vec<Self> {
        let primary = columns.iter().filter(|column| column.primary_key).cloned();
        let primary = Self {
            is_primary: true,
            columns: primary.collect(),
        };
        let unique = columns.iter().filter(|column| {
            let is_whole_primary_key = column.primary_key && primary.columns.len() == 1;
            column.unique && !is_whole_primary_key
        });
        let unique = unique.map(|column| Self {
            is_primary: false,
            columns: vec![column.clone()],
        });
        let unique: Vec<_> = unique.collect();
        let primary = (!primary.columns.is_empty()).then_some(primary);
        primary.into_iter().chain(unique).collect()
    }

    /// The first value of the key that occurs more than once in a relation.
    pub(crate) fn first_repeated(&self, context: &Context, relation: &str) -> Result<Option<String>> {
        let present = self.names().map(|name| format!("{name} IS NOT NULL"));
        let present = present.collect::<Vec<_>>().join(" AND ");
        self.find(
            context,
            &format!(
                "{relation} WHERE {present} GROUP BY {} HAVING count(*) > 1",
                self.list()
            ),
        )
    }

    /// The first value of the key that occurs in both relations.
    pub(crate) fn first_shared(
        &self,
        context: &Context,
        new: &str,
        existing: &str,
    ) -> Result<Option<String>> {
        let joined = format!("{new} SEMI JOIN {existing} USING ({})", self.list());
        self.find(context, &joined)
    }

    /// What a message calls it: `primary key (a, b)`.
    pub(crate) fn title(&self) -> String {
        let kind = if self.is_primary {
            "primary key"
        } else {
            "unique value"
        };
        format!("{kind} ({})", self.column_names())
    }

    /// The names of its columns, for a message.
    pub(crate) fn column_names(&self) -> String {
        let names = self.columns.iter().map(|column| column.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.columns.iter().map(|column| sql::identifier(&column.name))
    }

    fn list(&self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }

    /// The first value that the end of a statement leaves, as a message shows it.
    fn find(&self, context: &Context, from: &str) -> Result<Option<String>> {
        let list = self.list();
        let texts = self.names().map(|name| format!("CAST({name} AS VARCHAR)"));
        let texts = texts.collect::<Vec<_>>().join(", ");
        let query = format!("SELECT [{texts}]::VARCHAR[]::JSON::VARCHAR FROM {from} ORDER BY {list} LIMIT 1");
        let found = match context
            .connection
            .query_row(&query, [], |row| row.get::<_, String>(0))
        {
            Ok(found) => found,
            Err(duckdb::Error::QueryReturnedNoRows) => return Ok(None),
            Err(error) => return Err(messages::own_error(&error)),
        };
        let values: Vec<String> = serde_json::from_str(&found).map_err(Error::internal)?;
        let values: Vec<_> = values.iter().map(|value| staging::shown(value)).collect();
        Ok(Some(format!("({})", values.join(", "))))
    }
}
