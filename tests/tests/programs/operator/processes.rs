//! Tests `ops process`: what is stored, what is refused with all its faults, and that no secret is shown.

use serde_json::{Value, json};
use tests::{Persona, Service, run};

fn definition(version: &str, value: u32) -> String {
    format!(
        "document:\n  dsl: '1.0.0'\n  namespace: shop\n  name: ship\n  version: '{version}'\n  title: Ships an order\ndo:\n  - note:\n      \
         set:\n        value: {value}\n"
    )
}

fn write(service: &Service, name: &str, text: &str) -> String {
    let path = service.folder().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn the_commands_explain_themselves() {
    if tests::is_elsewhere() {
        return;
    }
    for (arguments, named) in [
        (
            &["process", "--help"][..],
            &["load", "list", "show", "remove", "secret"][..],
        ),
        (
            &["process", "load", "--help"],
            &["YAML", "Examples", "order.yaml"],
        ),
        (
            &["process", "secret", "set", "--help"],
            &["--value-file", "--text", "Examples"],
        ),
        (&["--help"], &["ops process load"]),
    ] {
        let help = run("ops", arguments, &[]).expect_success().stdout;
        for word in named {
            assert!(
                help.contains(word),
                "{arguments:?} does not tell of {word}: {help}"
            );
        }
    }
    let script = run("ops", &["completion", "bash"], &[]).expect_success().stdout;
    assert!(script.contains("value-file"));
}

#[tokio::test]
async fn a_process_is_loaded_listed_shown_and_removed() {
    let Some(service) = Service::start_own().await else {
        return;
    };
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    assert_eq!(scope.ops_json(&["process", "list"]), json!([]));
    let old = write(&service, "old.yaml", &definition("1.9.0", 1));
    let new = write(&service, "new.yaml", &definition("1.10.0", 2));
    let loaded = scope.ops_json(&["process", "load", &old, &new]);
    assert_eq!(loaded[0]["is_new"], true);
    assert_eq!(loaded[1]["process"]["version"], "1.10.0");
    // Loading the same text again changes nothing; another text is refused.
    let again = scope.ops_json(&["process", "load", &old]);
    assert_eq!(again[0]["is_new"], false);
    let other = write(&service, "other.yaml", &definition("1.9.0", 3));
    let refused = scope.ops(&["process", "load", &other]).expect_refusal().stderr;
    assert!(
        refused.contains("The process shop/ship@1.9.0 is stored with another text"),
        "{refused}"
    );
    let listed = scope.ops(&["process", "list"]).expect_success().stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("shop/ship@1.9.0  "), "{listed}");
    assert!(
        lines[1].starts_with("shop/ship@1.10.0  ") && lines[1].ends_with("Ships an order"),
        "{listed}"
    );

    let shown = scope
        .ops(&["process", "show", "shop/ship"])
        .expect_success()
        .stdout;
    assert_eq!(shown, definition("1.10.0", 2));
    let shown = scope
        .ops(&["process", "show", "shop/ship@1.9.0"])
        .expect_success();
    assert_eq!(shown.stdout, definition("1.9.0", 1));
    let removed = scope.ops_json(&["process", "remove", "shop/ship@1.10.0"]);
    assert_eq!(removed, json!({ "removed": ["shop/ship@1.10.0"] }));
    let shown = scope.ops_json(&["process", "show", "shop/ship"]);
    assert_eq!(shown["process"]["version"], "1.9.0");
    // A removed version may be loaded again, with the same text.
    scope.ops(&["process", "load", &new]).expect_success();
    scope.ops(&["process", "remove", "shop/ship"]).expect_success();
    for (arguments, named) in [
        (
            &["process", "remove", "shop/ship"][..],
            "The process 'shop/ship' does not exist.",
        ),
        (&["process", "show", "shop/ship@1.9.0"], "does not exist"),
        (&["process", "show", "ship"], "namespace/name@version"),
        (&["process", "show", "shop/ship@one"], "namespace/name@version"),
        (&["process", "load"], "<FILE>"),
        (&["process", "load", "/nowhere.yaml"], "/nowhere.yaml"),
    ] {
        let refused = scope.ops(arguments).expect_refusal().stderr;
        assert!(refused.contains(named), "{arguments:?}: {refused}");
    }
    let trail = service
        .get(&token, "/audit-trail?resourceTypes=process")
        .await
        .expect_status(200);
    let actions: Vec<(&Value, &Value)> = trail.body["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (&event["action"], &event["resource_id"]))
        .collect();
    assert_eq!(actions.len(), 6, "{actions:?}");
    assert_eq!(actions[5], (&json!("create"), &json!("shop/ship@1.9.0")));
    assert_eq!(actions[3], (&json!("delete"), &json!("shop/ship@1.10.0")));
    assert_eq!(scope.ops_json(&["check"])["findings"], json!([]));
}

#[tokio::test]
async fn every_fault_is_printed_with_its_place_and_nothing_is_stored() {
    let Some(service) = Service::start_own().await else {
        return;
    };
    let scope = service.scope();
    let good = write(&service, "good.yaml", &definition("1.0.0", 1));
    let faulty = definition("one", 1).replace("set:", "sett:") + "  - more:\n      wait: {}\n";
    let faulty = write(&service, "faulty.yaml", &faulty);
    let refused = scope
        .ops(&["process", "load", &good, &faulty])
        .expect_refusal()
        .stderr;
    for place in ["/document/version: ", "/do/0/note", "/do/1/more/wait"] {
        assert!(
            refused.contains(&format!("{faulty} {place}")),
            "{place}: {refused}"
        );
    }
    assert!(refused.contains("No process is stored, because of"), "{refused}");
    assert_eq!(scope.ops_json(&["process", "list"]), json!([]));
    let huge = write(&service, "huge.yaml", &"x".repeat(1_000_000));
    let refused = scope.ops(&["process", "load", &huge]).expect_refusal().stderr;
    assert!(
        refused.contains("The definition has 1000000 bytes; at most 262144 are taken."),
        "{refused}"
    );
    // A text that exceeds a record is stored in the bucket.
    let large = definition("2.0.0", 1) + &format!("# {}\n", "x".repeat(200_000));
    let large_file = write(&service, "large.yaml", &large);
    scope.ops(&["process", "load", &large_file]).expect_success();
    let shown = scope.ops(&["process", "show", "shop/ship"]).expect_success();
    assert_eq!(shown.stdout, large);
}

#[tokio::test]
async fn a_secret_is_sealed_and_never_shown() {
    let Some(service) = Service::start_own().await else {
        return;
    };
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let value = write(&service, "value.json", "{\"password\": \"hunter2-hunter2\"}\n");
    let text = write(&service, "value.txt", "hunter2-hunter2\n");
    let mut shown = Vec::new();
    for arguments in [
        &["process", "secret", "set", "shop", "--value-file", &value][..],
        &[
            "process",
            "secret",
            "set",
            "shop",
            "--text",
            "--value-file",
            &text,
        ],
        &["process", "secret", "list"],
        &["process", "secret", "set", "other", "--value-file", &value],
    ] {
        let done = scope.ops(arguments).expect_success();
        shown.push(done.stdout);
    }
    let names = scope.ops_json(&["process", "secret", "list"]);
    assert_eq!(
        (&names[0]["name"], &names[1]["name"]),
        (&json!("other"), &json!("shop"))
    );
    for (arguments, named) in [
        (
            &["process", "secret", "set", "a", "--value-file", &text][..],
            "is not JSON",
        ),
        (
            &["process", "secret", "set", "a#b", "--value-file", &value],
            "a#b",
        ),
        (&["process", "secret", "set", "a"], "is not JSON"),
        (
            &["process", "secret", "remove", "none"],
            "The process secret 'none' does not exist.",
        ),
    ] {
        let refused = scope.ops(arguments).expect_refusal().stderr;
        assert!(refused.contains(named), "{arguments:?}: {refused}");
        shown.push(refused);
    }
    let long = write(&service, "long.json", &json!("x".repeat(5_000)).to_string());
    let refused = scope
        .ops(&["process", "secret", "set", "a", "--value-file", &long])
        .expect_refusal();
    assert!(refused.stderr.contains("at most 4096"), "{}", refused.stderr);
    scope
        .ops(&["process", "secret", "remove", "other"])
        .expect_success();
    let trail = service
        .get(&token, "/audit-trail?resourceTypes=process_secret")
        .await
        .expect_status(200);
    assert_eq!(trail.body["events"].as_array().unwrap().len(), 4);
    shown.extend([trail.text(), service.log()]);
    for text in &shown {
        assert!(!text.contains("hunter2"), "{text}");
    }
    if !service.is_shared() {
        let data = std::fs::read_dir(service.folder()).unwrap();
        for entry in data {
            let path = entry.unwrap().path();
            let is_ours = path
                .extension()
                .is_some_and(|kind| kind == "json" || kind == "txt");
            if path.is_file() && !is_ours {
                let bytes = std::fs::read(&path).unwrap();
                assert!(
                    !bytes.windows(7).any(|window| window == b"hunter2"),
                    "{}",
                    path.display()
                );
            }
        }
    }
}
