//! Tests `ops process`: what is stored, what is refused with all its faults, and that no secret is shown.

use serde_json::{Value, json};
use tests::{OPS, Persona, Service, run};

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
    for (arguments, words) in [
        (
            &["process", "--help"][..],
            &["load", "list", "show", "remove"][..],
        ),
        (
            &["process", "load", "--help"],
            &["YAML", "Examples", "order.yaml"],
        ),
        (
            &["secret", "set", "--help"],
            &[
                "--value-file",
                "--text",
                "--for",
                "--mcp-server",
                "--host",
                "Examples",
            ],
        ),
        (&["--help"], &["process load order.yaml"]),
    ] {
        let help = run(OPS, arguments, &[]).expect_success().stdout;
        for word in words {
            assert!(
                help.contains(word),
                "{arguments:?} does not tell of {word}: {help}"
            );
        }
    }
    let script = run("millrace", &["completion", "bash"], &[])
        .expect_success()
        .stdout;
    assert!(script.contains("value-file"));
}

#[tokio::test]
async fn text_of_a_process_that_is_almost_an_expression_is_told() {
    let service = Service::start().await;
    let text =
        definition("1.0.0", 1) + "  - greet: { set: { text: \"Hello ${ .name }!\", open: \"${ .a \" } }\n";
    let file = write(&service, "greeting.yaml", &text);
    let scope = service.scope();
    let loaded = scope.ops(&["process", "load", &file]).expect_success().stdout;
    let warnings: Vec<_> = loaded
        .lines()
        .filter(|line| line.starts_with("Warning:"))
        .collect();
    assert_eq!(warnings.len(), 2, "{loaded}");
    for (warning, part) in warnings
        .iter()
        .zip(["open' has '${ .a '", "text' has '${ .name }'"])
    {
        assert!(warning.contains(part), "{loaded}");
    }
}

#[tokio::test]
async fn a_process_is_loaded_listed_shown_and_removed() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    assert_eq!(scope.ops_json(&["process", "list"]), json!([]));
    let old = write(&service, "old.yaml", &definition("1.9.0", 1));
    let new = write(&service, "new.yaml", &definition("1.10.0", 2));
    let loaded = scope.ops_json(&["process", "load", &old, &new]);
    assert_eq!(loaded[0]["is_new"], true);
    assert_eq!(loaded[1]["process"]["version"], "1.10.0");
    assert_eq!(loaded[1]["warnings"], json!([]));
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

    let stdout = scope
        .ops(&["process", "show", "shop/ship"])
        .expect_success()
        .stdout;
    assert_eq!(stdout, definition("1.10.0", 2));
    let output = scope
        .ops(&["process", "show", "shop/ship@1.9.0"])
        .expect_success();
    assert_eq!(output.stdout, definition("1.9.0", 1));
    let removed = scope.ops_json(&["process", "remove", "shop/ship@1.10.0"]);
    assert_eq!(removed, json!({ "removed": ["shop/ship@1.10.0"] }));
    let record = scope.ops_json(&["process", "show", "shop/ship"]);
    assert_eq!(record["process"]["version"], "1.9.0");
    // A removed version may be loaded again, with the same text.
    scope.ops(&["process", "load", &new]).expect_success();
    scope.ops(&["process", "remove", "shop/ship"]).expect_success();
    for (arguments, part) in [
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
        assert!(refused.contains(part), "{arguments:?}: {refused}");
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
    let service = Service::start().await;
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
    let output = scope.ops(&["process", "show", "shop/ship"]).expect_success();
    assert_eq!(output.stdout, large);
}

#[tokio::test]
async fn a_secret_is_sealed_and_never_shown() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let value = write(&service, "value.json", "{\"password\": \"hunter2-hunter2\"}\n");
    let text = write(&service, "value.txt", "hunter2-hunter2\n");
    let mut texts = Vec::new();
    let binding = ["--for", "shop/ship", "--host", "api.example.com"];
    let set = |name: &str, more: &[&str]| -> Vec<String> {
        let all = [&["secret", "set", name], &binding[..], more].concat();
        all.into_iter().map(str::to_owned).collect()
    };
    let ops = |arguments: &[String]| scope.ops(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    for arguments in [
        set("shop", &["--value-file", &value]),
        set("shop", &["--text", "--value-file", &text, "--mcp-server", "docs"]),
        vec!["secret".to_owned(), "list".to_owned()],
        set("other", &["--value-file", &value]),
    ] {
        texts.push(ops(&arguments).expect_success().stdout);
    }
    assert!(
        texts[2].ends_with("shop  for shop/ship, MCP server docs at api.example.com\n"),
        "{}",
        texts[2]
    );
    let bind = [
        "secret",
        "bind",
        "shop",
        "--for",
        "shop/order",
        "--host",
        "127.0.0.1:4000",
    ];
    scope.ops(&bind).expect_success();
    let secrets = scope.ops_json(&["secret", "list"]);
    assert_eq!(
        (&secrets[0]["name"], &secrets[1]["name"]),
        (&json!("other"), &json!("shop"))
    );
    let binding = json!({ "processes": ["shop/order"], "mcp_servers": [], "hosts": ["127.0.0.1:4000"] });
    assert_eq!(secrets[1]["binding"], binding);
    let without = |left_out: &str| -> Vec<String> {
        let mut arguments = set("a", &["--value-file", &value]);
        let at = arguments
            .iter()
            .position(|argument| argument == left_out)
            .unwrap();
        arguments.drain(at..at + 2);
        arguments
    };
    let owned = |arguments: &[&str]| arguments.iter().map(ToString::to_string).collect::<Vec<_>>();
    let long = write(&service, "long.json", &json!("x".repeat(5_000)).to_string());
    for (arguments, part) in [
        (set("a", &["--value-file", &text]), "is not JSON"),
        (set("a#b", &["--value-file", &value]), "a#b"),
        (set("a", &[]), "is not JSON"),
        (set("a", &["--value-file", &long]), "at most 4096"),
        (
            set("a", &["--value-file", &value, "--host", "https://x/"]),
            "is no host",
        ),
        (
            set("a", &["--value-file", &value, "--for", "ship"]),
            "names no process",
        ),
        (without("--for"), "--for"),
        (without("--host"), "--host"),
        (
            owned(&[
                "secret",
                "bind",
                "none",
                "--for",
                "shop/ship",
                "--host",
                "a.example",
            ]),
            "The secret 'none' does not exist.",
        ),
        (
            owned(&["secret", "remove", "none"]),
            "The secret 'none' does not exist.",
        ),
    ] {
        let refused = ops(&arguments);
        assert_ne!(refused.code, Some(0), "{arguments:?}");
        assert!(refused.stderr.contains(part), "{arguments:?}: {}", refused.stderr);
        texts.push(refused.stderr);
    }
    scope.ops(&["secret", "remove", "other"]).expect_success();
    let trail = service
        .get(&token, "/audit-trail?resourceTypes=process_secret")
        .await
        .expect_status(200);
    assert_eq!(trail.body["events"].as_array().unwrap().len(), 5);
    texts.extend([trail.text(), service.log()]);
    for text in &texts {
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
