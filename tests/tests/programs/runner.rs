//! Tests the local runner as a program: what it refuses, how it ends, and what survives its end.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Client, Finished, Persona, Process, Service, run, unique};
use tokio::sync::mpsc;

/// Starts a runner that must refuse with one line.
#[track_caller]
fn refusal(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let refused = run("millrace", arguments, variables).expect_refusal();
    one_sentence(&refused);
    refused.stderr
}

#[track_caller]
fn one_sentence(refused: &Finished) {
    let text = refused.stderr.trim();
    assert_eq!(text.lines().count(), 1, "not one sentence: {refused:?}");
    assert!(text.ends_with('.'), "not a sentence: {refused:?}");
    assert_eq!(refused.stdout, "", "it says that it is ready: {refused:?}");
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[test]
fn a_taken_port_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let data_dir = text(&folder.path().join("data"));
    for message in [
        refusal(&["--port", &port, "--data-dir", &data_dir], &[]),
        refusal(&[], &[("PORT", &port), ("DATA_DIR", &data_dir)]),
    ] {
        assert!(message.contains(&port), "{message}");
        assert!(message.contains("PORT"), "it does not say what to do: {message}");
    }
}

#[test]
fn a_data_directory_that_cannot_be_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "text").unwrap();
    for path in [file.clone(), file.join("below"), file.join("far/below")] {
        let message = refusal(&["--port", "0", "--data-dir", &text(&path)], &[]);
        assert!(message.contains(&text(&path)), "{message}");
        assert!(
            message.contains("DATA_DIR"),
            "it does not say what to do: {message}"
        );
    }
}

