//! Tests conversations with agents: a language model with tools, as workflow runs.

use std::sync::Arc;

use serde_json::{Value, json};
use tests::Persona;
use tests::agents::{Agents, calling, task};
use tests::model::Reply;
use tokio::sync::Notify;

const ROLES: [&str; 3] = ["reader", "executor", "automation"];

#[tokio::test]
async fn each_role_does_what_it_permits_and_is_refused_the_rest_locally() {
    let world = Agents::start_local().await;
    let (runs, token) = (&world.runs, &world.runs.token);
    let prompt = world.prompt(token, "Hello").await;
    let answer = runs
        .service
        .post(token, "/data", &json!({ "name": "notes" }))
        .await;
    let store = answer.expect_status(201).id();
    let other = runs.begin("Steps", &json!({ "steps": 0 }));
    let calls = vec![
        (
            "query_data_store",
            json!({ "store_id": store, "sql": "SELECT 42 AS answer" }),
        ),
        ("read_prompt", json!({ "prompt_id": prompt })),
        ("list_runs", json!({ "type": "Steps" })),
        (
            "read_run",
            json!({ "workflow_id": other.workflow_id, "run_id": other.run_id }),
        ),
        ("post_update", json!({ "message": "Half of it." })),
        ("drop_table", json!({})),
    ];
    let permitted = |role: &str| match role {
        "reader" => [true, true, false, false, true, false],
        _ => [true, true, true, true, true, false],
    };
    world.model.answers(calling(calls.clone()));
    for role in ROLES {
        let run = world.begin_as(role, &task("Look around."));
        let detail = runs.wait_for_status(&run, "COMPLETED").await;
        assert_eq!(detail["result"], json!({ "message": "Done." }));
        let results = world.results(&run).await;
        for ((result, (name, _)), is_permitted) in results.iter().zip(&calls).zip(permitted(role)) {
            assert_eq!(result["is_error"], !is_permitted, "{role} {name}: {result}");
        }
        assert!(
            results[0]["text"].as_str().unwrap().contains("42"),
            "{}",
            results[0]
        );
        if role == "reader" {
            assert!(
                results[2]["text"].as_str().unwrap().starts_with("forbidden"),
                "{}",
                results[2]
            );
        }
        let updates = runs.updates(&run, "").await;
        let count = |kind: &str| updates.iter().filter(|update| update["type"] == kind).count();
        assert_eq!((count("AGENT_UPDATE"), count("MESSAGE")), (1, 1), "{updates:?}");
        assert!(!json!(updates).to_string().contains("SELECT"), "{updates:?}");
    }
    let run = runs.begin("AgentConversation", &task("Without a role."));
    runs.wait_for_status(&run, "COMPLETED").await;
    for result in &world.results(&run).await[..4] {
        assert!(result["text"].as_str().unwrap().starts_with("NoRole"), "{result}");
    }
}

