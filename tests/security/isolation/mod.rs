//! Tests that one tenant sees nothing of another: a foreign id is answered like an id that never existed.
//!
//! Each row of the tables in `data/isolation-*.txt` is one request with an id that is not the caller's, or
//! that does not belong in its place. Each caller sends it twice: with the foreign id, and with an id that
//! never existed. Both answers must be equal and contain nothing of the victim. Afterwards the victim's data
//! must be unchanged, and the victim's own requests must work, which proves that no path is mistyped.

mod callers;
mod furnishing;
pub mod household;
mod links;
mod rows;
mod spellings;
mod verdict;
pub mod world;

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt as _};
use rows::{Expected, Row, foreign_parameters, matches};
use tests::Method;
use world::World;

/// Least number of pairs of a row and a caller.
const LEAST_PAIRS: usize = 350;
/// Concurrent requests.
const AT_ONCE: usize = 8;
/// Parameters of paths that are chosen from a list or number what another parameter names.
const CHOICES: [&str; 4] = ["action", "query_name", "signal_name", "version"];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_tenant_sees_or_changes_another() {
    let world = World::start().await;
    let rows = rows::all();
    let before = world.as_the_owner_sees_it().await;
    for (request, view) in &before {
        assert_eq!(view["status"], 200, "{request}: {view}");
    }
    let links = world.links().await;
    let mut wrong = check_coverage(&world, &rows).await;

    let (creating, refused): (Vec<_>, Vec<_>) = rows
        .iter()
        .filter(|row| world.has(row))
        .partition(|row| row.expected == Expected::Own);
    let mut pairs = 0;
    for file in rows::FILES {
        let of_file = refused.iter().filter(|row| row.file == file.0);
        let verdicts = of_file.flat_map(|row| row.callers.chars().map(|caller| world.judge(row, caller)));
        let faults: Vec<_> = stream::iter(verdicts).buffer_unordered(AT_ONCE).collect().await;
        pairs += faults.len();
        wrong.extend(faults.into_iter().flatten());
    }
    // One at a time, because these rows change the caller's own data.
    for row in creating {
        for caller in row.callers.chars() {
            pairs += 1;
            wrong.extend(world.judge(row, caller).await);
        }
    }
    for (pair, faults) in world.judge_links(&links).await {
        pairs += 1;
        wrong.extend(faults.into_iter().map(|fault| format!("{pair}: {fault}")));
    }

    let after = world.as_the_owner_sees_it().await;
    assert_eq!(before.len(), after.len());
    for ((request, before), (_, after)) in before.iter().zip(&after) {
        if before != after {
            wrong.push(format!("{request} was {before}\n  and is {after}"));
        }
    }
    wrong.extend(check_owner(&world, &rows).await);

    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(pairs >= LEAST_PAIRS, "{pairs} pairs");
}

/// Checks that the tables have every operation of the document, each with a foreign id of every kind in its
/// path, and with every kind of caller that could be let in.
async fn check_coverage(world: &World, rows: &[Row]) -> Vec<String> {
    let document = world.document().await;
    let mut templates = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let Some(id) = operation["operationId"].as_str() {
                let method: Method = method.to_uppercase().parse().unwrap();
                let path = path
                    .trim_start_matches("/api/v1")
                    .replace("/webhooks/events", "INGEST");
                templates.insert(id.to_owned(), (method, path));
            }
        }
    }
    let mut wrong = Vec::new();
    let mut covered: BTreeSet<(String, String)> = BTreeSet::new();
    for row in rows {
        covered.extend(
            row.callers
                .chars()
                .map(|caller| (row.operation.clone(), caller.to_string())),
        );
        match templates.get(&row.operation) {
            Some((method, template)) if row.method == *method && matches(template, &row.target) => {
                let names = foreign_parameters(template, &row.target).into_iter();
                covered.extend(names.map(|name| (row.operation.clone(), name)));
            }
            _ => wrong.push(format!("{row} is not the operation {}", row.operation)),
        }
    }
    for (operation, (_, template)) in templates {
        let parameters = template
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let ids = parameters
            .filter(|name| !CHOICES.contains(name))
            .map(str::to_owned);
        let callers = [
            ("P", true),
            ("A", true),
            ("K", template.starts_with("/data")),
            (
                "W",
                !["ingestEvent", "listAuditEvents", "aggregateEvents", "getMe"].contains(&operation.as_str()),
            ),
        ];
        let callers = callers.into_iter().filter(|(_, is_needed)| *is_needed);
        for needed in ids.chain(callers.map(|(caller, _)| caller.to_owned())) {
            if !covered.contains(&(operation.clone(), needed.clone())) {
                wrong.push(format!(
                    "no row of {operation} has a foreign {needed}, or the caller {needed}"
                ));
            }
        }
    }
    wrong
}

/// Checks that the requests are valid: the owner gets the data that the others do not. Deletions come last.
async fn check_owner(world: &World, rows: &[Row]) -> Vec<String> {
    let (last, first): (Vec<_>, Vec<_>) = rows
        .iter()
        .filter(|row| row.owner_status.is_some() && world.has(row))
        .partition(|row| row.method == Method::DELETE);
    let mut wrong = Vec::new();
    for row in first.into_iter().chain(last) {
        wrong.extend(world.judge_owner(row).await);
    }
    wrong
}