#[tokio::test]
async fn a_newer_or_damaged_format_is_refused_and_left_alone_locally() {
    let mut service = Service::start_local().await;
    let file = service.data_dir().join("format.json");
    let data_dir = text(&service.data_dir());
    let whole: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    service.process().kill();
    let newer = whole["format"].as_u64().unwrap() + 1;
    for (content, part) in [
        (json!({ "format": newer }).to_string(), "newer"),
        (json!({ "format": newer, "more": [] }).to_string(), "newer"),
        ("nonsense".to_owned(), "format.json"),
        (String::new(), "format.json"),
        ("{}".to_owned(), "format.json"),
        (r#"{"format":"one"}"#.to_owned(), "format.json"),
    ] {
        std::fs::write(&file, &content).unwrap();
        let refused = refusal(&["--port", "0", "--data-dir", &data_dir], &[]);
        assert!(refused.contains(part), "{content}: {refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
        let output = service.operator().run(&["check"]).expect_refusal();
        assert!(output.stderr.contains(part), "{content}: {output:?}");
    }
    std::fs::write(&file, whole.to_string()).unwrap();
    service.restart();
}

#[tokio::test]
async fn a_second_runner_on_the_same_directory_is_refused_locally() {
    let service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    let message = refusal(&["--port", "0", "--data-dir", &text(&service.data_dir())], &[]);
    assert!(message.contains("Another process"), "{message}");
    service
        .post(&token, "/prompts", &prompt("Undisturbed"))
        .await
        .expect_status(201);
    service.operator().run(&["check"]).expect_success();
}

#[test]
fn bad_arguments_and_variables_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = text(&folder.path().join("data"));
    for (arguments, part) in [
        (&["--port", "many"][..], "many"),
        (&["--port", "65536"], "65536"),
        (&["--prot", "0"], "--prot"),
        (&["server"], "server"),
    ] {
        let refused = run("millrace", arguments, &[("DATA_DIR", &data_dir)]).expect_refusal();
        assert!(refused.stderr.contains(part), "{refused:?}");
    }
    let message = refusal(
        &["--port", "0", "--data-dir", &data_dir],
        &[("MILLRACE_COLOUR", "red")],
    );
    assert!(message.contains("MILLRACE_COLOUR"), "{message}");
    for (name, value) in [
        ("MILLRACE_TOKEN_ISSUER", "https://identity.example"),
        ("MILLRACE_CACHE_DIR", "/tmp/cache"),
        ("MILLRACE_DATA_BUCKET", "data"),
    ] {
        let message = refusal(&["--port", "0", "--data-dir", &data_dir], &[(name, value)]);
        assert!(
            message.contains(&format!("The variable {name} is for deployed functions")),
            "{message}"
        );
    }
    let help = run("millrace", &["--help"], &[]).expect_success();
    for option in ["--port", "--data-dir", "PORT", "DATA_DIR"] {
        assert!(help.stdout.contains(option), "{}", help.stdout);
    }
    run("millrace", &["--version"], &[]).expect_success();
}

#[tokio::test]
async fn printed_token_opens_the_api_locally() {
    let mut service = Service::start_local().await;
    let token = service.process().token().to_owned();
    service
        .post(&token, "/prompts", &prompt("First"))
        .await
        .expect_status(201);
    service.get(&token, "/audit-trail").await.expect_status(200);
}

#[tokio::test]
async fn runner_ends_well_on_sigterm_locally() {
    let mut service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    // The open connection must not delay the end.
    let created = service
        .post(&token, "/prompts", &prompt("Kept"))
        .await
        .expect_status(201);
    assert_eq!(service.process().stop(), Some(0), "{}", service.log());
    service.restart();
    let answer = service
        .get(&token, &format!("/prompts/{}", created.id()))
        .await
        .expect_status(200);
    assert_eq!(answer.body, created.body);
}

#[tokio::test]
async fn a_runner_takes_over_from_another_one_locally() {
    let mut service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    let created = service.post(&token, "/prompts", &prompt("Kept")).await;
    let path = format!("/prompts/{}", created.expect_status(201).id());
    let launcher = ["sh", "-c", "exec \"$0\" --replace \"$@\""];
    let log = service.folder().join("second.log");
    let second = Process::start_by(&launcher, &service.data_dir(), &log, &[]);
    // It has ended by itself, so this only reads its status.
    assert_eq!(service.process().stop(), Some(0), "{}", service.log());
    let client = Client::new(second.base_url());
    client.get(&token, &path).await.expect_status(200);
}

#[tokio::test]
async fn a_runner_with_a_wrong_setting_leaves_the_other_one_at_work_locally() {
    let mut service = Service::start_local().await;
    let data_dir = text(&service.data_dir());
    let message = refusal(
        &["--replace", "--port", "0", "--data-dir", &data_dir],
        &[("MILLRACE_MODEL_PROVIDER", "gpt"), ("MILLRACE_LOG", "warn")],
    );
    assert!(message.contains("MILLRACE_MODEL_PROVIDER"), "{message}");
    let token = service.process().token().to_owned();
    service.get(&token, "/prompts").await.expect_status(200);
}

#[tokio::test]
async fn the_operator_command_works_before_during_and_after_locally() {
    let mut service = Service::start_local().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let id = service.post(&token, "/prompts", &prompt("Kept")).await.id();
    service.operator().run(&["check"]).expect_success();
    service.process().kill();
    // The remains of a killed runner must not mislead the command.
    service.operator().run(&["check"]).expect_success();
    scope.ops(&["prompt", "publish", &id]).expect_success();
    service.restart();
    let answer = service
        .get(&token, &format!("/prompts/{id}"))
        .await
        .expect_status(200);
    assert_eq!(answer.body["status"], "published");
    service.operator().run(&["check"]).expect_success();
}

/// Change that the service confirmed.
enum Promise {
    Created { id: String, name: String },
    Updated { version: u64 },
}

/// Writes until the service is gone, and reports each confirmed change.
async fn write_on(
    client: Client,
    token: String,
    shared: Option<String>,
    promises: mpsc::UnboundedSender<Promise>,
) {
    loop {
        let name = unique("burst");
        let request = match &shared {
            Some(path) => client.put(&token, path, &json!({ "name": name })),
            None => client.post(&token, "/prompts", &prompt(&name)),
        };
        let Ok(answer) = request.send().await else { return };
        let promise = match answer.status {
            200 => Promise::Updated {
                version: answer.body["version"].as_u64().unwrap(),
            },
            201 => Promise::Created {
                id: answer.id(),
                name,
            },
            status => panic!("{status}: {}", answer.text()),
        };
        if promises.send(promise).is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn acknowledged_writes_survive_kill_9_locally() {
    let mut service = Service::start_local().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let shared = service.post(&token, "/prompts", &prompt("Shared")).await.id();
    let path = format!("/prompts/{shared}");
    let (mut created, mut newest) = (Vec::new(), 1);
    for round in 1..=3 {
        let (sender, mut promises) = mpsc::unbounded_channel();
        for writer in 0..8 {
            let shared = (writer < 2).then(|| path.clone());
            tokio::spawn(write_on(
                Client::clone(&service),
                token.clone(),
                shared,
                sender.clone(),
            ));
        }
        drop(sender);
        let mut count = 0;
        // Every writer stops when the service is gone; then the channel closes.
        while let Some(promise) = promises.recv().await {
            match promise {
                Promise::Created { id, name } => created.push((id, name)),
                Promise::Updated { version } => newest = newest.max(version),
            }
            count += 1;
            if count == 40 {
                service.process().kill();
            }
        }
        service.restart();
        for (id, name) in &created {
            let answer = service.get(&token, &format!("/prompts/{id}")).await;
            assert_eq!(
                answer.expect_status(200).body["name"],
                name.as_str(),
                "round {round}"
            );
        }
        let current = service.get(&token, &path).await.expect_status(200).body["version"]
            .as_u64()
            .unwrap();
        assert!(
            current >= newest,
            "round {round}: version {newest} was promised, {current} is there"
        );
        let versions = service
            .get(&token, &format!("{path}/versions"))
            .await
            .expect_status(200);
        assert_eq!(versions.each("version"), (1..=current).rev().collect::<Vec<_>>());
        service.operator().run(&["check"]).expect_success();
    }
    assert!(created.len() >= 3, "hardly anything was created");
    // The audit record is written before the answer is sent.
    let mut recorded = BTreeSet::new();
    loop {
        let query = format!("/audit-trail?actions=create&limit=200&offset={}", recorded.len());
        let page = service.get(&token, &query).await.expect_status(200);
        let events = page.body["events"].as_array().unwrap();
        recorded.extend(
            events
                .iter()
                .map(|event| event["resource_id"].as_str().unwrap().to_owned()),
        );
        if page.body["hasNext"] == false {
            break;
        }
    }
    for (id, _) in &created {
        assert!(
            recorded.contains(id),
            "the creation of {id} is not in the audit trail"
        );
    }
}
