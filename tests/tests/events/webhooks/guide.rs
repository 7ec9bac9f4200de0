//! Tests that the programs of `docs/webhooks.md` accept signed requests, and refuse everything else.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tests::guide::{blocks, page, run};
use tests::{peers_node, peers_python, tools_python};

/// Maximum number of lines of a verifier's function.
const MOST_LINES: usize = 15;

/// Request that a receiver gets, and its time.
#[derive(Clone)]
struct SignedRequest {
    secret: String,
    headers: BTreeMap<String, String>,
    body: String,
    now: i64,
}

impl SignedRequest {
    /// Reads the worked example of the page.
    fn read() -> Self {
        let page = page();
        let (head, body) = blocks(&page, "http")
            .remove(0)
            .split_once("\n\n")
            .map(|(head, body)| (head.to_owned(), body.to_owned()))
            .unwrap();
        let headers = head.lines().skip(1).map(|line| line.split_once(": ").unwrap());
        let headers: BTreeMap<_, _> = headers
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let secret = blocks(&page, "text")
            .into_iter()
            .find(|block| block.starts_with("whsec_"));
        Self {
            now: headers["x-service-timestamp"].parse().unwrap(),
            secret: secret.unwrap(),
            headers,
            body,
        }
    }

    fn with(&self, header: &str, value: &str) -> Self {
        let mut changed = self.clone();
        changed.headers.insert(header.to_owned(), value.to_owned());
        changed
    }

    fn at(&self, seconds: i64) -> Self {
        Self {
            now: self.now + seconds,
            ..self.clone()
        }
    }

    fn json(&self) -> Value {
        json!({ "secret": self.secret, "headers": self.headers, "body": self.body, "now": self.now })
    }

    /// Returns the same request, signed by this test at this time.
    fn signed(&self, at: i64) -> Self {
        let id = &self.headers["x-service-delivery-id"];
        let tag = |key: &[u8], text: String| {
            let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
            mac.update(text.as_bytes());
            mac.finalize().into_bytes()
        };
        let ours = tag(self.secret.as_bytes(), format!("{at}.{id}.{}", self.body));
        let key = BASE64.decode(self.secret.trim_start_matches("whsec_")).unwrap();
        let standard = tag(&key, format!("{id}.{at}.{}", self.body));
        Self {
            now: at,
            ..self.clone()
        }
        .with("x-service-timestamp", &at.to_string())
        .with("x-service-signature", &format!("v1={}", hex::encode(ours)))
        .with("webhook-timestamp", &at.to_string())
        .with("webhook-signature", &format!("v1,{}", BASE64.encode(standard)))
    }
}

