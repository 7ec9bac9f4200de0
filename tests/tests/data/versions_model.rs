//! Compares stores with a simple model in memory: whatever happens to a store, each version keeps its
//! content.

use std::collections::{BTreeMap, HashMap};

use futures::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use tests::stores::columns;
use tests::{Answer, Store};

type Model = BTreeMap<String, Table>;

/// Table: its numbers in order, and its other columns, each with one value in all rows.
#[derive(Clone, Debug, Default)]
struct Table {
    numbers: Vec<u64>,
    others: BTreeMap<String, u64>,
}

/// Effect of one request on a store.
#[derive(Clone, Debug)]
enum Change {
    Create(Vec<String>),
    Import {
        is_replace: bool,
        rows: BTreeMap<String, Vec<u64>>,
    },
    Drop(String),
    AddColumn {
        table: String,
        column: String,
        value: u64,
    },
    DropColumn {
        table: String,
        column: String,
    },
    RenameColumn {
        table: String,
        from: String,
        to: String,
    },
    Snapshot(String),
    RollBack(String),
}

impl Change {
    /// Returns a random change that `model` allows; no other change uses `number`.
    fn random(rng: &mut StdRng, model: &Model, versions: &[String], number: u64) -> Self {
        let tables: Vec<&String> = model.keys().collect();
        let others = model
            .iter()
            .flat_map(|(table, of)| of.others.keys().map(move |column| (table, column)));
        let others: Vec<_> = others.collect();
        match rng.random_range(0..15) {
            10 if !tables.is_empty() => Self::Drop(tables[rng.random_range(0..tables.len())].clone()),
            11..=12 if !tables.is_empty() => Self::AddColumn {
                table: tables[rng.random_range(0..tables.len())].clone(),
                column: format!("c{number}"),
                value: number,
            },
            13 if !others.is_empty() => {
                let (table, column) = others[rng.random_range(0..others.len())];
                Self::DropColumn {
                    table: table.clone(),
                    column: column.clone(),
                }
            }
            14 if !others.is_empty() => {
                let (table, column) = others[rng.random_range(0..others.len())];
                Self::RenameColumn {
                    table: table.clone(),
                    from: column.clone(),
                    to: format!("r{number}"),
                }
            }
            0..=1 => Self::Create(
                (0..rng.random_range(1..3))
                    .map(|at| format!("t{number}_{at}"))
                    .collect(),
            ),
            2..=5 if !tables.is_empty() => {
                let rows = (0..rng.random_range(1..3)).map(|at| {
                    let table = tables[rng.random_range(0..tables.len())].clone();
                    let count = rng.random_range(0..4);
                    (
                        table,
                        (0..count).map(|row| number * 100 + at * 10 + row).collect(),
                    )
                });
                Self::Import {
                    rows: rows.collect(),
                    is_replace: rng.random_bool(0.3),
                }
            }
            6 => Self::Snapshot(format!("snapshot {number}")),
            _ => Self::RollBack(versions[rng.random_range(0..versions.len())].clone()),
        }
    }

    async fn send(&self, store: &Store) -> Answer {
        match self {
            Self::Create(names) => {
                let tables: Vec<_> = names
                    .iter()
                    .map(|name| json!({ "name": name, "columns": columns(&["n BIGINT"]) }))
                    .collect();
                store.post("/tables", &json!({ "tables": tables })).await
            }
            Self::Import { is_replace, rows } => {
                let mut tables = Map::new();
                for (table, numbers) in rows {
                    let data: Vec<_> = numbers.iter().map(|n| json!({ "n": n })).collect();
                    tables.insert(table.clone(), json!({ "source": "inline", "data": data }));
                }
                let mode = if *is_replace { "replace" } else { "append" };
                store
                    .post("/import", &json!({ "mode": mode, "tables": tables }))
                    .await
            }
            Self::Drop(table) => store.delete(&format!("/tables/{table}")).await,
            Self::AddColumn { table, column, value } => {
                let column = json!({ "name": column, "type": "BIGINT", "default": value.to_string() });
                store.alter(table, &json!({ "add_columns": [column] })).await
            }
            Self::DropColumn { table, column } => {
                store.alter(table, &json!({ "drop_columns": [column] })).await
            }
            Self::RenameColumn { table, from, to } => {
                let rename = json!({ "from": from, "to": to });
                store.alter(table, &json!({ "rename_columns": [rename] })).await
            }
            Self::Snapshot(name) => store.post("/versions", &json!({ "name": name })).await,
            Self::RollBack(version) => {
                store
                    .post(&format!("/versions/{version}/rollback"), &json!({}))
                    .await
            }
        }
    }

