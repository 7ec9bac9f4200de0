//! Tests third-party clients: clients generated from the OpenAPI document follow the tour, a
//! linter finds no fault in the document, and `eventsource` follows a run.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tests::{Events, Persona, Run, Runs, Service, browser, peers_node, peers_python};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/openapi.json");
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/clients");

/// Returns a program from npm, run by node.
fn node_program(name: &str) -> Command {
    Command::new(peers_node().join(".bin").join(name))
}

/// Runs a command, which must succeed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program starts");
    let output = format!(
        "{}{}",
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr)
    );
    assert!(status.success(), "{command:?}: {output}");
    output
}

#[test]
fn a_linter_finds_no_fault_in_the_document() {
    let output = node_program("redocly")
        .env("REDOCLY_TELEMETRY", "off")
        .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
        .args(["lint", "--extends=recommended", "--format=json", DOCUMENT])
        .output()
        .expect("redocly starts");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let totals = &report["totals"];
    assert_eq!(
        (&totals["errors"], &totals["warnings"]),
        (&json!(0), &json!(0)),
        "{report:#}"
    );
}

/// Environment of a tour.
struct Tour {
    events: Events,
    run: Value,
}

impl Tour {
    async fn start() -> Self {
        let events = Events::start_local().await;
        let arguments = [
            "run",
            "start",
            "Approval",
            "--id",
            "horse",
            "--input",
            r#"{"title":"Buy a horse"}"#,
        ];
        let run = events.scope.ops_json(&arguments);
        Self { events, run }
    }

    async fn walk(&self, mut command: Command) {
        command
            .env("ORIGIN", self.events.origin())
            .env("TOKEN", &self.events.token)
            .env("RECEIVER", format!("{}/merged", self.events.receiver.origin))
            .env("WORKFLOW_ID", self.run["workflow_id"].as_str().unwrap())
            .env("RUN_ID", self.run["run_id"].as_str().unwrap());
        // The receiver of webhooks runs on this thread's runtime.
        tokio::task::spawn_blocking(move || run(&mut command))
            .await
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_generated_typescript_client_walks_the_tour_locally() {
    let tour = Tour::start().await;
    let folder = tour.events.folder();
    std::fs::copy(Path::new(CLIENTS).join("tour.ts"), folder.join("tour.ts")).unwrap();
    let types = peers_node().join("@types");
    let settings = json!({
        "compilerOptions": {
            "strict": true,
            "noUncheckedIndexedAccess": true,
            "module": "nodenext",
            "moduleResolution": "nodenext",
            "target": "es2022",
            "lib": ["es2023", "dom", "dom.iterable"],
            "typeRoots": [types],
            "types": ["node"],
            "outDir": "built",
        },
        "files": ["tour.ts"],
    });
    std::fs::write(folder.join("tsconfig.json"), settings.to_string()).unwrap();
    std::fs::write(folder.join("package.json"), r#"{"type":"module"}"#).unwrap();
    let generation = json!({
        "input": DOCUMENT,
        "output": { "path": "generated", "tsConfigPath": folder.join("tsconfig.json") },
        "plugins": ["@hey-api/client-fetch", "@hey-api/sdk", "@hey-api/typescript"],
    });
    std::fs::write(
        folder.join("openapi-ts.config.mjs"),
        format!("export default {generation};"),
    )
    .unwrap();
    let output = run(node_program("openapi-ts")
        .current_dir(folder)
        .arg("--no-log-file"));
    assert!(!output.to_lowercase().contains("warn"), "{output}");
    run(node_program("tsc").current_dir(folder));
    let mut node = Command::new("node");
    node.current_dir(folder).arg("built/tour.js");
    tour.walk(node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_generated_python_client_walks_the_tour_locally() {
    let tour = Tour::start().await;
    let folder = tour.events.folder();
    let path = tests::variable("PATH").unwrap_or_default();
    let path = format!("{}:{path}", peers_python("").display());
    run(Command::new(peers_python("openapi-python-client"))
        .current_dir(folder)
        // The generator formats its code with `ruff`.
        .env("PATH", path)
        .args([
            "generate",
            "--path",
            DOCUMENT,
            "--meta",
            "none",
            "--fail-on-warning",
        ])
        .args(["--output-path", "millrace_client"]));
    let program = Path::new(CLIENTS).join("tour.py");
    std::fs::copy(Path::new(CLIENTS).join("mypy.ini"), folder.join("mypy.ini")).unwrap();
    run(Command::new(peers_python("mypy"))
        .current_dir(folder)
        .env("MYPYPATH", folder)
        .args(["--config-file", "mypy.ini", "--cache-dir", "mypy"])
        .arg(&program));
    let mut python = Command::new(peers_python("python"));
    python
        .current_dir(folder)
        .env("PYTHONPATH", folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(program);
    tour.walk(python).await;
}

/// Forwards connections to the service. Closes the first one when `cut` fires.
async fn interrupted(service: String, cut: oneshot::Receiver<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut cut = Some(cut);
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(&service).await.unwrap();
            let cut = cut.take();
            tokio::spawn(async move {
                let handed_on = copy_bidirectional(&mut client, &mut server);
                match cut {
                    Some(cut) => tokio::select! { _ = handed_on => {}, _ = cut => {} },
                    None => drop(handed_on.await),
                }
            });
        }
    });
    origin
}

/// Follows a run with `eventsource` until it stops on its own. Returns its output. `after_first` runs after
/// the first message.
async fn followed(runs: &Runs, origin: &str, run: &Run, after_first: impl AsyncFnOnce()) -> Vec<Value> {
    let url = format!(
        "{origin}/api/v1{}?since=0&access_token={}",
        run.path("/stream"),
        runs.token
    );
    let mut node = Command::new("node")
        .arg(Path::new(CLIENTS).join("stream.mjs"))
        .arg(peers_node())
        .arg(url)
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts");
    let output = node.stdout.take().unwrap();
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _ = sender.send(serde_json::from_str::<Value>(&line).unwrap());
        }
    });
    let mut messages = vec![lines.recv().await.expect("a message")];
    after_first().await;
    while let Some(line) = lines.recv().await {
        messages.push(line);
    }
    assert!(node.wait().unwrap().success());
    messages
}

