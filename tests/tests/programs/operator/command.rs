//! Tests the operator command: its output, its refusals, and that it shows an API key once.

use std::path::Path;

use serde_json::json;
use tests::samples::prompt;
use tests::{OPS, Operator, Persona, Service, redacted, run};

#[test]
fn every_command_explains_itself() {
    for (arguments, words) in [
        (
            &["--help"][..],
            &[
                "token",
                "key",
                "prompt",
                "interaction",
                "check",
                "--data-dir",
                "--json",
            ][..],
        ),
        (
            &["token", "--help"],
            &[
                "--roles",
                "--permissions",
                "--user-id",
                "--whole-account",
                "--lifetime",
            ],
        ),
        (&["key", "--help"], &["create", "list", "revoke"]),
        (&["key", "create", "--help"], &["--roles"]),
        (&["prompt", "--help"], &["publish"]),
        (&["prompt", "publish", "--help"], &["--version"]),
        (&["interaction", "load", "--help"], &["\"prompts\""]),
        (&["check", "--help"], &["--data-dir"]),
    ] {
        let help = run(OPS, arguments, &[]).expect_success();
        for word in words {
            assert!(
                help.stdout.contains(word),
                "{arguments:?} does not tell of {word}: {}",
                help.stdout
            );
        }
        assert_eq!(help.stderr, "");
    }
    let bare = run(OPS, &[], &[]).expect_refusal();
    assert!(bare.stderr.contains("Usage"), "{bare:?}");
}

