//! Measures conditional transactions of a store on the disk of the temporary folder: five per run, as the
//! workflow engine writes them, with index entries, by 1 and by 32 clients.
//!
//! ```text
//! cargo run --release --bin store_commits
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use embedded::sqlite::SqliteRecords;
use platform::records::schema::{DUE, GSI1, TableKind};
use platform::records::store::{Action, Changes, Condition, Item, Key, Query, RecordStore, Step, Written};
use serde_json::json;

const WRITES_OF_RUN: u64 = 5;

#[expect(clippy::print_stdout, reason = "it prints what it measures")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("records.db");
    let store = Arc::new(SqliteRecords::open(&path, &[("runs", TableKind::Listed)])?);
    for (clients, runs) in [(1, 400), (32, 200), (256, 50)] {
        let begun = Instant::now();
        let clients_at_once = (0..clients).map(|client| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for run in 0..runs {
                    if let Err(error) = write_run(&store, &format!("{clients}-{client}-{run}")).await {
                        return Err(error.to_string());
                    }
                }
                Ok(())
            })
        });
        for client in clients_at_once.collect::<Vec<_>>() {
            client.await??;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let commits = f64::from(clients * runs) * 5.0;
        println!(
            "{clients:>4} clients: {:>7.0} transactions/s, {:>6.0} runs/s, {:.2} ms each",
            commits / seconds,
            commits / 5.0 / seconds,
            seconds * 1e3 * f64::from(clients) / commits,
        );
    }
    let finds = 50_000;
    let begun = Instant::now();
    for find in 0..finds {
        let key = run_key(&format!("32-{}-{}", find % 32, find % 200));
        let _ = store.find("runs", &key).await?;
    }
    println!(
        "find: {:.1} us",
        begun.elapsed().as_secs_f64() * 1e6 / f64::from(finds)
    );
    let pages = 2_000;
    let query = Query::partition("project").index(GSI1);
    let begun = Instant::now();
    for _ in 0..pages {
        let _ = store.page("runs", &query, 50, None).await?;
    }
    println!(
        "page of 50 summaries: {:.0} us",
        begun.elapsed().as_secs_f64() * 1e6 / f64::from(pages)
    );
    Ok(())
}

fn run_key(run: &str) -> Key {
    Key::new(format!("project#{run}"), "run")
}

/// Writes a run that starts, makes progress, and ends. Each write requires the previous version, and adds a
/// part of its history.
async fn write_run(store: &SqliteRecords, run: &str) -> Result<(), Box<dyn Error>> {
    let key = run_key(run);
    for version in 0..WRITES_OF_RUN {
        let is_last = version + 1 == WRITES_OF_RUN;
        let (action, condition) = if version == 0 {
            let record = json!({
                "version": version, "status": "running", "state": "a".repeat(600), "summary": { "title": run },
                "gsi1pk": "project", "listed_at": run, "gsi2pk": "project#running",
                "gsi3pk": "project#type", "due_shard": "0", "due_at": "2026-01-01T00:00:00Z",
            });
            (Action::Put(Item::from_record(&key, &record)?), Condition::Absent)
        } else {
            let changes = Changes::default()
                .set("version", &version)?
                .set("state", &"b".repeat(800))?;
            let changes = if is_last {
                changes
                    .place("gsi2", "project#ended".to_owned(), run.to_owned())
                    .not_due()
            } else {
                changes.place(DUE, "0".to_owned(), format!("2026-01-01T00:00:0{version}Z"))
            };
            (
                Action::Update(changes),
                Condition::NumberIs("version", version - 1),
            )
        };
        let part = Key::new(key.pk.clone(), format!("history#{version}"));
        let history = Item::from_record(&part, &json!({ "events": "c".repeat(1_000) }))?;
        let steps = vec![
            step(key.clone(), action, condition),
            step(part, Action::Put(history), Condition::Absent),
        ];
        if store.transact(steps).await? != Written::Done {
            return Err("a transaction was refused".into());
        }
    }
    Ok(())
}

fn step(key: Key, action: Action, condition: Condition) -> Step {
    Step {
        table: "runs".into(),
        key,
        action,
        condition: Some(condition),
    }
}
