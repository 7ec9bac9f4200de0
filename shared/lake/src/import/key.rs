//! Defines keys and finds repeated ones: columns whose combined values must be unique, a primary key or a
//! unique column.

use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::context::Context;
use crate::import::faults::{MAX_ROW_ERRORS, MAX_VALUE, shown};
use crate::schema::manifest::ManifestColumn;
use crate::statement::messages;
use crate::tables::sql::{self, ROW_NUMBER, numbered};

/// A primary key or a unique column. Rows with null in one of the columns do not count.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) is_primary: bool,
    pub(crate) columns: Vec<ManifestColumn>,
}

/// A row whose key another row also has.
pub(crate) struct Found {
    pub(crate) row: u64,
    /// The first row with the key if both rows are of one relation; else the row itself.
    pub(crate) first_row: u64,
    pub(crate) values: Vec<String>,
}

impl Found {
    /// Formats the key for a message.
    pub(crate) fn shown(&self) -> String {
        let values: Vec<_> = self.values.iter().map(|value| shown(value)).collect();
        format!("({})", values.join(", "))
    }
}

impl Key {
    /// Returns the keys of a table: the primary key, then the unique columns.
    pub(crate) fn from_columns(columns: &[ManifestColumn]) -> Vec<Self> {
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

    /// Returns the first value of the key that occurs more than once in a relation, formatted for a message.
    pub(crate) fn first_repeated(&self, context: &Context, relation: &str) -> Result<Option<String>> {
        let list = self.list();
        let from = format!(
            "SELECT 0::UBIGINT, 0::UBIGINT, {} FROM {relation} WHERE {} GROUP BY {list} HAVING count(*) > 1 \
             ORDER BY {list} LIMIT 1",
            self.texts(""),
            self.is_present()
        );
        Ok(find(context, &from)?.first().map(Found::shown))
    }

    /// Returns whether a value of the key occurs in both relations.
    pub(crate) fn shares_one(&self, context: &Context, new: &str, existing: &str) -> Result<bool> {
        let joined = format!(
            "SELECT 0::UBIGINT, 0::UBIGINT, {} FROM {new} SEMI JOIN {existing} USING ({}) LIMIT 1",
            self.texts(""),
            self.list()
        );
        Ok(!find(context, &joined)?.is_empty())
    }

    /// Returns the first rows of a relation whose key an earlier row has: [`MAX_ROW_ERRORS`], and one more if
    /// there are more.
    pub(crate) fn repeated(&self, context: &Context, relation: &str) -> Result<Vec<Found>> {
        let (list, new) = (self.list(), numbered(relation));
        let query = format!(
            "SELECT new.{ROW_NUMBER}, first_row, {} FROM {new} AS new JOIN (SELECT {list}, min({ROW_NUMBER}) AS first_row \
             FROM {new} WHERE {} GROUP BY {list} HAVING count(*) > 1) AS repeated USING ({list}) \
             WHERE new.{ROW_NUMBER} > first_row ORDER BY 1 LIMIT {}",
            self.texts("new."),
            self.is_present(),
            MAX_ROW_ERRORS + 1
        );
        find(context, &query)
    }

    /// Returns the first rows of `new` whose key also occurs in `existing`: [`MAX_ROW_ERRORS`], and one more
    /// if there are more.
    pub(crate) fn shared(&self, context: &Context, new: &str, existing: &str) -> Result<Vec<Found>> {
        let query = format!(
            "SELECT {ROW_NUMBER}, {ROW_NUMBER}, {} FROM {} AS new SEMI JOIN {existing} USING ({}) ORDER BY 1 LIMIT {}",
            self.texts("new."),
            numbered(new),
            self.list(),
            MAX_ROW_ERRORS + 1
        );
        find(context, &query)
    }

    /// Names the key for a message: `primary key (a, b)`.
    pub(crate) fn title(&self) -> String {
        let kind = if self.is_primary {
            "primary key"
        } else {
            "unique value"
        };
        format!("{kind} ({})", self.column_names())
    }

    /// Lists the names of its columns for a message.
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

    /// Returns the condition that no column of the key is null.
    fn is_present(&self) -> String {
        let present = self.names().map(|name| format!("{name} IS NOT NULL"));
        present.collect::<Vec<_>>().join(" AND ")
    }

    /// Returns the columns' values as a JSON list of texts, each cut a little above [`MAX_VALUE`].
    fn texts(&self, relation: &str) -> String {
        let texts = self
            .names()
            .map(|name| format!("substr(CAST({relation}{name} AS VARCHAR), 1, {})", MAX_VALUE + 1));
        format!(
            "[{}]::VARCHAR[]::JSON::VARCHAR",
            texts.collect::<Vec<_>>().join(", ")
        )
    }
}

/// Runs a query that returns two row numbers and the texts of a key.
fn find(context: &Context, query: &str) -> Result<Vec<Found>> {
    let read = || -> duckdb::Result<Vec<(u64, u64, String)>> {
        let mut statement = context.connection.prepare(query)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect()
    };
    let found = read().map_err(|error| messages::own_error(&error))?;
    let found = found.into_iter().map(|(row, first_row, values)| {
        let values = serde_json::from_str(&values).map_err(Error::internal)?;
        Ok(Found {
            row,
            first_row,
            values,
        })
    });
    found.collect()
}