#[tokio::test]
async fn wrong_input_is_refused_in_a_sentence_that_names_it() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let id = service.post(&token, "/prompts", &prompt("Greeting")).await.id();
    let file = |name: &str, content: &str| -> String {
        let path = service.folder().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_string_lossy().into_owned()
    };
    let not_json = file("not.json", "[{");
    let wrong_type = file(
        "type.json",
        r#"[{"id":"a","name":"b","versions":[{"version":"one","prompts":[]}]}]"#,
    );
    let missing_field = file("field.json", r#"[{"id":"a","versions":[]}]"#);
    let no_array = file("object.json", r#"{"id":"a"}"#);
    let empty_id = file("empty.json", r#"[{"id":"","name":"b","versions":[]}]"#);
    let odd_id = file("odd.json", r#"[{"id":"a#b","name":"b","versions":[]}]"#);
    let odd_prompt = file(
        "prompt.json",
        r#"[{"id":"a","name":"b","versions":[{"version":1,"prompts":["a#b"]}]}]"#,
    );
    let odd_version = file(
        "version.json",
        r#"[{"id":"a","name":"b","versions":[{"version":1,"prompts":[{"id":"p","verion":2}]}]}]"#,
    );
    let odd_schema = file(
        "schema.json",
        r#"[{"id":"a","name":"b","versions":[{"version":1,"prompts":[],"output_schema":{"type":"object","required":1}}]}]"#,
    );
    let no_tokens = file(
        "tokens.json",
        r#"[{"id":"a","name":"b","versions":[{"version":1,"prompts":[],"max_output_tokens":0}]}]"#,
    );
    let nothing = "01900000-0000-7000-8000-000000000000";
    let cases: &[(&[&str], &str)] = &[
        (&["explode"], "explode"),
        (&["token", "--rolls", "x"], "--rolls"),
        (&["token", "--roles", "king"], "king"),
        (&["token", "--roles", "reader,king"], "king"),
        (
            &["token", "--permissions", "interaction:everything"],
            "interaction:everything",
        ),
        (&["token", "--user-id", ""], "user"),
        (&["token", "--user-id", "a\nb"], "user"),
        (&["token", "--lifetime", "long"], "long"),
        (&["key"], "create"),
        (&["key", "create"], "NAME"),
        (&["key", "create", " "], "name"),
        (&["key", "create", "ci", "--roles", "king"], "king"),
        (&["key", "create", "ci", "--roles", ""], "role"),
        (&["key", "revoke", nothing], nothing),
        (&["key", "revoke", "a#b"], "a#b"),
        (&["prompt", "publish", nothing], nothing),
        (&["prompt", "publish", &id, "--version", "2"], "2"),
        (&["prompt", "publish", &id, "--version", "0"], "0"),
        (&["prompt", "publish", &id, "--version", "one"], "one"),
        (&["prompt", "publish", "a#b"], "a#b"),
        (&["interaction", "load", "/nowhere.json"], "/nowhere.json"),
        (&["interaction", "load", &not_json], "line 1 column"),
        (&["interaction", "load", &wrong_type], "$[0].versions[0].version"),
        (&["interaction", "load", &missing_field], "name"),
        (&["interaction", "load", &no_array], "not as it must be"),
        (&["interaction", "load", &empty_id], "id"),
        (&["interaction", "load", &odd_id], "a#b"),
        (&["interaction", "load", &odd_prompt], "a#b"),
        (&["interaction", "load", &odd_version], "verion"),
        (
            &["interaction", "load", &odd_schema],
            "output schema of version 1 of the interaction 'a'",
        ),
        (
            &["interaction", "load", &no_tokens],
            "versions[0].max_output_tokens",
        ),
    ];
    for (arguments, part) in cases {
        let refused = scope.ops(arguments).expect_refusal();
        assert!(
            refused.stderr.contains(part),
            "{arguments:?} does not name {part}: {}",
            refused.stderr
        );
        assert_eq!(refused.stdout, "", "{arguments:?}");
    }
    for (option, value) in [
        ("--account", ""),
        ("--account", "a#b"),
        ("--project", " "),
        ("--project", "a\nb"),
    ] {
        let refused = service.operator().run(&["token", option, value]).expect_refusal();
        assert!(
            refused.stderr.contains(option.trim_start_matches('-')),
            "{}",
            refused.stderr
        );
    }
    let answer = service
        .get(&token, &format!("/prompts/{id}"))
        .await
        .expect_status(200);
    assert_eq!(answer.body["status"], "draft");
}

#[test]
fn a_data_directory_that_cannot_be_one_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let operator = Operator::new(&file.path().join("below"));
    for arguments in [&["token"][..], &["key", "list"], &["check"]] {
        let refused = operator.run(arguments).expect_refusal();
        assert!(refused.stderr.contains("DATA_DIR"), "{refused:?}");
    }
}

#[test]
fn a_directory_that_no_runner_made_is_refused_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong");
    let operator = Operator::new(&wrong);
    for arguments in [&["token"][..], &["env"], &["key", "list"], &["check"]] {
        let refused = operator.run(arguments).expect_refusal();
        let sentence = format!("There is no data directory of Millrace at {}.", wrong.display());
        assert!(refused.stderr.contains(&sentence), "{refused:?}");
        assert!(refused.stderr.contains("DATA_DIR=<path>"), "{refused:?}");
        assert!(!wrong.exists(), "{arguments:?} made the folder");
    }
    // An empty folder is not a data directory either.
    std::fs::create_dir(&wrong).unwrap();
    operator.run(&["token"]).expect_refusal();
    assert!(std::fs::read_dir(&wrong).unwrap().next().is_none());
}

#[tokio::test]
async fn env_prints_the_addresses_and_a_token_locally() {
    let service = Service::start_local().await;
    let operator = service.operator();
    let printed = operator.json(&["env"]);
    let api = printed["api"].as_str().unwrap();
    assert!(
        api.starts_with("http://127.0.0.1:") && api.ends_with("/api/v1"),
        "{printed}"
    );
    assert_eq!(printed["ingest"], api.replace("/api/v1", "/ingest"));
    let token = printed["token"].as_str().unwrap();
    let client = reqwest::Client::new();
    let answered = client
        .get(format!("{api}/prompts"))
        .bearer_auth(token)
        .send()
        .await
        .unwrap();
    assert_eq!(answered.status(), 200);
    let lines = operator.run(&["env"]).expect_success().stdout;
    let names: Vec<_> = lines
        .lines()
        .map(|line| line.split('=').next().unwrap())
        .collect();
    assert_eq!(names, ["export API", "export INGEST", "export TOKEN"]);
}

#[test]
fn shells_are_given_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run("millrace", &["completion", shell], &[])
            .expect_success()
            .stdout;
        for word in ["millrace", "ops", "redrive", "data-dir"] {
            assert!(script.contains(word), "{shell} {word}");
        }
    }
    run("millrace", &["completion", "tcsh"], &[]).expect_refusal();
}

#[test]
fn commands_that_start_at_once_make_the_keys_once() {
    let folder = tempfile::tempdir().unwrap();
    let operator = Operator::new(&folder.path().join("data"));
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| operator.run(&["token", "--make-keys"])))
            .collect();
        for finished in started {
            finished.join().unwrap().expect_success();
        }
    });
    assert_eq!(operator.json(&["check"])["findings"], json!([]));
}

