//! Tests `make deploy RELEASE=…`: it needs nothing but Python, and uses no other archive than the released
//! one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use axum::Router;
use axum::http::{StatusCode, Uri};
use tempfile::TempDir;
use tests::tls;
use tokio::net::TcpListener;

use crate::artifact::{CHECKOUT, VERSION, output, refusal, script};

/// Programs that a deployment of a release must not need.
const NOT_NEEDED: [&str; 6] = ["cargo", "node", "npm", "rustc", "rustup", "zig"];

/// A function that starts with the variables of the template, and says that it has.
const BOOTSTRAP: &str = "#!/bin/sh
[ \"$1\" = --check-config ] && [ -n \"$AWS_LAMBDA_FUNCTION_NAME\" ] || exit 9
! env | grep -q \"'Ref'\\|Fn::\"
";
/// The SAM CLI that notes how it is called.
const SAM: &str = "#!/bin/sh
{ pwd; printf '%s\\n' \"$@\"; } >\"$SAM_CALLS\"
";

fn architecture() -> &'static str {
    if cfg!(target_arch = "x86_64") {
        "x86_64"
    } else {
        "arm64"
    }
}

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Packs a release of functions that do nothing, with its checksums.
fn release() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let functions = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(format!("{CHECKOUT}/functions")).unwrap() {
        let function = functions.path().join(entry.unwrap().file_name());
        program(&function.join("bootstrap"), BOOTSTRAP);
    }
    let mut pack = script("infra/dist/functions");
    let printed = output(pack.arg(folder.path()).arg(architecture()).arg(functions.path()));
    output(script("infra/dist/sums").arg(folder.path()));
    let archive = PathBuf::from(printed.trim());
    assert!(archive.ends_with(format!("millrace-lambda-{VERSION}-{}.tar.gz", architecture())));
    (folder, archive)
}

/// What AWS answers to the checks before a deployment.
async fn answer(uri: Uri, body: String) -> (StatusCode, String) {
    let result = |action: &str, result: &str| {
        let text = format!("<{action}Response><{action}Result>{result}</{action}Result></{action}Response>");
        (StatusCode::OK, text)
    };
    let role = "<Arn>arn:aws:iam::123456789012:role/logs</Arn>";
    if body.contains("GetCallerIdentity") {
        result(
            "GetCallerIdentity",
            "<Arn>arn:aws:iam::123456789012:user/ada</Arn>",
        )
    } else if body.contains("GetRole") {
        result("GetRole", &format!("<Role>{role}</Role>"))
    } else if body.contains("DescribeStacks") {
        let error = "<Code>ValidationError</Code><Message>Stack with id trial does not exist</Message>";
        (
            StatusCode::BAD_REQUEST,
            format!("<ErrorResponse><Error>{error}</Error></ErrorResponse>"),
        )
    } else if uri.path() == "/account" {
        (
            StatusCode::OK,
            r#"{"cloudwatchRoleArn":"arn:aws:iam::123456789012:role/logs"}"#.to_owned(),
        )
    } else {
        let limits = r#""ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":1000"#;
        (StatusCode::OK, format!("{{\"AccountLimit\":{{{limits}}}}}"))
    }
}

/// Returns a command `make deploy RELEASE=…` on a machine without Rust and Node.js, for an account of which
/// `aws` answers.
fn deploy(folder: &Path, aws: u16, release: &str) -> Command {
    let programs = folder.join("programs");
    for name in NOT_NEEDED {
        program(
            &programs.join(name),
            &format!("#!/bin/sh\necho '{name} is needed' >&2; exit 99\n"),
        );
    }
    program(&programs.join("sam"), SAM);
    // The tools of Python are those of the machine, because this test downloads nothing.
    let ours = tests::dist_tool("python")
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned();
    let cache = folder.join("cache/millrace");
    fs::create_dir_all(&cache).unwrap();
    for entry in fs::read_dir(ours).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_name().to_string_lossy().starts_with("python-") {
            let _ = std::os::unix::fs::symlink(entry.path(), cache.join(entry.file_name()));
        }
    }
    let mut command = Command::new("make");
    command
        .args(["-s", "deploy"])
        .arg(format!("RELEASE={release}"))
        .arg(format!("ARCH={}", architecture()))
        .arg(format!(
            "ARGS=--no-confirm-changeset --stack-name trial --region eu-central-1 --parameter-overrides \
             Architecture={} JwksUrl=https://id.example/jwks.json TokenIssuer=https://id.example \
             TokenAudience=millrace",
            architecture()
        ))
        .current_dir(CHECKOUT)
        .env(
            "PATH",
            format!("{}:{}", programs.display(), tests::variable("PATH").unwrap()),
        )
        .env("SAM_PROGRAM", programs.join("sam"))
        .env("SAM_CALLS", folder.join("calls"))
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{aws}"))
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env_remove("RELEASES_URL");
    command
}

