//! Runs Schemathesis, which sends requests that the OpenAPI document allows or forbids, and compares each
//! answer with the document: no 5xx, and only documented statuses and bodies. `make fuzz-api` does the same
//! with a random seed and more requests.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};
use tests::{Persona, Service, peers_python};

const REQUESTS: u64 = 4_000;
const SEED: u64 = 1;
/// Requests besides the generated ones: the examples, and some for each limit in the document.
const FIXED_REQUESTS: u64 = 4_000;
/// Operations with as many distinct requests as requested; the others have fewer.
const OPERATIONS: u64 = 50;
const LEAST_GENERATED: u64 = 8;
/// Least share of requests that succeed. Most requests break a limit of the document on purpose.
const LEAST_SUCCESSES: f64 = 0.2;
/// Least share of requests that reach a handler, so that the status is not 401, 404 or 405.
const LEAST_HANDLED: f64 = 0.6;
const RUNS: usize = 40;

fn number(variable: &str, default: u64) -> u64 {
    tests::variable(variable).map_or(default, |text| text.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_as_the_document_says_locally() {
    let service = Service::start_local().await;
    let (requests, seed) = (
        number("API_FUZZ_REQUESTS", REQUESTS),
        number("API_FUZZ_SEED", SEED),
    );
    let generated = requests.saturating_sub(FIXED_REQUESTS) / OPERATIONS;
    let scope = service.scope();
    let runs: Vec<_> = (0..RUNS)
        .map(|number| {
            let id = format!("order-{number}");
            let input = r#"{"title":"An order"}"#;
            scope.ops_json(&["run", "start", "Approval", "--id", &id, "--input", input])
        })
        .map(|run| json!({ "workflow_id": run["workflow_id"], "run_id": run["run_id"] }))
        .collect();
    let token = scope.token(Persona::Developer);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/schemathesis");
    let report = service.folder().join("report.ndjson");
    let output = Command::new(peers_python("schemathesis"))
        // Schemathesis stores its findings in its working folder, and starts the next run with them.
        .current_dir(service.folder())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONPATH", folder)
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("ORIGIN", service.origin())
        .env("TOKEN", &token)
        .env("RUNS", Value::from(runs).to_string())
        .env("SEED", seed.to_string())
        .env(
            "EXAMPLES",
            concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../infra/local/src/reference/examples"
            ),
        )
        .args(["--config-file", &format!("{folder}/schemathesis.toml")])
        .args([
            "run",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/openapi.json"),
            "--url",
            service.origin(),
            "--no-color",
        ])
        .args([
            "--header",
            &format!("Authorization: Bearer {token}"),
            "--request-timeout",
            "60",
            // Its own limit is 10 s, which a busy machine exceeds.
            "--max-response-time",
            "60",
        ])
        .args([
            "--checks",
            "all",
            "--continue-on-failure",
            "--phases",
            "examples,coverage,fuzzing",
        ])
        .args([
            "--seed",
            &seed.to_string(),
            "--max-examples",
            &generated.max(LEAST_GENERATED).to_string(),
        ])
        // A stream stays open for as long as its run does.
        .args(["--exclude-operation-id", "streamRunUpdates"])
        .args(["--report-ndjson-path".as_ref(), report.as_os_str()])
        .output()
        .expect("schemathesis starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let statuses = statuses(&std::fs::read_to_string(report).unwrap());
    let all: u64 = statuses.values().sum();
    let share = |is_counted: fn(u16) -> bool| {
        let counts = statuses.iter().filter(|(status, _)| is_counted(**status));
        counts.map(|(_, count)| count).sum::<u64>() as f64 / all as f64
    };
    let successes = share(|status| status < 300);
    let handled = share(|status| ![401, 404, 405].contains(&status));
    println!("{all} requests, {successes:.2} of them 2xx, {handled:.2} handled: {statuses:?}");
    assert!(all >= requests, "{statuses:?}");
    assert!(successes >= LEAST_SUCCESSES, "{statuses:?}");
    assert!(handled >= LEAST_HANDLED, "{statuses:?}");
}

/// Returns the number of the report's answers by status.
fn statuses(report: &str) -> BTreeMap<u16, u64> {
    let mut statuses = BTreeMap::new();
    for line in report.lines() {
        count(&serde_json::from_str(line).unwrap(), &mut statuses);
    }
    statuses
}

fn count(value: &Value, statuses: &mut BTreeMap<u16, u64>) {
    match value {
        Value::Object(fields) => {
            let status = fields.get("status_code").and_then(Value::as_u64);
            if let Some(status) = status.and_then(|status| u16::try_from(status).ok()) {
                *statuses.entry(status).or_default() += 1;
            }
            fields.values().for_each(|value| count(value, statuses));
        }
        Value::Array(items) => items.iter().for_each(|value| count(value, statuses)),
        _ => {}
    }
}