    /// Returns the version that the change made, if the answer names it.
    fn version(&self, answer: &Answer) -> Option<String> {
        let field = match self {
            Self::Create(_)
            | Self::Drop(_)
            | Self::AddColumn { .. }
            | Self::DropColumn { .. }
            | Self::RenameColumn { .. } => return None,
            Self::Import { .. } | Self::RollBack(_) => "version_id",
            Self::Snapshot(_) => "id",
        };
        answer.body[field].as_str().map(str::to_owned)
    }

    fn apply(&self, base: &Model, history: &HashMap<String, Model>) -> Model {
        let mut next = base.clone();
        let others = |next: &mut Model, table: &String, change: &dyn Fn(&mut BTreeMap<String, u64>)| {
            change(&mut next.get_mut(table).expect("a table that is there").others);
        };
        match self {
            Self::Create(names) => next.extend(names.iter().map(|name| (name.clone(), Table::default()))),
            Self::Drop(table) => {
                next.remove(table);
            }
            Self::AddColumn { table, column, value } => others(&mut next, table, &|others| {
                others.insert(column.clone(), *value);
            }),
            Self::DropColumn { table, column } => others(&mut next, table, &|others| {
                others.remove(column);
            }),
            Self::RenameColumn { table, from, to } => others(&mut next, table, &|others| {
                let value = others.remove(from).expect("a column that is there");
                others.insert(to.clone(), value);
            }),
            Self::Import { is_replace, rows } => {
                for (table, numbers) in rows {
                    let rows = next.get_mut(table).expect("an import into a table that is there");
                    let rows = &mut rows.numbers;
                    if *is_replace {
                        rows.clear();
                    }
                    rows.extend(numbers);
                    rows.sort_unstable();
                }
            }
            Self::Snapshot(_) => {}
            Self::RollBack(version) => return history[version].clone(),
        }
        next
    }
}

/// Returns the ids of all versions, oldest first.
async fn versions(store: &Store) -> Vec<Value> {
    let listed = store.get("/versions?limit=1000").await.expect_status(200);
    let mut versions = listed.body.as_array().unwrap().clone();
    versions.reverse();
    for (parent, child) in versions.iter().zip(&versions[1..]) {
        assert_eq!(
            child["parent_version_id"], parent["id"],
            "the history is one line"
        );
    }
    versions
}

/// Reads a version back: its tables, their rows, and that tables of other versions are missing.
async fn check(store: &Store, version: &str, expected: &Model, others: &[String], what: &str) {
    let ask = |sql: String| {
        let path = format!("/versions/{version}/query");
        async move { store.post(&path, &json!({ "sql": sql })).await }
    };
    if !expected.is_empty() {
        let parts: Vec<_> = expected
            .keys()
            .map(|table| format!("SELECT '{table}' AS t, list(n ORDER BY n) FROM \"{table}\""))
            .collect();
        let answer = ask(format!("{} ORDER BY t", parts.join(" UNION ALL ")));
        let answer = answer.await.expect_status(200);
        let rows: Vec<_> = expected
            .iter()
            .map(|(table, of)| {
                let list = (!of.numbers.is_empty()).then_some(&of.numbers);
                json!([table, list])
            })
            .collect();
        assert_eq!(answer.body["rows"], json!(rows), "{what}");
    }
    for (table, of) in expected {
        let answer = ask(format!("SELECT DISTINCT * EXCLUDE (n) FROM \"{table}\""));
        if of.others.is_empty() {
            continue;
        }
        let answer = answer.await.expect_status(200);
        let names = answer.body["columns"].as_array().unwrap().iter();
        let names: Vec<_> = names.map(|name| name.as_str().unwrap()).collect();
        let row: Vec<_> = names.iter().map(|name| of.others[*name]).collect();
        assert_eq!(names.len(), of.others.len(), "{what}");
        let rows = if of.numbers.is_empty() {
            json!([])
        } else {
            json!([row])
        };
        assert_eq!(answer.body["rows"], rows, "{what}");
    }
    if let Some(absent) = others.iter().find(|table| !expected.contains_key(*table)) {
        let answer = ask(format!("SELECT * FROM \"{absent}\"")).await;
        assert_eq!(answer.status, 400, "{what}: {}", answer.text());
    }
}

