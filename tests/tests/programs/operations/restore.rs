//! Tests the restore of `docs/deploy.md` by its own commands, in the order of the page.

use serde_json::{Value, json};
use tests::runs::Runs;
use tests::samples;

use super::stack::{STACK, aws, bash, blocks, physical};

const GUIDE: &str = "../docs/deploy.md";
const TABLES: [&str; 4] = ["Records", "Runs", "Events", "Audit"];
/// Printed before what a check between two steps says.
const MARK: &str = "@@";

/// Returns the commands of the page, with checks between the steps.
fn script() -> String {
    let steps = blocks(GUIDE, "## Backup and restore", "## Teardown");
    let [stop, restore, check, replace, settings, start] = steps.as_slice() else {
        panic!("the restore has {} blocks of commands: {steps:?}", steps.len());
    };
    format!(
        r#"status() {{ curl -s -o /dev/null -w '%{{http_code}}' -H "authorization: Bearer $TOKEN" "$BASE_URL/prompts"; }}
{stop}
echo "{MARK} stopped: $(status)"
{restore}
aws dynamodb put-item --table-name "$(resource Records)" --item '{{"pk":{{"S":"later"}},"sk":{{"S":"later"}}}}'
{check}
echo "{MARK} restored: $?"
{replace}
{settings}
{start}
unset MILLRACE_RECORDS_TABLE MILLRACE_RUNS_TABLE MILLRACE_EVENTS_TABLE MILLRACE_AUDIT_TABLE
export MILLRACE_RECORDS_TABLE=$(output RecordsTable) MILLRACE_AUDIT_TABLE=$(output AuditTable)
export MILLRACE_RUNS_TABLE=$(output RunsTable) MILLRACE_EVENTS_TABLE=$(output EventsTable)
millrace ops --deployed check
echo "{MARK} in place: $?"
echo "{MARK} later: $(aws dynamodb get-item --table-name "$(resource Records)" --key '{{"pk":{{"S":"later"}},"sk":{{"S":"later"}}}}')"
"#
    )
}

/// Returns what a restored table must have of the one before.
fn shape(table: &str) -> Value {
    let table = aws(&format!("dynamodb describe-table --table-name {table}"));
    let table = &table["Table"];
    let mut indexes: Vec<_> = table["GlobalSecondaryIndexes"].as_array().unwrap().clone();
    indexes.sort_by_key(|index| index["IndexName"].to_string());
    let indexes = indexes
        .iter()
        .map(|index| json!([index["IndexName"], index["KeySchema"], index["Projection"]]));
    json!([
        table["KeySchema"],
        table["BillingModeSummary"]["BillingMode"],
        indexes.collect::<Vec<_>>()
    ])
}

/// Returns schedules, event sources and reservations that work by themselves.
fn at_work() -> Vec<Value> {
    let mut states = Vec::new();
    for rule in [
        "SweeperFunctionEachMinute",
        "ImporterFunctionOverdue",
        "ImporterFunctionGarbage",
    ] {
        states.push(aws(&format!("events describe-rule --name {}", physical(rule)))["State"].clone());
    }
    let sources = aws("lambda list-event-source-mappings");
    for source in sources["EventSourceMappings"].as_array().unwrap() {
        states.push(json!([source["EventSourceArn"], source["State"]]));
    }
    let functions = aws(&format!(
        "cloudformation list-stack-resources --stack-name {STACK}"
    ));
    for resource in functions["StackResourceSummaries"].as_array().unwrap() {
        if resource["ResourceType"] == "AWS::Lambda::Function" {
            let name = resource["PhysicalResourceId"].as_str().unwrap();
            let reserved = aws(&format!("lambda get-function-concurrency --function-name {name}"));
            states.push(json!([name, reserved["ReservedConcurrentExecutions"]]));
        }
    }
    states
}

#[tokio::test]
#[ignore = "it replaces the tables of an emulator of its own: run `make test-operations`"]
async fn restore_of_the_guide_puts_every_table_in_place() {
    let runs = Runs::start().await;
    let prompt = runs
        .service
        .post(&runs.token, "/prompts", &samples::prompt("kept"))
        .await;
    let prompt = prompt.expect_status(201).id();
    let ended = runs.begin("Steps", &json!({ "steps": 2 }));
    runs.wait_for_status(&ended, "COMPLETED").await;
    let waiting = runs.approval("kept").await;
    let tables = TABLES.map(physical);
    let (shapes, states) = (tables.each_ref().map(|table| shape(table)), at_work());

    let folder = tempfile::tempdir().unwrap();
    let printed = bash(&script(), &runs.token, folder.path());
    let checks: Vec<_> = printed
        .lines()
        .filter_map(|line| line.strip_prefix(MARK))
        .map(str::trim)
        .collect();
    let [stopped, restored, in_place, later] = checks.as_slice() else {
        panic!("{printed}");
    };
    assert!(
        stopped.starts_with("stopped: ") && !stopped.ends_with("200"),
        "{printed}"
    );
    assert_eq!(
        (*restored, *in_place, *later),
        ("restored: 0", "in place: 0", "later:"),
        "{printed}"
    );

    assert_eq!(TABLES.map(physical), tables);
    for (table, before) in tables.iter().zip(&shapes) {
        assert_eq!(&shape(table), before);
        let described = aws(&format!("dynamodb describe-table --table-name {table}"));
        assert_eq!(described["Table"]["DeletionProtectionEnabled"], true, "{table}");
        let expiry = aws(&format!("dynamodb describe-time-to-live --table-name {table}"));
        assert_eq!(
            expiry["TimeToLiveDescription"]["TimeToLiveStatus"], "ENABLED",
            "{table}"
        );
        let recovery = aws(&format!(
            "dynamodb describe-continuous-backups --table-name {table}"
        ));
        let recovery = &recovery["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        assert_eq!(recovery["PointInTimeRecoveryStatus"], "ENABLED", "{table}");
    }
    assert_eq!(at_work(), states);

    let answer = runs.service.get(&runs.token, &format!("/prompts/{prompt}")).await;
    answer.expect_status(200);
    assert_eq!(runs.detail(&ended).await["status"], "COMPLETED");
    runs.signal(&waiting, "Approve", &json!({ "message": "yes" }))
        .await;
    runs.wait_for_status(&waiting, "COMPLETED").await;
    let new = runs.begin("Steps", &json!({ "steps": 2 }));
    runs.wait_for_status(&new, "COMPLETED").await;
}
