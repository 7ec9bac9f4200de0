//! Tests that every function starts with the variables that the template gives it.
//!
//! The real program must start and ask a runtime API for work. A variable that is missing or misspelt in the
//! template stops it earlier.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tests::{binary, variable};

use crate::translated::{crate_of, resources, template};

/// Longest time from a start to the first request for work, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a value as a deployment without parameters fills it in. None for what only AWS knows.
fn filled(value: &Value) -> Option<String> {
    let value = match value["Ref"].as_str() {
        Some(name) => template()["Parameters"][name].get("Default")?,
        None => value,
    };
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the variables of a function, with placeholders for values that only a deployment knows.
fn variables(function: &Value) -> Vec<(String, String)> {
    let variables = function["Environment"]["Variables"].as_object().unwrap();
    variables
        .iter()
        .map(|(name, value)| {
            let value = match name.as_str() {
                "MILLRACE_CONSOLE_CONNECT" => String::new(),
                "MILLRACE_INGEST_CONCURRENCY" => "1".to_owned(),
                "MILLRACE_JWKS" => "https://issuer.invalid/jwks.json".to_owned(),
                "MILLRACE_TOKEN_AUDIENCE" => "millrace".to_owned(),
                "MILLRACE_TOKEN_ISSUER" => "https://issuer.invalid".to_owned(),
                _ => filled(value)
                    .unwrap_or_else(|| "https://sqs.eu-central-1.amazonaws.com/123456789012/name".to_owned()),
            };
            (name.clone(), value)
        })
        .collect()
}

/// Returns the program of a function, which asks `runtime_api` for work, and its temporary folder.
fn program(name: &str, function: &Value, runtime_api: &str) -> (Command, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("assets")).unwrap();
    std::fs::write(folder.path().join("index.html"), "").unwrap();
    let memory_mb = filled(&function["MemorySize"]).unwrap();
    let mut command = Command::new(binary(&crate_of(name)));
    command
        .env_clear()
        .envs(
            variable("LD_LIBRARY_PATH")
                .into_iter()
                .map(|path| ("LD_LIBRARY_PATH", path)),
        )
        .envs(variables(function))
        .envs([
            ("AWS_LAMBDA_FUNCTION_NAME", name),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", &memory_mb),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            ("AWS_LAMBDA_LOG_GROUP_NAME", "logs"),
            ("AWS_LAMBDA_LOG_STREAM_NAME", "stream"),
            ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_LAMBDA_RUNTIME_API", runtime_api),
        ])
        .env("TMPDIR", folder.path())
        // The archive has the console's files, the folder of the builds does not.
        .envs((crate_of(name) == "console").then_some(("MILLRACE_CONSOLE_DIR", folder.path())))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    (command, folder)
}

/// `--check-config` ends the program once its configuration was read: well, or with the variable that is
/// wrong.
#[test]
fn every_function_checks_its_variables_without_work() {
    for (name, function) in resources("AWS::Lambda::Function") {
        // No server is there.
        let (mut command, _folder) = program(name, function, "127.0.0.1:9");
        let output = command.arg("--check-config").output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let (mut command, _folder) = program(name, function, "127.0.0.1:9");
        let output = command
            .arg("--check-config")
            .env("MILLRACE_LOGS", "info")
            .output()
            .unwrap();
        assert!(!output.status.success(), "{name}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            message.contains("The variable MILLRACE_LOGS is unknown"),
            "{name}: {message}"
        );
    }
}

#[test]
fn every_function_starts_with_its_variables() {
    for (name, function) in resources("AWS::Lambda::Function") {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let runtime_api = listener.local_addr().unwrap().to_string();
        let (mut command, _folder) = program(name, function, &runtime_api);
        let mut started = command.spawn().unwrap();
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            let (connection, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(connection);
            let mut line = String::new();
            let _ = reader.read_line(&mut line);
            let _ = sender.send((line, reader));
        });
        let mut asked_for = None;
        for _ in 0..PATIENCE.as_millis() / 20 {
            asked_for = requests.recv_timeout(Duration::from_millis(20)).ok();
            if asked_for.is_some() || started.try_wait().unwrap().is_some() {
                break;
            }
        }
        let _ = started.kill();
        let _ = started.wait();
        let Some((line, _)) = asked_for else {
            let mut stderr = String::new();
            let _ = started.stderr.take().unwrap().read_to_string(&mut stderr);
            panic!("{name} does not start: {stderr}");
        };
        assert!(
            line.starts_with("GET /2018-06-01/runtime/invocation/next "),
            "{name} asked {line}"
        );
    }
}

/// A role that may read a function's configuration would be able to read the secret.
#[test]
fn no_secret_stands_in_a_variable() {
    for (name, function) in resources("AWS::Lambda::Function") {
        let variables = function["Environment"]["Variables"].to_string();
        assert!(!variables.contains("{{resolve:"), "{name} has a resolved secret");
    }
}

/// The program checks the sum of its limits against the disk size in this variable.
#[test]
fn the_temporary_disk_is_as_large_as_its_variable_says() {
    let mut count = 0;
    for (name, function) in resources("AWS::Lambda::Function") {
        let variable = &function["Environment"]["Variables"]["MILLRACE_TMP_MB"];
        let disk = &function["EphemeralStorage"]["Size"];
        assert_eq!(variable.is_null(), disk.is_null(), "{name}");
        if let Some(value) = variable.as_str() {
            count += 1;
            assert_eq!(value, disk.to_string(), "{name}");
        }
    }
    assert_eq!(count, 4);
}
