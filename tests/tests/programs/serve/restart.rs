//! Tests restarts: what systemd passes to the service and hears of it, and that no request is lost by an
//! upgrade.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::time::Duration;

use tests::{Method, Server, server};

#[tokio::test]
async fn supervisor_hears_when_the_service_is_ready_and_when_it_stops_locally() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let hear = || {
        let mut bytes = [0; 256];
        let count = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).trim().to_owned()
    };
    let mut server = Server::start(folder.path(), &[], &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    assert_eq!(hear(), "READY=1");
    let url = format!("http://{}/readyz", server.address());
    server
        .client()
        .request(Method::GET, &url)
        .await
        .expect_status(200);
    server.signal("TERM");
    assert_eq!(hear(), "STOPPING=1");
    assert_eq!(server.ended(), Some(0));
}

/// Makes the standard input the file that systemd passes first.
const PASS: &str = "import os, sys; os.dup2(0, 3); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); \
                    os.execv(sys.argv[1], sys.argv[1:])";

#[tokio::test]
async fn passed_socket_outlives_the_service_locally() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let start = || {
        let mut command = server::command(&["python3", "-c", PASS], folder.path(), &[], &[]);
        let socket = OwnedFd::from(listener.try_clone().unwrap());
        command.stdin(Stdio::from(socket));
        Server::of(command, folder.path())
    };
    let mut first = start();
    assert_eq!(first.address(), listener.local_addr().unwrap());
    let token = first.token();
    first.client().get(&token, "/prompts").await.expect_status(200);
    // One without a connection to the first process.
    let client = first.client();
    first.signal("TERM");
    assert_eq!(first.ended(), Some(0));
    // The system takes the connection, and the next process answers.
    let waiting = tokio::spawn(async move { client.get(&token, "/prompts").await });
    let _second = start();
    waiting.await.unwrap().expect_status(200);
}