fn all_tables(history: &HashMap<String, Model>) -> Vec<String> {
    let names: BTreeMap<_, _> = history.values().flatten().collect();
    names.into_keys().cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_stays_what_it_was() {
    for seed in [7, 2_024] {
        let mut rng = StdRng::seed_from_u64(seed);
        let store = Store::start().await;
        let first = versions(&store).await[0]["id"].as_str().unwrap().to_owned();
        let mut history = HashMap::from([(first.clone(), Model::new())]);
        let mut line = vec![first];
        for number in 1..=60 {
            let base = history[line.last().unwrap()].clone();
            let change = Change::random(&mut rng, &base, &line, number);
            let what = format!("seed {seed}, change {number}: {change:?}");
            let answer = change.send(&store).await;
            assert!((200..300).contains(&answer.status), "{what}: {}", answer.text());
            let detail = store.detail().await;
            let version = detail["version_id"].as_str().unwrap().to_owned();
            assert!(change.version(&answer).is_none_or(|id| id == version), "{what}");
            let next = change.apply(&base, &history);
            let rows: usize = next.values().map(|table| table.numbers.len()).sum();
            assert_eq!(
                (
                    &detail["total_rows"],
                    &detail["table_count"],
                    &detail["version_count"]
                ),
                (&json!(rows), &json!(next.len()), &json!(number + 1)),
                "{what}"
            );
            assert!(history.insert(version.clone(), next).is_none(), "{what}");
            line.push(version);
        }
        let listed: Vec<_> = versions(&store)
            .await
            .iter()
            .map(|item| item["id"].clone())
            .collect();
        assert_eq!(listed, line, "seed {seed}");
        if !store.service.is_shared() {
            // Compaction and collection must not change the content of any version.
            let compaction = store.scope.ops_json(&["store", "compact", &store.id]);
            if let Some(version) = compaction["version_id"].as_str() {
                history.insert(version.to_owned(), history[line.last().unwrap()].clone());
                line.push(version.to_owned());
            }
            let collect = ["store", "collect", "--grace-hours", "0"];
            store.service.operator().json(&collect);
        }
        let tables = all_tables(&history);
        for (number, version) in line.iter().enumerate() {
            check(
                &store,
                version,
                &history[version],
                &tables,
                &format!("seed {seed}, version {number}"),
            )
            .await;
        }
        if !store.service.is_shared() {
            let report = store.service.operator().json(&["check"]);
            assert_eq!(report["findings"], json!([]), "seed {seed}");
        }
    }
}

/// Concurrent clients: each answered change is in the history once, on top of the previous one.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_make_one_linear_history() {
    const CLIENTS: u64 = 4;
    const CHANGES: u64 = 8;
    let store = Store::start().await;
    let names = ["a".to_owned(), "b".to_owned()];
    Change::Create(names.to_vec())
        .send(&store)
        .await
        .expect_status(201);
    let start = versions(&store).await.last().unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let empty: Model = names
        .iter()
        .map(|name| (name.clone(), Table::default()))
        .collect();

    let client = async |client: u64| {
        let mut rng = StdRng::seed_from_u64(client);
        let mut versions = vec![start.clone()];
        let mut changes = Vec::new();
        for round in 0..CHANGES {
            let number = client * CHANGES + round + 1;
            let change = match Change::random(&mut rng, &empty, &versions, number) {
                change @ (Change::Import { .. } | Change::Snapshot(_) | Change::RollBack(_)) => change,
                // The answers to other changes do not name the version.
                _ => Change::Snapshot(format!("instead {number}")),
            };
            let answer = change.send(&store).await;
            assert!(
                (200..300).contains(&answer.status),
                "{change:?}: {}",
                answer.text()
            );
            let version = change.version(&answer).unwrap();
            versions.push(version.clone());
            changes.push((version, change));
        }
        changes
    };
    let changes: HashMap<_, _> = join_all((0..CLIENTS).map(client))
        .await
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(
        changes.len() as u64,
        CLIENTS * CHANGES,
        "two changes claim one version"
    );
    let listed = versions(&store).await;
    let line: Vec<_> = listed
        .iter()
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect();
    let from = line.iter().position(|version| *version == start).unwrap();
    assert_eq!(
        line.len() - from - 1,
        changes.len(),
        "every change made one version"
    );
    let mut history = HashMap::from([(start, empty)]);
    for pair in line[from..].windows(2) {
        let next = changes[&pair[1]].apply(&history[&pair[0]], &history);
        history.insert(pair[1].clone(), next);
    }
    let tables = all_tables(&history);
    for version in &line[from..] {
        check(&store, version, &history[version], &tables, version).await;
    }
}
