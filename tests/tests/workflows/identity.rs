//! Tests what workflow runs may do inside the platform: only what their role permits, in their project.

use serde_json::{Value, json};
use tests::runs::{Run, Runs};
use tests::{Events, Persona, samples};

const ROLES: [&str; 3] = ["reader", "executor", "automation"];

fn call(method: &str, path: &[&str], body: Option<Value>) -> Value {
    json!({ "method": method, "path": path, "body": body })
}

/// Returns calls with the roles that may make them.
fn permissions() -> Vec<(Value, &'static [&'static str])> {
    let (all, acting, writing): (&[_], &[_], &[_]) = (&ROLES, &["executor", "automation"], &["automation"]);
    let missing_run = ["workflows", "runs", "w", "r"];
    let signal = [&missing_run[..], &["signal", "Approve"]].concat();
    let cancel = [&missing_run[..], &["actions", "cancel"]].concat();
    let subscription = json!({
        "name": "Runs", "run_as_role": "automation", "filter": { "event_category": ["workflow"] },
        "target": { "type": "workflow", "endpoint": "Approval" },
    });
    vec![
        (call("GET", &["prompts"], None), all),
        (call("GET", &["prompts", "pt_missing"], None), all),
        (
            call("POST", &["prompts"], Some(samples::prompt("By a run"))),
            writing,
        ),
        (call("DELETE", &["prompts", "pt_missing"], None), &[]),
        (call("GET", &["data"], None), all),
        (
            call("POST", &["data"], Some(json!({ "name": "by_a_run" }))),
            writing,
        ),
        (call("DELETE", &["data", "missing"], None), &[]),
        (call("GET", &["workflows", "types"], None), all),
        (call("POST", &["workflows", "runs"], Some(json!({}))), acting),
        (call("GET", &missing_run, None), acting),
        (call("POST", &signal, Some(json!({ "message": "yes" }))), acting),
        (call("POST", &cancel, None), acting),
        (call("GET", &["events", "subscriptions"], None), all),
        (
            call("POST", &["events", "subscriptions"], Some(subscription)),
            &[],
        ),
        (
            call(
                "POST",
                &["events", "channels"],
                Some(json!({ "name": "c", "source": "s" })),
            ),
            &[],
        ),
        (call("GET", &["audit-trail"], None), &[]),
    ]
}

/// Returns the results of a run of `ApiCalls`, in the order of its calls.
async fn results(runs: &Runs, run: &Run) -> Vec<Value> {
    let detail = runs.wait_for_status(run, "COMPLETED").await;
    detail["result"]
        .as_array()
        .expect("a result for each call")
        .clone()
}