fn texts(lines: &[Value]) -> Vec<&str> {
    let messages = lines.iter().filter(|line| line["message"].is_string());
    messages.map(|line| line["message"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_source_gets_every_message_once_and_stops_by_itself_locally() {
    let runs = Runs::start_local().await;
    let run = runs.approval("Invoice").await;
    let (cut, is_cut) = oneshot::channel();
    let origin = interrupted(runs.service.address().to_owned(), is_cut).await;
    let publish = async |message: &str| {
        let body = json!({ "type": "PROGRESS", "message": message });
        runs.update(&run, &body).await.expect_status(200);
    };
    let lines = followed(&runs, &origin, &run, async || {
        publish("one").await;
        publish("two").await;
        cut.send(()).unwrap();
        publish("three").await;
        runs.signal(&run, "Approve", &json!({ "message": "Yes." })).await;
    })
    .await;
    let expected = [
        "waiting for an approval",
        "one",
        "two",
        "three",
        "The run is COMPLETED.",
    ];
    assert_eq!(texts(&lines), expected, "{lines:?}");
    assert_eq!(lines.last().unwrap(), &json!({ "stopped": 204 }));

    let closed = followed(&runs, &origin, &run, async || {}).await;
    assert_eq!(texts(&closed), expected, "{closed:?}");
    assert_eq!(closed.last().unwrap(), &json!({ "stopped": 204 }));
}

/// A reader authorizes on the reference page and sends its examples.
#[tokio::test(flavor = "multi_thread")]
async fn reference_page_sends_its_examples_in_chromium_locally() {
    let service = Service::start_local().await;
    let output = run(Command::new("node")
        .arg(Path::new(CLIENTS).join("reference.mjs"))
        .arg(peers_node())
        .args([
            &browser::chromium(),
            service.origin(),
            &service.scope().token(Persona::Developer),
        ]));
    let actual: Value = serde_json::from_str(&output).unwrap();
    let expected = json!({
        "page": "/docs",
        "answers": { "createPrompt": "201", "listPrompts": "200" },
        "errors": [],
        "hosts": [service.address()],
    });
    assert_eq!(actual, expected);
}
