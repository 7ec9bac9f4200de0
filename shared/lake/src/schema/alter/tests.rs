use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::schema::alteration::TableAlteration;
use crate::schema::manifest::{ColumnStatistics, Segment};

fn now() -> UtcTime {
    "2026-01-02T03:04:05.678Z".parse().unwrap()
}

fn alteration(changes: serde_json::Value) -> TableAlteration {
    let list = |name: &str| changes.get(name).cloned().unwrap_or_else(|| json!([]));
    TableAlteration {
        description: None,
        drop_columns: serde_json::from_value(list("drop")).unwrap(),
        rename_columns: serde_json::from_value(list("rename")).unwrap(),
        modify_columns: serde_json::from_value(list("modify")).unwrap(),
        add_columns: serde_json::from_value(list("add")).unwrap(),
    }
}

fn table(columns: serde_json::Value, rows: u64) -> TableVersion {
    let empty = TableVersion {
        table_id: 1,
        name: "t".into(),
        description: None,
        next_field_id: 1,
        columns: Vec::new(),
        segments: Vec::new(),
    };
    let mut table = alteration(json!({ "add": columns }))
        .apply(&empty, now())
        .unwrap()
        .table;
    if rows > 0 {
        let statistics = ColumnStatistics {
            min: Some("0.1".into()),
            max: Some("0.1".into()),
            null_count: Some(0),
        };
        table.segments.push(Segment {
            segment_id: "s".into(),
            rows,
            bytes: 1,
            sha256: String::new(),
            columns: table
                .columns
                .iter()
                .map(|column| (column.field_id, statistics.clone()))
                .collect(),
        });
    }
    table
}

fn altered(columns: serde_json::Value, changes: serde_json::Value) -> Altered {
    let changes = alteration(changes);
    changes.validate().unwrap();
    changes.apply(&table(columns, 2), now()).unwrap()
}

#[track_caller]
fn refused(columns: serde_json::Value, changes: serde_json::Value) -> (u16, String) {
    let changes = alteration(changes);
    let refused = changes
        .validate()
        .and_then(|()| changes.apply(&table(columns, 2), now()).map(drop));
    let error = refused.unwrap_err();
    (error.status(), error.message().to_owned())
}

#[test]
fn widening_is_a_matter_of_the_description() {
    let columns = json!([
        { "name": "i", "type": "INTEGER", "default": "7" },
        { "name": "f", "type": "FLOAT", "default": "0.1" }
    ]);
    let mut before = table(columns, 2);
    before.columns[1].initial_default = Some("0.1".into());
    let changes = alteration(json!({ "modify": [
        { "name": "I", "type": "DECIMAL(12,2)" }, { "name": "f", "type": "DOUBLE" }
    ] }));
    let after = changes.apply(&before, now()).unwrap();
    assert!(!after.has_work());
    let [i, f] = &after.table.columns[..] else {
        panic!("{:?}", after.table)
    };
    assert_eq!((i.field_id, i.initial_default.as_deref()), (1, Some("7")));
    // As DuckDB widens a stored FLOAT to DOUBLE.
    assert_eq!(f.initial_default.as_deref(), Some("0.10000000149011612"));
    let bounds = &after.table.segments[0].columns;
    assert_eq!(
        (bounds[&1].min.as_deref(), bounds[&2].max.as_deref()),
        (Some("0.1"), None)
    );
    assert_eq!(bounds[&2].null_count, Some(0));
}

#[test]
fn another_type_is_rewritten_and_takes_the_other_columns_along() {
    let columns = json!([{ "name": "a", "type": "BIGINT" }, { "name": "b", "type": "STRING" }]);
    let after = altered(
        columns,
        json!({
            "drop": ["b"],
            "modify": [{ "name": "a", "type": "INTEGER" }],
            "add": [{ "name": "b", "type": "STRING", "default": "'x'" }]
        }),
    );
    assert_eq!(
        after.rewrite,
        Some(vec![ValueSource::Converted(1), ValueSource::Default])
    );
    assert_eq!(after.table.columns[1].field_id, 3);
    assert_eq!(after.table.columns[1].initial_default, None);
}

#[test]
fn a_uuid_is_another_one_in_each_row() {
    let add = json!({ "add": [{ "name": "u", "type": "STRING", "default": "uuid()", "unique": true, "nullable": false }] });
    let after = altered(json!([{ "name": "a", "type": "BIGINT" }]), add.clone());
    assert_eq!(
        after.rewrite,
        Some(vec![ValueSource::Kept(1), ValueSource::Default])
    );
    assert!(after.keys.is_empty() && after.required.is_empty());
    let empty = alteration(add).apply(&table(json!([{ "name": "a", "type": "BIGINT" }]), 0), now());
    assert!(!empty.unwrap().has_work());
}