#[tokio::test]
async fn a_question_is_answered_by_a_signal_and_the_conversation_is_listed_locally() {
    let world = Agents::start_local().await;
    let runs = &world.runs;
    world
        .model
        .answers(calling(vec![("ask_user", json!({ "question": "Which one?" }))]));
    let run = world.begin(&task("Choose."));
    let waits = |detail: &Value| detail["status"] == "RUNNING";
    runs.wait_until(&run, waits).await;
    let question = loop {
        let updates = runs.updates(&run, "").await;
        if let Some(update) = updates.iter().find(|update| update["type"] == "QUESTION") {
            break update.clone();
        }
        tokio::time::sleep(tests::runs::PAUSE).await;
    };
    assert_eq!(question["message"], "Which one?");
    let state = runs.get(&run, "/query/__state").await.expect_status(200).body;
    assert_eq!(
        (&state["waits_for"], &state["last_tool"]),
        (&json!("UserInput"), &json!("ask_user")),
        "{state}"
    );
    runs.signal(&run, "UserInput", &json!({ "message": "The first." }))
        .await;
    runs.wait_for_status(&run, "COMPLETED").await;
    let result = &world.results(&run).await[0];
    assert_eq!(
        (&result["text"], &result["answer"]),
        (&json!("The user answers: The first."), &json!("The first."))
    );

    let listed = |token: String| async move {
        let page = runs
            .service
            .post(&token, "/workflows/conversations", &json!({}))
            .await
            .expect_status(200)
            .body;
        page["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["run_id"].clone())
            .collect::<Vec<_>>()
    };
    let private = json!({ "visibility": "private", "interactive": true, "data": { "task": "Secret." } });
    let more = ["--role", "reader", "--user", "ada"];
    let (mine, _) = runs.begin_with("AgentConversation", "private", &private, &more);
    runs.begin("Steps", &json!({ "steps": 0 }));
    let token = |user: &str| runs.scope.token_with(&["--user-id", user, "--roles", "executor"]);
    let detail = runs.service.get(&token("ada"), &mine.path("")).await;
    assert_eq!(detail.expect_status(200).body["visibility"], "private");
    let arguments = ["--roles", "executor", "--permissions", "workflow_superadmin"];
    let superadmin = runs.scope.token_with(&arguments);
    // No role sees private runs.
    let admin = runs.scope.token(Persona::AccountAdmin);
    let developer = runs.scope.token(Persona::Developer);
    let (public, private) = (json!(run.run_id), json!(mine.run_id));
    for (token, expected) in [
        (token("ada"), vec![private.clone(), public.clone()]),
        (token("grace"), vec![public.clone()]),
        (admin, vec![public.clone()]),
        (developer, vec![public.clone()]),
        (superadmin, vec![private, public]),
    ] {
        assert_eq!(listed(token).await, expected);
    }
    let refused = runs.service.get(&token("grace"), &mine.path("")).await;
    refused.expect_status(404);
}

#[tokio::test]
async fn an_interaction_brings_prompts_tools_and_the_form_of_the_result_locally() {
    let world = Agents::start_local().await;
    let prompt = world
        .prompt(&world.runs.token, "Sum up invoice {{invoice}}.")
        .await;
    world.load(
        "Sums",
        &json!({
            "prompts": [prompt], "tools": ["read_prompt"],
            "output_schema": { "type": "object", "properties": { "total": { "type": "number" } }, "required": ["total"] },
        }),
    );
    world.model.answers(|request| {
        assert_eq!(request.tools(), ["finish", "read_prompt"]);
        assert!(
            request.user().starts_with("Sum up invoice i-7."),
            "{}",
            request.user()
        );
        let total = if request.texts("tool").is_empty() {
            json!("many")
        } else {
            json!(7)
        };
        Reply::Calls(vec![(
            "finish",
            json!({ "result": { "total": total }, "message": "Summed up." }),
        )])
    });
    let run = world.begin(&json!({ "interaction_ref": "app:Sums", "data": { "invoice": "i-7" } }));
    let detail = world.runs.wait_for_status(&run, "COMPLETED").await;
    assert_eq!(
        detail["result"],
        json!({ "message": "Summed up.", "output": { "total": 7 } })
    );
    let listed = world
        .runs
        .list(&json!({ "type": "AgentConversation" }))
        .await
        .expect_status(200)
        .body;
    assert_eq!(listed["runs"][0]["interaction_name"], "app:Sums", "{listed}");

    let missing = world.begin(&json!({ "interaction_ref": "app:Missing" }));
    let detail = world.runs.wait_for_status(&missing, "FAILED").await;
    let message = detail["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("Missing") && message.contains("ops interaction load"),
        "{message}"
    );
}

#[tokio::test]
async fn text_is_published_while_the_model_writes_it_locally() {
    let world = Agents::start_local().await;
    let gate = Arc::new(Notify::new());
    let model_gate = Arc::clone(&gate);
    world
        .model
        .answers(move |_| Reply::Streams("Once upon ", Arc::clone(&model_gate), "a time."));
    let run = world.begin(&task("Tell."));
    let parts = |updates: &[Value]| -> Vec<Value> {
        let parts = updates.iter().filter(|update| update["type"] == "PARTIAL_TEXT");
        parts.cloned().collect()
    };
    let deadline = std::time::Instant::now() + tests::runs::WITHIN;
    let part = loop {
        let parts = parts(&world.runs.updates(&run, "").await);
        if let Some(part) = parts.first() {
            break part.clone();
        }
        assert!(std::time::Instant::now() < deadline, "no part of the text");
        tokio::time::sleep(tests::runs::PAUSE).await;
    };
    assert_eq!(part["message"], "Once upon ");
    assert_eq!(part["details"], json!({ "turn": 1, "attempt": 1, "part": 1 }));
    gate.notify_one();
    let detail = world.runs.wait_for_status(&run, "COMPLETED").await;
    assert_eq!(detail["result"], json!({ "message": "Once upon a time." }));
    assert_eq!(parts(&world.runs.updates(&run, "").await).len(), 1);
}

#[tokio::test]
async fn a_run_of_an_agent_has_the_permissions_of_its_role_in_its_own_project_alone_locally() {
    let world = Agents::start_local().await;
    let runs = &world.runs;
    let mut calls = Vec::new();
    for persona in [Persona::Developer, Persona::OtherProject, Persona::OtherAccount] {
        let id = world.prompt(&runs.scope.token(persona), "Whose?").await;
        calls.push(("read_prompt", json!({ "prompt_id": id })));
    }
    world.model.answers(calling(calls));
    let run = world.begin_as("automation", &task("Read."));
    runs.wait_for_status(&run, "COMPLETED").await;
    let failed: Vec<_> = world
        .results(&run)
        .await
        .iter()
        .map(|result| result["is_error"].clone())
        .collect();
    assert_eq!(failed, [false, true, true]);
}

#[tokio::test]
async fn agent_is_told_the_published_version_and_no_draft_locally() {
    let world = Agents::start_local().await;
    let (service, token) = (&world.runs.service, &world.runs.token);
    let prompt = world.prompt(token, "The released text.").await;
    let path = format!("/prompts/{prompt}");
    world.load("live", &json!({ "prompts": [prompt] }));
    world.model.answers(|_| Reply::Text("Done.".to_owned()));
    let last_prompt = async || {
        let run = world.begin(&json!({ "interaction_ref": "app:live" }));
        world.runs.wait_for_status(&run, "COMPLETED").await;
        world.model.requests().last().expect("the model was asked").user()
    };
    assert_eq!(last_prompt().await, "The released text.");
    let draft = json!({ "content": "A half-written dra" });
    // While nothing is published, the newest version is used.
    service.put(token, &path, &draft).await.expect_status(200);
    assert_eq!(last_prompt().await, "A half-written dra");
    let publish = format!("{path}/publish");
    let published = service.post(token, &publish, &json!({ "version": 1 })).await;
    published.expect_status(200);
    assert_eq!(last_prompt().await, "The released text.");
    service.put(token, &path, &draft).await.expect_status(200);
    assert_eq!(last_prompt().await, "The released text.");
    service.delete(token, &path).await.expect_status(200);
    assert_eq!(last_prompt().await, "The released text.");
}
