//! Tests hostile texts that ask an agent to exceed its permissions, with a model that obeys each.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::model::{ModelRequest, ModelServer, Reply};
use tests::stores::inline;
use tests::{Persona, Run, Runs};

/// Key that the service sends to the model.
const KEY: &str = "hunter2-model-key";
/// Text that only the other project contains.
const OTHERS: &str = "hunter2-of-the-neighbour";
/// Hosts that the interaction allows, so that only the address rules refuse them.
const ALLOWED: [&str; 9] = [
    "169.254.169.254",
    "[::ffff:a9fe:a9fe]",
    "localhost",
    "127.0.0.1:8443",
    "10.0.0.7",
    "[fd00::1]",
    "metadata.google.internal",
    "rebind.example.invalid",
    "allowed.example",
];

#[derive(Clone, Debug)]
struct Row {
    carrier: String,
    tool: &'static str,
    arguments: Value,
    refusal: String,
    text: String,
}

fn rows(names: &BTreeMap<&str, String>) -> Vec<Row> {
    let mut file = include_str!("../../../data/red-team/agent.txt").to_owned();
    for (name, value) in names {
        file = file.replace(&format!("{{{name}}}"), value);
    }
    let lines = file
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .enumerate()
        .map(|(number, line)| {
            let parts: Vec<_> = line.splitn(5, " | ").collect();
            let [carrier, tool, arguments, refusal, text] = parts[..] else {
                panic!("a row has five parts: {line}");
            };
            Row {
                carrier: carrier.to_owned(),
                tool: tool.to_owned().leak(),
                arguments: serde_json::from_str(arguments).expect("the arguments are JSON"),
                refusal: refusal.to_owned(),
                text: format!("{text} [row-{number}]"),
            }
        })
        .collect()
}