async fn aws() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    port
}

/// Returns the folder of the release that was deployed.
fn deployed(folder: &Path) -> PathBuf {
    let calls = fs::read_to_string(folder.join("calls")).unwrap();
    let (release, arguments) = calls.split_once('\n').unwrap();
    let config = fs::canonicalize(format!("{CHECKOUT}/samconfig.toml")).unwrap();
    let begin = format!(
        "deploy\n--config-file\n{}\n--no-confirm-changeset\n",
        config.display()
    );
    assert!(arguments.starts_with(&begin), "{arguments}");
    PathBuf::from(release)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_deployed_from_its_archive_without_a_build() {
    let (folder, archive) = release();
    let aws = aws().await;
    for release in [&archive, folder.path()] {
        output(&mut deploy(folder.path(), aws, release.to_str().unwrap()));
        let template = fs::read_to_string(deployed(folder.path()).join("template.yaml")).unwrap();
        assert!(template.contains("CodeUri: functions/worker\n"), "{template}");
        assert!(!template.contains("target/functions"), "{template}");
        fs::remove_file(folder.path().join("calls")).unwrap();
    }
    // What the release checks before it deploys.
    let mut command = deploy(folder.path(), aws, archive.to_str().unwrap());
    let text =
        refusal(command.arg("ARGS=--stack-name trial --region eu-central-1 --parameter-overrides Known=no"));
    assert!(text.contains("The template has no parameter Known"), "{text}");
    assert!(!folder.path().join("calls").exists(), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_fetched_by_its_version_over_https() {
    let (folder, _archive) = release();
    let files = folder.path().to_owned();
    let router = Router::new().fallback(move |uri: Uri| async move {
        let name = uri
            .path()
            .strip_prefix(&format!("/releases/download/v{VERSION}/"));
        let bytes = name.and_then(|name| fs::read(files.join(name)).ok());
        bytes.ok_or(StatusCode::NOT_FOUND)
    });
    let authority = tls::authority("releases");
    let bundle = folder.path().join("authorities.pem");
    fs::write(&bundle, authority.pem()).unwrap();
    let port = tls::serve(&authority, "localhost", router).await;
    let aws = aws().await;
    let fetch = |url: &str, version: &str| {
        let mut command = deploy(folder.path(), aws, version);
        command.env("RELEASES_URL", url).env("SSL_CERT_FILE", &bundle);
        command
    };
    let url = format!("https://localhost:{port}/releases");
    output(&mut fetch(&url, VERSION));
    deployed(folder.path());
    for (url, version, sentence) in [
        (url.as_str(), "9.9.9", "check the version"),
        ("http://localhost/releases", VERSION, "over https alone"),
        (&url, "latest", "neither a version"),
    ] {
        let text = refusal(&mut fetch(url, version));
        assert!(text.contains(sentence), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_release_is_refused() {
    let (folder, archive) = release();
    let aws = aws().await;
    let refused = || {
        let text = refusal(&mut deploy(folder.path(), aws, archive.to_str().unwrap()));
        assert!(!folder.path().join("calls").exists(), "{text}");
        assert!(!folder.path().join("cache/millrace/releases").exists(), "{text}");
        text
    };
    let mut bytes = fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).unwrap();
    assert!(refused().contains("it is not used. Download it again."));
    let sums = folder.path().join("SHA256SUMS");
    fs::write(&sums, "").unwrap();
    assert!(refused().contains("has no line for millrace-lambda-"));
    fs::remove_file(&sums).unwrap();
    assert!(refused().contains("There is no SHA256SUMS beside"));
}
