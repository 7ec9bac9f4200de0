//! Tests the image: Buildah builds it on a base of Debian's libraries, and it starts as the user without
//! rights.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::artifact::{CHECKOUT, VERSION, archive, layout, output, platform, script};

/// Longest wait for the service.
const WITHIN: Duration = Duration::from_secs(60);

/// Returns a command of Buildah whose images and containers are below a folder.
fn buildah(folder: &Path) -> Command {
    let mut command = Command::new("buildah");
    let path = |name: &str| folder.join(name);
    command
        .arg("--root")
        .arg(path("images"))
        .arg("--runroot")
        .arg(path("run"));
    command
        .args(["--storage-driver", "vfs"])
        .env("BUILDAH_ISOLATION", "chroot");
    command.env("TMPDIR", folder).stdin(Stdio::null());
    command
}

/// Running container, which ends with the test.
struct Running(Child);

impl Running {
    /// Returns its processes that serve.
    fn services(&self) -> Vec<u32> {
        descendants(self.0.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for service in self.services() {
            let _ = Command::new("kill").arg("-9").arg(service.to_string()).status();
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the children of a process that runs `millrace`, and theirs, the service first. Its own children
/// have other arguments.
fn descendants(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let lists: Vec<_> = lists.collect();
    let children = lists.iter().flat_map(|list| list.split_whitespace());
    let children = children.filter_map(|id| id.parse().ok());
    let all = children.flat_map(|child| std::iter::once(child).chain(descendants(child)));
    let is_service = |id: &u32| {
        let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        command.starts_with(b"/opt/millrace-") && command.ends_with(b"/millrace\0serve\0--dev\0")
    };
    all.filter(is_service).collect()
}

#[tokio::test]
async fn image_starts_as_a_user_without_rights_by_buildah() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("millrace-{VERSION}-{}", platform());
    let context = folder.path().join("context");
    fs::create_dir(&context).unwrap();
    archive(
        &layout(folder.path()),
        &context.join(format!("{name}.tar.gz")),
        &name,
    );
    let run = |arguments: &[&str]| output(buildah(folder.path()).args(arguments)).trim().to_owned();
    let root = output(script("infra/dist/root").arg(platform()));
    let base = run(&["from", "scratch"]);
    run(&["add", "--quiet", &base, root.trim(), "/"]);
    run(&["commit", "--quiet", &base, "localhost/base"]);
    let file = format!("{CHECKOUT}/Dockerfile");
    let mut build = buildah(folder.path());
    build.args([
        "build",
        "--quiet",
        "--file",
        &file,
        "--build-arg",
        "BASE=localhost/base",
        "--tag",
        "localhost/millrace",
    ]);
    build.args([
        "--build-arg",
        &format!("TARBALL={name}.tar.gz"),
        "--build-arg",
        &format!("FOLDER={name}"),
    ]);
    output(build.arg(&context));

    let name = run(&["from", "--pull-never", "localhost/millrace"]);
    let config = run(&[
        "inspect",
        "--format",
        "{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}",
        &name,
    ]);
    assert_eq!(config, "65532:65532 [millrace] [serve]");
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut container = buildah(folder.path());
    container.args([
        "run",
        "--env",
        &format!("MILLRACE_LISTEN={address}"),
        "--env",
        "MILLRACE_METRICS_LISTEN=",
    ]);
    container.args([&name, "--", "millrace", "serve", "--dev"]);
    let mut container = Running(
        container
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let began = Instant::now();
    while TcpStream::connect(address).is_err() {
        let ended = container.0.try_wait().unwrap();
        assert!(
            began.elapsed() < WITHIN && ended.is_none(),
            "the container does not start: {ended:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let service = container.services().pop().expect("the service runs");
    let status = fs::read_to_string(format!("/proc/{service}/status")).unwrap();
    assert!(
        status.contains("\nUid:\t65532\t65532\t65532\t65532\n"),
        "{status}"
    );
    let client = tests::Client::new(&format!("http://{address}/api/v1"));
    let ready = client.request(tests::Method::GET, &format!("http://{address}/readyz"));
    ready.await.expect_status(200);
    let page = client.request(tests::Method::GET, &format!("http://{address}/console"));
    page.await.expect_status(200);
    output(Command::new("kill").arg(service.to_string()));
    assert!(container.0.wait().unwrap().success());
}