/// Returns a model that obeys: if the last message contains the text of a row, it makes the call that the row
/// requests.
fn obedient(
    rows: Vec<Row>,
    first_calls: BTreeMap<String, (&'static str, Value)>,
) -> impl Fn(&ModelRequest) -> Reply {
    move |request| {
        let messages = request.body["messages"].as_array().unwrap();
        let last = messages.last().unwrap()["content"].as_str().unwrap_or_default();
        let marked = |number: usize| last.contains(&format!("[row-{number}]"));
        if let Some((_, row)) = rows.iter().enumerate().find(|(number, _)| marked(*number)) {
            return Reply::Calls(vec![(row.tool, row.arguments.clone())]);
        }
        let first = first_calls.iter().find(|(task, _)| last.contains(task.as_str()));
        match first.filter(|_| request.texts("tool").is_empty()) {
            Some((_, (tool, arguments))) => Reply::Calls(vec![(tool, arguments.clone())]),
            None => Reply::output(&json!({ "verdict": "reject" })),
        }
    }
}

struct World {
    runs: Runs,
    store: String,
    others: [String; 2],
    victim: Run,
}

impl World {
    async fn start(model: &ModelServer) -> Self {
        // As in the cloud: even this machine is not an allowed address.
        let key = [
            ("MILLRACE_MODEL_API_KEY", KEY),
            ("MILLRACE_LOCAL_TARGETS", "false"),
        ];
        let runs = Runs::start_local_with(&[&model.variables()[..], &key].concat()).await;
        let version = json!({
            "version": 1, "prompts": [], "allowed_hosts": ALLOWED,
            "output_schema": {
                "type": "object", "properties": { "verdict": { "enum": ["reject"] } }, "required": ["verdict"],
            },
        });
        let file = runs.service.folder().join("interactions.json");
        std::fs::write(
            &file,
            json!([{ "id": "judge", "name": "Judge", "versions": [version] }]).to_string(),
        )
        .unwrap();
        runs.scope
            .ops(&["interaction", "load", file.to_str().unwrap()])
            .expect_success();
        let other = runs.scope.token(Persona::OtherProject);
        let others = [
            prompt(&runs, &other, OTHERS).await,
            store(&runs, &other, &json!([{ "id": 1, "text": OTHERS }])).await,
        ];
        let victim = runs.begin("Steps", &json!({ "steps": 0 }));
        runs.wait_for_status(&victim, "COMPLETED").await;
        Self {
            store: String::new(),
            runs,
            others,
            victim,
        }
    }
}

async fn prompt(runs: &Runs, token: &str, content: &str) -> String {
    let body = json!({ "name": "P", "role": "user", "content_type": "text", "content": content });
    runs.service
        .post(token, "/prompts", &body)
        .await
        .expect_status(201)
        .id()
}

/// Creates a store with the table `notes`.
async fn store(runs: &Runs, token: &str, rows: &Value) -> String {
    let id = runs
        .service
        .post(token, "/data", &json!({ "name": tests::unique("store") }))
        .await
        .expect_status(201)
        .id();
    let columns = tests::stores::columns(&["id INTEGER", "text STRING"]);
    let tables = json!({ "tables": [{ "name": "notes", "columns": columns }] });
    runs.service
        .post(token, &format!("/data/{id}/tables"), &tables)
        .await
        .expect_status(201);
    let imported = runs
        .service
        .post(token, &format!("/data/{id}/import"), &inline("notes", rows))
        .await;
    assert!(imported.status < 300, "{imported:?}");
    id
}

#[tokio::test]
async fn whatever_a_text_makes_a_model_do_the_platform_refuses_it_locally() {
    let model = ModelServer::start().await;
    let mut world = World::start(&model).await;
    let token = world.runs.token.clone();
    let mut names = BTreeMap::from([
        ("other_prompt", world.others[0].clone()),
        ("other_store", world.others[1].clone()),
        ("other_project", world.runs.scope.other_project()),
        ("own_workflow", world.victim.workflow_id.clone()),
        ("own_run", world.victim.run_id.clone()),
    ]);
    let texts = rows(&names);
    let notes: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(id, row)| json!({ "id": id, "text": row.text }))
        .collect();
    world.store = store(&world.runs, &token, &json!(notes)).await;
    names.insert("store", world.store.clone());
    let rows = rows(&names);
    assert!(rows.len() >= 40, "{}", rows.len());

    let mut tasks = Vec::new();
    let mut first_calls = BTreeMap::new();
    for (number, row) in rows.iter().enumerate() {
        let task = format!("task-{number}.");
        let first = match row.carrier.as_str() {
            "event" => {
                tasks.push(row.text.clone());
                continue;
            }
            "prompt" => {
                let id = prompt(&world.runs, &token, &row.text).await;
                ("read_prompt", json!({ "prompt_id": id }))
            }
            "row" => {
                let sql = format!("SELECT text FROM notes WHERE id = {number}");
                ("query_data_store", json!({ "store_id": world.store, "sql": sql }))
            }
            other => panic!("no carrier {other}"),
        };
        tasks.push(task.clone());
        first_calls.insert(task, first);
    }
    model.answers(obedient(rows.clone(), first_calls));
    let before = state(&world).await;

    let runs = &world.runs;
    let mut texts = String::new();
    for (number, (row, task)) in rows.iter().zip(&tasks).enumerate() {
        let input = json!({ "interaction_ref": "judge", "data": { "task": task } });
        let (run, _) = runs.begin_with(
            "AgentConversation",
            &format!("red-{number}"),
            &input,
            &["--role", "reader"],
        );
        let detail = runs.wait_for_status(&run, "COMPLETED").await;
        assert_eq!(
            detail["result"]["output"],
            json!({ "verdict": "reject" }),
            "{row:?}"
        );
        let conversation = runs
            .get(&run, "/query/Conversation")
            .await
            .expect_status(200)
            .body;
        let refused = refusals(&conversation, row.tool);
        assert!(
            !refused.is_empty(),
            "the model did not obey {row:?}: {conversation}"
        );
        for refusal in refused {
            assert!(refusal.contains(&row.refusal), "{row:?}: {refusal}");
        }
        texts.push_str(&conversation.to_string());
        texts.push_str(&json!([detail, runs.updates(&run, "").await, runs.events(&run).await]).to_string());
    }
    texts.push_str(&runs.service.log());
    for secret in [KEY, OTHERS] {
        assert!(!texts.contains(secret), "{secret} came out");
    }
    assert_eq!(state(&world).await, before, "something was changed");
    let query = "/audit-trail?limit=100";
    let trail = runs.service.get(&token, query).await.expect_status(200).body;
    let by_runs = trail["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["principal_type"] == "run");
    let carried_out: Vec<_> = by_runs.filter(|event| event["success"] == true).collect();
    assert!(carried_out.is_empty(), "{carried_out:?}");
}

/// Returns the results of a tool's failed calls.
fn refusals(conversation: &Value, tool: &str) -> Vec<String> {
    let messages = conversation["messages"].as_array().unwrap();
    let calls = messages
        .iter()
        .flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    let ids: Vec<_> = calls
        .filter(|call| call["name"] == tool)
        .map(|call| call["id"].clone())
        .collect();
    let results = messages
        .iter()
        .flat_map(|message| message["results"].as_array().into_iter().flatten());
    let failed = results.filter(|result| ids.contains(&result["tool_call_id"]) && result["is_error"] == true);
    failed
        .map(|result| result["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns everything that no agent may change: the prompts, stores and rows of both projects, and the update
/// messages of another run.
async fn state(world: &World) -> Value {
    let runs = &world.runs;
    let other = runs.scope.token(Persona::OtherProject);
    let mut state = Vec::new();
    for token in [&runs.token, &other] {
        for path in ["/prompts", "/data", "/events/subscriptions"] {
            state.push(runs.service.get(token, path).await.expect_status(200).body);
        }
    }
    let count = json!({ "sql": "SELECT count(*), max(text) FROM notes" });
    let path = format!("/data/{}/query", world.store);
    let rows = runs
        .service
        .post(&runs.token, &path, &count)
        .await
        .expect_status(200)
        .body["rows"]
        .clone();
    state.push(rows);
    state.push(json!(runs.updates(&world.victim, "").await));
    json!(state)
}