#[test]
fn only_rules_that_are_new_are_checked() {
    let columns = json!([
        { "name": "a", "type": "BIGINT", "primary_key": true },
        { "name": "b", "type": "BIGINT", "primary_key": true },
        { "name": "c", "type": "BIGINT" },
        { "name": "d", "type": "BIGINT", "unique": true }
    ]);
    let key = |is_primary, field_ids: &[u32]| KeyCheck {
        is_primary,
        field_ids: field_ids.to_vec(),
    };
    for (changes, required, keys) in [
        (json!({ "rename": [{ "from": "a", "to": "z" }] }), vec![], vec![]),
        // A key with more columns stays unique.
        (
            json!({ "modify": [{ "name": "c", "primary_key": true }] }),
            vec![3],
            vec![],
        ),
        (
            json!({ "modify": [{ "name": "d", "primary_key": true }] }),
            vec![4],
            vec![],
        ),
        // A key with fewer columns may have duplicates.
        (json!({ "drop": ["b"] }), vec![], vec![key(true, &[1])]),
        (
            json!({ "modify": [{ "name": "b", "primary_key": false }] }),
            vec![],
            vec![key(true, &[1])],
        ),
        (
            json!({ "modify": [{ "name": "c", "unique": true }] }),
            vec![],
            vec![key(false, &[3])],
        ),
        (
            json!({ "modify": [{ "name": "c", "nullable": false }] }),
            vec![3],
            vec![],
        ),
        // A change of type can make different values equal.
        (
            json!({ "modify": [{ "name": "d", "type": "STRING" }] }),
            vec![],
            vec![key(false, &[4])],
        ),
        (
            json!({ "modify": [{ "name": "d", "type": "DECIMAL(30,2)" }] }),
            vec![],
            vec![],
        ),
        // A column that is null in every row has no duplicate; one with the same value in every row has.
        (
            json!({ "add": [{ "name": "e", "type": "DATE", "unique": true }] }),
            vec![],
            vec![],
        ),
        (
            json!({ "add": [{ "name": "e", "type": "DATE", "unique": true, "default": "current_date" }] }),
            vec![],
            vec![key(false, &[5])],
        ),
        (json!({ "drop": ["a", "b"] }), vec![], vec![]),
    ] {
        let after = altered(columns.clone(), changes.clone());
        assert_eq!((after.required, after.keys), (required, keys), "{changes}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let columns = json!([
        { "name": "a", "type": "BIGINT", "primary_key": true },
        { "name": "b", "type": "INTEGER", "default": "7" },
        { "name": "c", "type": "STRING" }
    ]);
    for (changes, status, says) in [
        (json!({}), 400, "Nothing is to be changed"),
        (json!({ "drop": ["x"] }), 404, "'t.x'"),
        (json!({ "drop": ["a", "B", "c"] }), 400, "no column left"),
        (json!({ "drop": ["b", "B"] }), 400, "drop_columns[1] names 'B'"),
        (
            json!({ "drop": ["b"], "rename": [{ "from": "B", "to": "z" }] }),
            400,
            "'b', which drop_columns drops",
        ),
        (
            json!({ "drop": ["b"], "modify": [{ "name": "b" }] }),
            400,
            "which the same request drops",
        ),
        (
            json!({ "rename": [{ "from": "b", "to": "z" }], "modify": [{ "name": "b" }] }),
            400,
            "under its new name",
        ),
        (
            json!({ "rename": [{ "from": "b", "to": "C" }] }),
            409,
            "two columns named",
        ),
        (
            json!({ "rename": [{ "from": "b", "to": "z" }, { "from": "b", "to": "y" }] }),
            400,
            "rename_columns[1].from",
        ),
        (
            json!({ "rename": [{ "from": "b", "to": "z" }, { "from": "c", "to": "Z" }] }),
            400,
            "rename_columns[1].to",
        ),
        (
            json!({ "rename": [{ "from": "b", "to": "b c" }] }),
            400,
            "rename_columns[0].to 'b c'",
        ),
        (json!({ "rename": [{ "from": "x", "to": "z" }] }), 404, "'t.x'"),
        (
            json!({ "modify": [{ "name": "b" }, { "name": "B" }] }),
            400,
            "modify_columns[1].name",
        ),
        (
            json!({ "modify": [{ "name": "a", "nullable": true }] }),
            400,
            "modify_columns[0].nullable",
        ),
        (
            json!({ "modify": [{ "name": "b", "default": "'x'" }] }),
            400,
            "modify_columns[0].default",
        ),
        (
            json!({ "modify": [{ "name": "b", "type": "DATE" }] }),
            400,
            "send another default, or null",
        ),
        (
            json!({ "add": [{ "name": "B", "type": "DATE" }] }),
            409,
            "two columns named 'B'",
        ),
        (
            json!({ "add": [{ "name": "x", "type": "DATE" }, { "name": "X", "type": "DATE" }] }),
            400,
            "add_columns[1].name",
        ),
        (
            json!({ "add": [{ "name": "x", "type": "DATE", "nullable": false }] }),
            409,
            "give it a default",
        ),
        (
            json!({ "add": [{ "name": "x", "type": "DATE", "primary_key": true, "default": "null" }] }),
            409,
            "'x'",
        ),
        (
            json!({ "rename": [{ "from": "b", "to": "z" }], "add": [{ "name": "z", "type": "DATE" }] }),
            400,
            "both make a column 'z'",
        ),
    ] {
        let (refused, message) = refused(columns.clone(), changes.clone());
        assert_eq!(refused, status, "{changes}: {message}");
        assert!(message.contains(says), "{changes}: {message}");
    }
}