#[tokio::test]
async fn json_of_each_command_has_the_documented_fields_locally() {
    let service = Service::start_local().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let id = service.post(&token, "/prompts", &prompt("Greeting")).await.id();
    let json = |arguments: &[&str]| scope.ops_json(arguments);

    let printed = json(&["token"])["token"].as_str().unwrap().to_owned();
    service.get(&printed, "/prompts").await.expect_status(200);
    insta::assert_json_snapshot!(redacted(&json(&["prompt", "publish", &id])), @r#"
    {
      "id": "<id>",
      "status": "published",
      "version": 1
    }
    "#);
    let file = service.folder().join("interactions.json");
    std::fs::write(&file, r#"[{"id":"int-1","name":"Summarise","versions":[]}]"#).unwrap();
    insta::assert_json_snapshot!(json(&["interaction", "load", &file.to_string_lossy()]), @r#"
    {
      "loaded": 1,
      "warnings": []
    }
    "#);
    let key = json(&["key", "create", "ci", "--roles", "reader,automation"]);
    assert!(key["key"].as_str().unwrap().starts_with("sk-"), "{key}");
    let mut listed = json(&["key", "list"]);
    assert_eq!(listed[0]["id"], key["id"]);
    assert!(
        key["key"]
            .as_str()
            .unwrap()
            .ends_with(listed[0]["hint"].as_str().unwrap()),
        "{listed}"
    );
    listed[0]["hint"] = "<hint>".into();
    insta::assert_json_snapshot!(redacted(&listed), @r#"
    [
      {
        "created_at": "<time>",
        "expires_at": null,
        "hint": "<hint>",
        "id": "<id>",
        "last_used_at": null,
        "name": "ci",
        "roles": [
          "reader",
          "automation"
        ]
      }
    ]
    "#);
    let revoked = json(&["key", "revoke", key["id"].as_str().unwrap()]);
    assert_eq!(revoked, json!({ "id": key["id"] }));
    let report = json(&["check"]);
    assert_eq!(report["findings"], json!([]));
    assert!(
        report["records"].as_u64() > Some(0) && report["audit_records"].as_u64() > Some(0),
        "{report}"
    );
}

/// Returns the files below a folder that contain these bytes.
fn files_with(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(files_with(&path, bytes));
        } else if std::fs::read(&path)
            .unwrap()
            .windows(bytes.len())
            .any(|window| window == bytes)
        {
            paths.push(path.to_string_lossy().into_owned());
        }
    }
    paths
}

#[tokio::test]
async fn an_api_key_is_shown_once_and_kept_nowhere() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let created = scope.ops(&["key", "create", "ci"]).expect_success();
    let secret = created.stdout.lines().next().unwrap().to_owned();
    assert!(secret.starts_with("sk-") && secret.len() >= 32, "{secret}");
    let first = &secret[..secret.len() - 8];

    let tenant = ["--account", &scope.account, "--project", &scope.project];
    let keys = service.operator().json(&[&["key", "list"], &tenant[..]].concat());
    let id = keys[0]["id"].as_str().unwrap().to_owned();
    let listed = scope.ops(&["key", "list"]).expect_success();
    assert!(
        listed.stdout.contains(&id) && listed.stdout.contains("ci"),
        "{}",
        listed.stdout
    );
    let trail = service
        .get(&token, "/audit-trail?resourceTypes=api_key")
        .await
        .expect_status(200);
    assert_eq!(trail.body["events"][0]["resource_id"], id.as_str());
    for text in [&listed.stdout, &keys.to_string(), &trail.text(), &service.log()] {
        assert!(!text.contains(first), "the secret shows: {text}");
    }
    if !service.is_shared() {
        // Neither the runner's files nor its log contain the secret.
        assert!(
            !files_with(service.folder(), id.as_bytes()).is_empty(),
            "the key is somewhere"
        );
        assert_eq!(files_with(service.folder(), first.as_bytes()), [""; 0]);
    }

    let again = scope.ops(&["key", "create", "ci"]).expect_success();
    assert_ne!(
        again.stdout.lines().next().unwrap(),
        secret,
        "a name may be used twice, a secret not"
    );
}

#[tokio::test]
async fn a_key_is_its_projects_and_is_revoked_once() {
    let service = Service::start().await;
    let scope = service.scope();
    let other = scope.other_project();
    let neighbour = ["--account", &scope.account, "--project", &other];
    let operator = service.operator();
    let key = scope.ops_json(&["key", "create", "ci"]);
    let id = key["id"].as_str().unwrap();
    let list = || scope.ops_json(&["key", "list"]);

    assert_eq!(
        operator.json(&[&["key", "list"], &neighbour[..]].concat()),
        json!([])
    );
    operator
        .run(&[&["key", "revoke", id], &neighbour[..]].concat())
        .expect_refusal();
    assert_eq!(list()[0]["id"], id);
    scope.ops(&["key", "revoke", id]).expect_success();
    assert_eq!(list(), json!([]));
    scope.ops(&["key", "revoke", id]).expect_refusal();
}
