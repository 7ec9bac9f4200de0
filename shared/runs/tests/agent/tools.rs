//! Tests tool calls: carried out or refused, and their results for the model.

use runs::agent::Agent;
use serde_json::{Value, json};
use workflow::Failure;
use workflow::status::RunStatus;

use crate::world::{Scripted, agent, calls, conversation, says};

fn only(tools: &[&str]) -> Agent {
    Agent {
        tools: Some(tools.iter().map(|name| (*name).to_owned()).collect()),
        ..agent()
    }
}

/// Returns the result of one call as the model sees it, and whether it is an error.
fn heard(agent: Agent, name: &str, arguments: Value) -> (String, bool) {
    let model = Scripted::new([Ok(calls(&[(name, arguments)])), Ok(says("Done."))]);
    let outcome = conversation(&model, agent, &json!({ "interaction_ref": "i" }))
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed, "a refusal ends no run");
    model.results(1).remove(0)
}

#[test]
fn a_tool_that_the_agent_does_not_have_is_refused() {
    for (name, arguments) in [
        ("list_runs", json!({})),
        ("drop_table", json!({ "table": "x" })),
        ("call_https", json!({ "url": "https://example.com" })),
        ("docs__search", json!({})),
    ] {
        let (told, failed) = heard(only(&["read_prompt"]), name, arguments);
        assert!(failed && told.contains("There is no tool"), "{name}: {told}");
    }
    let model = Scripted::new([Ok(says("Done."))]);
    conversation(&model, only(&["read_prompt"]), &json!({ "interaction_ref": "i" }))
        .run()
        .unwrap();
    let names: Vec<_> = model.asked()[0]
        .tools
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(names, ["read_prompt"]);
}

#[test]
fn a_run_without_a_role_may_call_nothing() {
    for (name, arguments) in [
        ("query_data_store", json!({ "store_id": "s", "sql": "SELECT 1" })),
        ("read_prompt", json!({ "prompt_id": "p" })),
        ("list_runs", json!({})),
        ("read_run", json!({ "workflow_id": "w", "run_id": "r" })),
    ] {
        let (told, failed) = heard(agent(), name, arguments);
        assert!(failed && told.contains("NoRole"), "{name}: {told}");
    }
}

#[test]
fn bad_arguments_go_back_to_the_model() {
    for (name, arguments) in [
        ("query_data_store", json!({})),
        (
            "query_data_store",
            json!({ "store_id": "s", "sql": "SELECT 1", "limit": 0 }),
        ),
        ("read_prompt", json!({ "prompt_id": 7 })),
        ("read_prompt", json!({ "prompt_id": "p", "project": "other" })),
        ("list_runs", json!({ "limit": 51 })),
        ("post_update", json!({ "message": "x", "run_id": "another" })),
        ("post_update", json!({ "message": " " })),
        ("ask_user", json!({})),
        ("finish", json!({ "results": 1 })),
    ] {
        let (told, failed) = heard(agent(), name, arguments.clone());
        assert!(failed && told.contains("argument"), "{name} {arguments}: {told}");
    }
}

#[test]
fn addresses_that_are_not_allowed_are_refused() {
    let with_hosts = |hosts: &[&str]| Agent {
        allowed_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        ..agent()
    };
    let (told, failed) = heard(
        with_hosts(&["api.example.com"]),
        "call_https",
        json!({ "url": "https://evil.example/" }),
    );
    assert!(failed && told.contains("not allowed"), "{told}");
    // The interaction allows the host, but it is in a private network: the address rules refuse it.
    for host in ["169.254.169.254", "10.0.0.1", "[fd00::1]"] {
        let url = json!({ "url": format!("https://{host}/latest/meta-data") });
        let (told, failed) = heard(with_hosts(&[host]), "call_https", url);
        assert!(failed && told.contains("is not public"), "{host}: {told}");
    }
}

#[test]
fn a_tool_that_fails_for_good_does_not_end_the_run() {
    let model = Scripted::new([Ok(calls(&[("list_runs", json!({}))])), Ok(says("Done."))]);
    let run = conversation(&model, agent(), &json!({ "interaction_ref": "i" }));
    let outcome = run
        .mock("agent_tool", |_| Err(Failure::new("WorkerLost", "Lost.")))
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let (told, failed) = &model.results(1)[0];
    assert!(*failed && told.contains("not known"), "{told}");
}

#[test]
fn an_update_is_published_once_and_names_no_arguments() {
    let secret = json!({ "prompt_id": "hunter2" });
    let model = Scripted::new([
        Ok(calls(&[
            ("post_update", json!({ "message": "Half." })),
            ("read_prompt", secret),
        ])),
        Ok(says("Done.")),
    ]);
    let outcome = conversation(&model, agent(), &json!({ "interaction_ref": "i" }))
        .run()
        .unwrap();
    let posted: Vec<_> = outcome
        .updates
        .iter()
        .filter(|update| update.kind == "AGENT_UPDATE")
        .collect();
    assert_eq!((posted.len(), posted[0].message.as_str()), (1, "Half."));
    assert!(!format!("{:?}", outcome.updates).contains("hunter2"));
}
