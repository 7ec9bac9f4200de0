use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::schema::manifest::{ManifestColumn, Segment};

fn column(field_id: u32, name: &str) -> ManifestColumn {
    let column = serde_json::from_value(serde_json::json!({ "name": name, "type": "INTEGER" })).unwrap();
    ManifestColumn::new(field_id, column, None)
}

fn table(table_id: u32, name: &str) -> TableVersion {
    TableVersion {
        table_id,
        name: name.to_owned(),
        description: None,
        next_field_id: 2,
        columns: vec![column(1, "id")],
        segments: Vec::new(),
    }
}

fn add_table(manifest: &mut Manifest, name: &str) {
    let table_id = manifest.issue_table_id();
    manifest.tables.push(table(table_id, name));
    manifest.schema_version += 1;
}

fn add_column(manifest: &mut Manifest, at: usize, name: &str) {
    let table = &mut manifest.tables[at];
    table.columns.push(column(table.next_field_id, name));
    table.next_field_id += 1;
    manifest.schema_version += 1;
}

fn empty() -> Manifest {
    Manifest::new("store", "version")
}

#[test]
fn a_column_after_a_rollback_has_an_id_that_no_file_knows() {
    let mut first = empty();
    add_table(&mut first, "orders");
    let mut second = first.clone();
    add_column(&mut second, 0, "note");
    let mut third = second.rolled_back_to(&first);
    third.check_follows(&second).unwrap();
    assert_eq!(third.tables[0].columns.len(), 1);
    add_column(&mut third, 0, "other");
    assert_eq!(third.tables[0].columns[1].field_id, 3, "2 was 'note'");
}

#[test]
fn a_dropped_table_comes_back_under_a_new_id() {
    let mut first = empty();
    add_table(&mut first, "orders");
    let mut second = first.clone();
    second.tables.clear();
    let mut third = second.rolled_back_to(&first);
    third.check_follows(&second).unwrap();
    assert_eq!(third.tables[0].table_id, 2);
    add_table(&mut third, "more");
    assert_eq!(third.tables[1].table_id, 3);
}

#[test]
fn the_schema_version_rises_only_with_the_schema() {
    let mut first = empty();
    add_table(&mut first, "orders");
    let mut second = first.clone();
    second.tables[0].segments.push(Segment {
        segment_id: "s".to_owned(),
        rows: 1,
        bytes: 1,
        sha256: String::new(),
        columns: BTreeMap::new(),
    });
    assert_eq!(second.rolled_back_to(&first).schema_version, 2);
    add_column(&mut second, 0, "note");
    assert_eq!(second.rolled_back_to(&first).schema_version, 4);
    let mut renamed = first.clone();
    renamed.tables[0].name = "Orders".to_owned();
    assert_eq!(renamed.rolled_back_to(&first).schema_version, 3);
}

#[test]
fn what_may_not_follow_is_refused() {
    let mut base = empty();
    add_table(&mut base, "orders");
    add_column(&mut base, 0, "note");
    let broken = |change: fn(&mut Manifest)| {
        let mut next = base.clone();
        change(&mut next);
        next.check_follows(&base).unwrap_err().join("; ")
    };
    assert!(
        broken(|next| next.tables[0].next_field_id = 2).contains("next_field_id of table 'orders' falls")
    );
    assert!(broken(|next| next.schema_version = 1).contains("schema version falls"));
    let mut without = base.clone();
    without.tables.clear();
    let mut reused = without.clone();
    reused.tables.push(table(1, "other"));
    let broken = reused.check_follows(&without).unwrap_err().join("; ");
    assert!(broken.contains("the new table 'other' has the id 1"), "{broken}");
}

#[derive(Clone, Debug)]
enum Step {
    AddTable,
    DropTable(usize),
    AddColumn(usize),
    DropColumn(usize),
    RollBack(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::AddTable),
        1 => any::<usize>().prop_map(Step::DropTable),
        4 => any::<usize>().prop_map(Step::AddColumn),
        1 => any::<usize>().prop_map(Step::DropColumn),
        3 => any::<usize>().prop_map(Step::RollBack),
    ]
}

proptest! {
    /// Every column gets a unique name here, so a pair of table id and field id seen with two names was
    /// reused.
    #[test]
    fn no_id_ever_stands_for_two_columns(steps in prop::collection::vec(step(), 1..60)) {
        let mut history = vec![empty()];
        let mut names: BTreeMap<(u32, u32), String> = BTreeMap::new();
        for (number, step) in steps.into_iter().enumerate() {
            let head = history.last().unwrap().clone();
            let mut next = head.clone();
            let pick = |at: usize| at.checked_rem(head.tables.len());
            match step {
                Step::AddTable => {
                    add_table(&mut next, &format!("t{number}"));
                    next.tables.last_mut().unwrap().columns = vec![column(1, &format!("c{number}"))];
                }
                Step::DropTable(at) => if let Some(at) = pick(at) {
                    next.tables.remove(at);
                },
                Step::AddColumn(at) => if let Some(at) = pick(at) {
                    add_column(&mut next, at, &format!("c{number}"));
                },
                Step::DropColumn(at) => if let Some(at) = pick(at) {
                    next.tables[at].columns.pop();
                },
                Step::RollBack(at) => next = head.rolled_back_to(&history[at % history.len()]),
            }
            next.check_follows(&head).map_err(|broken| TestCaseError::fail(broken.join("; ")))?;
            let ids: BTreeSet<u32> = next.tables.iter().map(|table| table.table_id).collect();
            prop_assert_eq!(ids.len(), next.tables.len());
            // A table that came back has another id, so its columns are other pairs. The same pair is the
            // same column.
            for table in &next.tables {
                for column in &table.columns {
                    prop_assert!(column.field_id < table.next_field_id);
                    let known = names
                        .entry((table.table_id, column.field_id))
                        .or_insert_with(|| column.name.clone());
                    prop_assert_eq!(&*known, &column.name);
                }
            }
            history.push(next);
        }
    }
}