#[tokio::test]
async fn each_role_does_what_it_permits_and_is_refused_the_rest() {
    let runs = Runs::start().await;
    let permissions = permissions();
    let calls: Vec<_> = permissions.iter().map(|(call, _)| call).collect();
    for role in ROLES {
        let (run, _) = runs.begin_with(
            "ApiCalls",
            &format!("as-{role}"),
            &json!({ "calls": calls }),
            &["--role", role],
        );
        let results = results(&runs, &run).await;
        assert_eq!(results.len(), calls.len());
        for ((call, permitted), result) in permissions.iter().zip(&results) {
            let failure = &result["failure"];
            if permitted.contains(&role) {
                let came_through = result.get("ok").is_some() || failure["type"] == "not_found";
                assert!(came_through, "{role} {call}: {result}");
            } else {
                assert_eq!(failure["type"], "forbidden", "{role} {call}: {result}");
                let message = failure["message"].as_str().unwrap();
                assert!(message.starts_with("This needs the permission "), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn a_run_without_a_role_calls_nothing() {
    let runs = Runs::start().await;
    let calls = [call("GET", &["prompts"], None)];
    let run = runs.begin("ApiCalls", &json!({ "calls": calls }));
    let results = results(&runs, &run).await;
    assert_eq!(results[0]["failure"]["type"], "NoRole", "{results:?}");
    let refused = runs.try_begin("ApiCalls", "w", &json!({ "calls": [] }), &["--role", "developer"]);
    let refused = refused.expect_refusal();
    assert!(
        refused
            .stderr
            .contains("The role is one of automation, executor, reader."),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_run_reaches_its_own_project_alone() {
    let runs = Runs::start().await;
    let mut calls = Vec::new();
    for persona in [Persona::Developer, Persona::OtherProject, Persona::OtherAccount] {
        let token = runs.scope.token(persona);
        let prompt = runs
            .service
            .post(&token, "/prompts", &samples::prompt("Whose"))
            .await
            .expect_status(201);
        calls.push(call("GET", &["prompts", &prompt.id()], None));
        let change = json!({ "description": "Changed" });
        calls.push(call("PUT", &["prompts", &prompt.id()], Some(change)));
    }
    let (run, _) = runs.begin_with(
        "ApiCalls",
        "own",
        &json!({ "calls": calls }),
        &["--role", "automation"],
    );
    let results = results(&runs, &run).await;
    for own in &results[..2] {
        assert!(own.get("ok").is_some(), "{own}");
    }
    for other in &results[2..] {
        assert_eq!(other["failure"]["type"], "not_found", "{other}");
    }
}

#[tokio::test]
async fn a_path_stays_below_the_collection_that_it_names() {
    let runs = Runs::start().await;
    let calls = [
        call("GET", &["prompts", "..", "data"], None),
        call("GET", &["prompts", "../data"], None),
        call("GET", &["prompts", ""], None),
    ];
    let (run, _) = runs.begin_with(
        "ApiCalls",
        "paths",
        &json!({ "calls": calls }),
        &["--role", "reader"],
    );
    let results = results(&runs, &run).await;
    for result in &results {
        assert!(result.get("ok").is_none(), "{result}");
    }
}

#[tokio::test]
async fn the_run_of_a_subscription_has_its_role_and_so_have_its_child_runs() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    for (role, by_child, permitted) in [
        ("reader", false, false),
        ("automation", false, true),
        ("automation", true, true),
        ("reader", true, false),
    ] {
        let name = format!("{role}-{by_child}");
        let calls = [call("POST", &["prompts"], Some(samples::prompt(&name)))];
        let subscription = events
            .subscribe(&json!({
                "name": name, "run_as_role": role,
                "filter": { "event_category": ["external"], "condition": { "==": [{ "var": "details.payload.name" }, name] } },
                "target": { "type": "workflow", "endpoint": "ApiCalls", "vars": { "calls": calls, "by_child": by_child } },
            }))
            .await;
        let event = events.event(&channel, &json!({ "name": name })).await;
        let delivery = events.delivery_of(&event, &["succeeded"]).await;
        assert_eq!(delivery["subscription_id"], subscription["id"]);
        let run_id = delivery["workflow_run_id"].as_str().unwrap();
        let path = format!(
            "/workflows/runs/{}/{run_id}",
            delivery["workflow_id"].as_str().unwrap()
        );
        let detail = events.get(&events.token, &path).await.expect_status(200).body;
        let result = &detail["result"][0];
        let query = "/audit-trail?resourceTypes=prompt&actions=create";
        let trail = events.get(&events.token, query).await.expect_status(200).body;
        let newest = &trail["events"][0];
        assert_eq!(newest["principal_type"], "run", "{newest}");
        assert_eq!(newest["roles"], json!([role]), "{newest}");
        assert_eq!(newest["principal_user_id"], Value::Null, "{newest}");
        assert_eq!(newest["principal_id"] == run_id, !by_child, "{newest}");
        assert_eq!(newest["success"], permitted, "{newest}");
        if permitted {
            assert_eq!(result["ok"]["name"], name, "{result}");
        } else {
            assert_eq!(result["failure"]["type"], "forbidden", "{result}");
        }
    }
}

/// Each run keeps its token for four minutes, so runs from before and after a rotation call at the same time.
#[tokio::test]
async fn runs_call_the_api_across_rotations_of_the_service_key_locally() {
    let runs = Runs::start_local().await;
    let calls = vec![call("GET", &["prompts"], None); 25];
    let mut begun = Vec::new();
    let mut keys = std::collections::BTreeSet::new();
    for number in 0..4 {
        let id = format!("rotation-{number}");
        let (run, _) = runs.begin_with("ApiCalls", &id, &json!({ "calls": calls }), &["--role", "reader"]);
        begun.push(run);
        let rotated = runs.service.operator().json(&["service-key", "--rotate"]);
        keys.insert(rotated["keys"][0]["fingerprint"].to_string());
    }
    assert_eq!(keys.len(), 4);
    for run in &begun {
        let results = results(&runs, run).await;
        assert!(
            results.iter().all(|result| result.get("ok").is_some()),
            "{results:?}"
        );
        let attempts: Vec<_> = runs
            .events(run)
            .await
            .iter()
            .filter_map(|event| event["attempt"].as_u64())
            .collect();
        assert!(
            !attempts.is_empty() && attempts.iter().all(|attempt| *attempt == 1),
            "{attempts:?}"
        );
    }
}