/// Returns the inputs of a verifier, and whether it must accept each.
fn cases() -> Vec<(&'static str, SignedRequest, bool)> {
    let request = SignedRequest::read();
    let signature = request.headers["x-service-signature"].clone();
    let other = format!("v1={}", "0".repeat(64));
    let changed = |body: &str| SignedRequest {
        body: body.to_owned(),
        ..request.clone()
    };
    let secret = |secret: &str| SignedRequest {
        secret: secret.to_owned(),
        ..request.clone()
    };
    let mut unsigned = request.clone();
    unsigned.headers.retain(|name, _| !name.starts_with("x-service-"));
    vec![
        ("the worked example", request.clone(), true),
        ("at the end of the replay window", request.at(900), true),
        ("before its time", request.at(-900), true),
        ("too old", request.at(901), false),
        ("from the future", request.at(-901), false),
        (
            "after a rotation",
            request.with("x-service-signature", &format!("{other},{signature}")),
            true,
        ),
        (
            "after a rotation, with a space",
            request.with("x-service-signature", &format!("{signature}, {other}")),
            true,
        ),
        (
            "another signature",
            request.with("x-service-signature", &other),
            false,
        ),
        (
            "another version",
            request.with("x-service-signature", &signature.replace("v1=", "v2=")),
            false,
        ),
        (
            "a cut signature",
            request.with("x-service-signature", &signature[..20]),
            false,
        ),
        ("no signature", request.with("x-service-signature", ""), false),
        (
            "a signature with other letters",
            request.with("x-service-signature", &format!("{signature}é")),
            false,
        ),
        ("another id", request.with("x-service-delivery-id", "x"), false),
        (
            "another time",
            request.with("x-service-timestamp", &(request.now + 1).to_string()),
            false,
        ),
        (
            "a time that is no number",
            request.with("x-service-timestamp", "now"),
            false,
        ),
        (
            "a time without an end",
            request.with("x-service-timestamp", &"9".repeat(5_000)),
            false,
        ),
        ("no headers", unsigned, false),
        (
            "another byte",
            changed(&request.body.replace("120", "121")),
            false,
        ),
        ("another space", changed(&format!("{} ", request.body)), false),
        ("no body", changed(""), false),
        (
            "another secret",
            secret("whsec_BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
            false,
        ),
        (
            "no prefix of the secret",
            secret(request.secret.trim_start_matches("whsec_")),
            false,
        ),
    ]
}

/// Runs a program on the cases, and compares its verdicts with the expected ones.
#[track_caller]
fn check(command: &mut Command, cases: &[(&str, SignedRequest, bool)]) {
    let input: Vec<_> = cases.iter().map(|(_, request, _)| request.json()).collect();
    let verdicts: Vec<bool> = serde_json::from_str(&run(command, &json!(input).to_string())).unwrap();
    assert_eq!(verdicts.len(), cases.len());
    for ((what, _, expected), verdict) in cases.iter().zip(verdicts) {
        assert_eq!(verdict, *expected, "{command:?}: {what}");
    }
}

/// Returns the lines of a block from the line that starts with `start`.
fn function_lines(block: &str, start: &str) -> usize {
    block.lines().skip_while(|line| !line.starts_with(start)).count()
}

#[test]
fn the_verifier_in_python_accepts_signed_requests_alone() {
    let block = blocks(&page(), "python").remove(0);
    assert!(function_lines(&block, "def verify") <= MOST_LINES);
    let main = "
import json, sys
given = json.load(sys.stdin)
print(json.dumps([verify(one['secret'], one['headers'], one['body'].encode(), one['now']) for one in given]))";
    check(
        Command::new(peers_python("python")).args(["-c", &format!("{block}\n{main}")]),
        &cases(),
    );
}

#[test]
fn the_verifier_in_typescript_accepts_signed_requests_alone() {
    let folder = tempfile::tempdir().unwrap();
    let block = blocks(&page(), "typescript").remove(0);
    assert!(function_lines(&block, "export function") <= MOST_LINES);
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("verify.ts", &block);
    write(
        "main.ts",
        r#"import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { verify } from "./verify.js";
type Case = { secret: string; headers: IncomingHttpHeaders; body: string; now: number };
const given = JSON.parse(readFileSync(0, "utf8")) as Case[];
console.log(JSON.stringify(given.map((one) => verify(one.secret, one.headers, Buffer.from(one.body), one.now))));
"#,
    );
    write("package.json", r#"{"type":"module"}"#);
    let settings = json!({
        "compilerOptions": {
            "strict": true, "noUncheckedIndexedAccess": true, "module": "nodenext", "target": "es2022", "types": ["node"],
            "typeRoots": [peers_node().join("@types")], "outDir": "built",
        },
        "files": ["main.ts"],
    });
    write("tsconfig.json", &settings.to_string());
    run(
        Command::new(peers_node().join(".bin/tsc")).current_dir(&folder),
        "",
    );
    check(
        Command::new("node").current_dir(&folder).arg("built/main.js"),
        &cases(),
    );
}

#[test]
fn the_verifier_in_go_accepts_signed_requests_alone() {
    let folder = tempfile::tempdir().unwrap();
    let block = blocks(&page(), "go").remove(0);
    assert!(function_lines(&block, "func Verify") <= MOST_LINES);
    fs::create_dir(folder.path().join("webhook")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("webhook/verify.go", &block);
    write("go.mod", "module example\n\ngo 1.23\n");
    write(
        "main.go",
        r#"package main

import (
	"encoding/json"
	"net/http"
	"os"
	"time"

	"example/webhook"
)

func main() {
	var given []struct {
		Secret, Body string
		Headers      map[string]string
		Now          int64
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	said := []bool{}
	for _, one := range given {
		header := http.Header{}
		for name, value := range one.Headers {
			header.Set(name, value)
		}
		said = append(said, webhook.Verify(one.Secret, header, []byte(one.Body), time.Unix(one.Now, 0)))
	}
	json.NewEncoder(os.Stdout).Encode(said)
}
"#,
    );
    let go = || {
        let mut go = Command::new(peers_python("go"));
        go.current_dir(&folder)
            .env("GOFLAGS", "-mod=mod")
            .env("GOPROXY", "off")
            .env("GOTOOLCHAIN", "local")
            // Beside the compiler, where checkouts share it: the standard library takes a minute to compile.
            .env("GOCACHE", peers_python("../go-cache"))
            .env("GOPATH", folder.path().join("path"))
            .env("CGO_ENABLED", "0");
        go
    };
    run(go().args(["build", "-o", "verify", "."]), "");
    check(&mut Command::new(folder.path().join("verify")), &cases());
}

#[expect(
    clippy::disallowed_methods,
    reason = "the libraries compare with the time of this machine"
)]
fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[test]
fn the_libraries_accept_signed_requests_alone() {
    let blocks = blocks(&page(), "python");
    let now = now();
    let fresh = SignedRequest::read().signed(now);
    let other = SignedRequest {
        body: format!("{} ", fresh.body),
        ..fresh.clone()
    };
    let forged = SignedRequest {
        secret: "whsec_BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned(),
        ..fresh.clone()
    };
    let cases = [
        ("signed now", fresh.clone(), true),
        ("another byte", other, false),
        ("too old", SignedRequest::read().signed(now - 1_000), false),
        ("another secret", forged, false),
        (
            "another id",
            fresh.with("webhook-id", "x").with("x-service-delivery-id", "x"),
            false,
        ),
    ];
    for (block, function) in [(&blocks[1], "verify_standard"), (&blocks[2], "verify_stripe")] {
        let main = format!(
            "
import json, sys
def accepts(one):
    try:
        {function}(one['secret'], one['headers'], one['body'])
        return True
    except Exception as error:
        assert 'Verification' in type(error).__name__, repr(error)
        return False
print(json.dumps([accepts(one) for one in json.load(sys.stdin)]))"
        );
        check(
            Command::new(tools_python()).args(["-c", &format!("{block}\n{main}")]),
            &cases,
        );
    }
}