/// A column of the model; its identity survives renames.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    identity: usize,
    name: String,
    column_type: ColumnType,
}

#[derive(Clone, Debug, Default)]
struct Model {
    columns: Vec<Known>,
    made: usize,
}

impl Model {
    fn position(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|known| known.name.eq_ignore_ascii_case(name))
    }

    /// Returns the columns after the changes and whether stored values must be converted; None if the changes
    /// are refused.
    fn apply(&self, changes: &TableAlteration) -> Option<(Self, bool)> {
        let mut next = self.clone();
        let mut converts = BTreeSet::new();
        for name in &changes.drop_columns {
            next.columns.remove(next.position(name)?);
        }
        let places: Option<Vec<_>> = changes
            .rename_columns
            .iter()
            .map(|rename| next.position(&rename.from))
            .collect();
        for (at, rename) in places?.into_iter().zip(&changes.rename_columns) {
            next.columns[at].name = rename.to.clone();
        }
        for change in &changes.modify_columns {
            let at = next.position(&change.name)?;
            let known = &mut next.columns[at];
            if let Some(to) = change.column_type {
                if !known.column_type.widens_to(to) {
                    converts.insert(known.identity);
                }
                known.column_type = to;
            }
        }
        for column in &changes.add_columns {
            next.made += 1;
            next.columns.push(Known {
                identity: next.made,
                name: column.name.clone(),
                column_type: column.column_type,
            });
        }
        let names: BTreeSet<_> = next
            .columns
            .iter()
            .map(|known| known.name.to_ascii_lowercase())
            .collect();
        (!next.columns.is_empty() && names.len() == next.columns.len())
            .then_some((next, !converts.is_empty()))
    }
}

fn any_name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d", "A", "e"]).prop_map(str::to_owned)
}

fn any_type() -> impl Strategy<Value = ColumnType> {
    let types = ["INTEGER", "BIGINT", "DECIMAL(30,4)", "STRING", "JSON"];
    prop::sample::select(types.map(|text| text.parse().unwrap()).to_vec())
}

fn any_alteration() -> impl Strategy<Value = TableAlteration> {
    let few = 0..3_usize;
    let rename = (any_name(), any_name()).prop_map(|(from, to)| ColumnRename { from, to });
    let change = (any_name(), prop::option::of(any_type())).prop_map(|(name, column_type)| ColumnChange {
        name,
        column_type,
        ..ColumnChange::default()
    });
    let column = (any_name(), any_type()).prop_map(|(name, column_type)| {
        serde_json::from_value(json!({ "name": name, "type": column_type })).unwrap()
    });
    (
        prop::collection::vec(any_name(), few.clone()),
        prop::collection::vec(rename, few.clone()),
        prop::collection::vec(change, few.clone()),
        prop::collection::vec(column, few),
    )
        .prop_map(
            |(drop_columns, rename_columns, modify_columns, add_columns)| TableAlteration {
                description: None,
                drop_columns,
                rename_columns,
                modify_columns,
                add_columns,
            },
        )
}

proptest! {
    #[test]
    fn a_table_follows_the_model(alterations in prop::collection::vec(any_alteration(), 1..30), has_rows: bool) {
        let mut table = table(json!([{ "name": "a", "type": "INTEGER" }, { "name": "b", "type": "JSON" }]), u64::from(has_rows));
        let mut model = Model::default();
        for column in &table.columns {
            model.made += 1;
            model.columns.push(Known {
                identity: model.made,
                name: column.name.clone(),
                column_type: column.column_type,
            });
        }
        // Maps each field id to its column of the model; an entry never changes.
        let mut identities: BTreeMap<u32, usize> = (1..).zip(1..=model.made).collect();
        for changes in alterations {
            if changes.validate().is_err() {
                continue;
            }
            let expected = model.apply(&changes);
            let altered = changes.apply(&table, now());
            let (Some((next, converts)), Ok(altered)) = (expected.clone(), altered.as_ref()) else {
                prop_assert_eq!(expected.is_some(), altered.is_ok(), "{:?} on {:?}", changes, table);
                continue;
            };
            let shown = |column: &ManifestColumn| (column.name.clone(), column.column_type);
            let columns: Vec<_> = altered.table.columns.iter().map(shown).collect();
            let wanted: Vec<_> = next.columns.iter().map(|known| (known.name.clone(), known.column_type)).collect();
            prop_assert_eq!(columns, wanted);
            for (column, known) in altered.table.columns.iter().zip(&next.columns) {
                prop_assert!(column.field_id < altered.table.next_field_id);
                let before = identities.entry(column.field_id).or_insert(known.identity);
                prop_assert_eq!(*before, known.identity, "a field id stands for another column");
            }
            prop_assert_eq!(altered.rewrite.is_some(), converts && has_rows);
            if let Some(sources) = &altered.rewrite {
                prop_assert_eq!(sources.len(), altered.table.columns.len());
            }
            table = altered.table.clone();
            model = next;
        }
    }
}
