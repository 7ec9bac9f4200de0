//! Tests the client against hostile servers.
#![cfg(test)]

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Mutex;

use async_trait::async_trait;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Answers each lookup with its next list.
struct Stub(Mutex<VecDeque<Vec<IpAddr>>>);

#[async_trait]
impl Lookup for Stub {
    async fn lookup(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        let next = self.0.lock().unwrap().pop_front();
        next.ok_or_else(|| std::io::Error::other("no more answers"))
    }
}

pub(super) fn stubbed(answers: &[&[&str]], policy: Policy) -> Outbound {
    let answers = answers
        .iter()
        .map(|answer| answer.iter().map(|address| address.parse().unwrap()).collect());
    let rules = Rules::new(policy, OwnServers::default());
    Outbound::over(Arc::new(Stub(Mutex::new(answers.collect()))), rules)
}

pub(super) fn local() -> Outbound {
    Outbound::local(&AwsEnvironment::default()).unwrap()
}

/// Starts a server that answers every request with these bytes, and then ends the answer as `ending` says.
pub(super) async fn server(answer: &'static [u8], ending: Ending) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                let _ = socket.read(&mut request).await;
                let _ = socket.write_all(answer).await;
                match ending {
                    Ending::Closes => {}
                    Ending::IsEndless => while socket.write_all(&[b'x'; 65_536]).await.is_ok() {},
                    Ending::Drips => {
                        while socket.write_all(b"x").await.is_ok() {
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                    }
                    Ending::IsSilent => std::future::pending().await,
                    Ending::IsProvisional => {
                        while socket
                            .write_all(b"HTTP/1.1 103 Early Hints\r\n\r\n")
                            .await
                            .is_ok()
                        {}
                        PROVISIONAL_ENDED.notify_one();
                    }
                }
            });
        }
    });
    port
}

#[derive(Clone, Copy)]
pub(super) enum Ending {
    Closes,
    IsEndless,
    Drips,
    IsSilent,
    IsProvisional,
}

/// Notified when a connection with only provisional answers is closed.
static PROVISIONAL_ENDED: tokio::sync::Notify = tokio::sync::Notify::const_new();

pub(super) struct Download {
    folder: TempDir,
}

impl Download {
    pub(super) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) async fn get(
        &self,
        outbound: &Outbound,
        url: &str,
        deadline: Duration,
    ) -> Result<Vec<u8>, String> {
        let path = self.folder.path().join("file");
        let download = async {
            let request = Request::get(url, 1_000_000, deadline);
            outbound.send(request).await?.success()?.to_file(&path).await
        };
        let got = download.await;
        got.map(|()| std::fs::read(&path).unwrap())
            .map_err(|error: OutboundError| error.to_string())
    }
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_body_is_kept_as_it_was_sent() {
    let download = Download::new();
    let plain = server(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc", Ending::Closes).await;
    let got = download
        .get(&local(), &format!("http://127.0.0.1:{plain}/x?y#z"), MINUTE)
        .await;
    assert_eq!(got.unwrap(), b"abc");
    // Not decompressed, whatever `content-encoding` says.
    let gzip = server(
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1f\x8bz",
        Ending::Closes,
    )
    .await;
    let got = download
        .get(&local(), &format!("http://localhost:{gzip}/"), MINUTE)
        .await;
    assert_eq!(got.unwrap(), b"\x1f\x8bz");
}

#[tokio::test]
async fn answers_that_are_no_file_say_so() {
    let download = Download::new();
    for (answer, expected) in [
        (
            &b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/meta-data/\r\ncontent-length: 0\r\n\r\n"[..],
            "redirect (302)",
        ),
        (
            b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n",
            "redirect (307)",
        ),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "status 404"),
        (b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", "status 503"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "status 204"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n",
            "more than the 1000000 bytes",
        ),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", "cannot be reached, or broke off"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc", "broke off"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "cannot be reached"),
        (b"", "cannot be reached"),
    ] {
        let port = server(answer, Ending::Closes).await;
        let got = download.get(&local(), &format!("http://127.0.0.1:{port}/"), MINUTE).await;
        let error = got.unwrap_err();
        assert!(error.contains(expected), "{}: {error}", String::from_utf8_lossy(answer));
    }
}

#[tokio::test]
async fn an_endless_body_ends_at_the_cap() {
    let port = server(b"HTTP/1.1 200 OK\r\n\r\n", Ending::IsEndless).await;
    let download = Download::new();
    let got = download
        .get(&local(), &format!("http://127.0.0.1:{port}/"), MINUTE)
        .await;
    assert!(got.unwrap_err().contains("more than the 1000000 bytes"));
    let kept = std::fs::metadata(download.folder.path().join("file"))
        .unwrap()
        .len();
    assert!(kept <= 1_000_000, "{kept}");
}

#[tokio::test]
async fn one_deadline_is_over_all() {
    let download = Download::new();
    for (answer, ending) in [
        (&b"HTTP/1.1 200 OK\r\n\r\n"[..], Ending::Drips),
        (b"HTTP/1.1 200 OK\r\nx-header: ", Ending::Drips),
        (b"", Ending::IsSilent),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n", Ending::IsSilent),
    ] {
        let port = server(answer, ending).await;
        let url = format!("http://127.0.0.1:{port}/");
        let got = download.get(&local(), &url, Duration::from_millis(300)).await;
        assert!(
            got.unwrap_err().contains("took longer"),
            "{}",
            String::from_utf8_lossy(answer)
        );
    }
}

#[tokio::test]
async fn a_name_is_refused_for_any_bad_address_and_at_every_connection() {
    let download = Download::new();
    for answers in [
        &["10.0.0.1"][..],
        &["169.254.169.254"],
        &["127.0.0.1"],
        &["::1"],
        &["::ffff:1.1.1.1"],
        &["64:ff9b::1.1.1.1"],
        &["93.184.216.34", "10.0.0.1"],
        &["2606:4700::1111", "fe80::1"],
    ] {
        let outbound = stubbed(&[answers], Policy::Public);
        let got = download.get(&outbound, "https://example.com/", MINUTE).await;
        assert_eq!(
            got.unwrap_err(),
            "the address of 'example.com' is not public",
            "{answers:?}"
        );
    }
    // The name resolves to an allowed address once and to a refused one then: the second connection is
    // refused.
    let port = server(
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc",
        Ending::Closes,
    )
    .await;
    let outbound = stubbed(
        &[&["127.0.0.1"], &["10.0.0.1"], &["127.0.0.1", "192.168.0.1"]],
        Policy::Local,
    );
    let url = format!("http://rebound.example:{port}/");
    assert_eq!(download.get(&outbound, &url, MINUTE).await.unwrap(), b"abc");
    for _ in 0..2 {
        let error = download.get(&outbound, &url, MINUTE).await.unwrap_err();
        assert!(error.contains("is not public"), "{error}");
    }
    // A name without an address is only unreachable.
    let error = download.get(&outbound, &url, MINUTE).await.unwrap_err();
    assert!(error.contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn this_machine_is_asked_in_development_alone() {
    let port = server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", Ending::Closes).await;
    let download = Download::new();
    let public = Outbound::public();
    for (host, why) in [
        ("localhost", "internal networks"),
        ("127.0.0.1", "is not public"),
        ("2130706433", "is not public"),
        ("[::1]", "is not public"),
    ] {
        let got = download
            .get(&public, &format!("https://{host}:{port}/"), MINUTE)
            .await;
        assert!(got.unwrap_err().contains(why), "{host}");
        assert!(public.check(&format!("http://{host}:{port}/")).is_err());
    }
}

#[test]
fn what_goes_wrong_never_tells_the_url() {
    let error = OutboundError::Unreachable("no route".into());
    assert_eq!(error.to_string(), "it cannot be reached, or broke off");
}

/// Sends a post. The deadline is over the head and the body, of which eight bytes are read.
pub(super) async fn post(outbound: &Outbound, url: &str) -> Result<Opened, String> {
    let request = Request {
        method: Method::POST,
        body: b"{}".to_vec(),
        ..Request::get(url, 8, Duration::from_secs(2))
    };
    outbound.send(request).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_post_goes_to_no_name_that_has_one_address_which_is_not_public() {
    // The addresses are checked at each connection.
    let outbound = stubbed(
        &[
            &["10.0.0.7"],
            &["93.184.215.14", "169.254.169.254"],
            &["::ffff:127.0.0.1"],
        ],
        Policy::Public,
    );
    for _ in 0..3 {
        let refusal = post(&outbound, "https://rebinding.example/").await.unwrap_err();
        assert_eq!(refusal, "the address of 'rebinding.example' is not public");
    }
}

#[tokio::test]
async fn provisional_answers_are_heard_until_they_are_too_many() {
    let few = server(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        Ending::Closes,
    )
    .await;
    let answer = post(&local(), &format!("http://127.0.0.1:{few}/")).await.unwrap();
    assert_eq!(answer.status, 204);
    let many = server(b"", Ending::IsProvisional).await;
    let refusal = post(&local(), &format!("http://127.0.0.1:{many}/")).await;
    assert_eq!(refusal.unwrap_err(), "it sends more than 16 provisional answers");
    PROVISIONAL_ENDED.notified().await;
}

#[tokio::test]
async fn an_answer_with_an_endless_head_is_none() {
    for head in [&b"HTTP/1.1 200 OK\r\nx-header: "[..], b"HTTP/1.1 200 "] {
        let port = server(head, Ending::IsEndless).await;
        let refusal = post(&local(), &format!("http://127.0.0.1:{port}/")).await;
        assert_eq!(refusal.unwrap_err(), "it cannot be reached, or broke off");
    }
}

#[tokio::test]
async fn a_url_is_asked_as_it_is_written() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/a%20b/{{c}}|d?e=%2f&f=[1]&g={{\"h\":2}}^#part");
    let heard = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4_096];
        let length = socket.read(&mut request).await.unwrap();
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        socket.write_all(answer).await.unwrap();
        request.truncate(length);
        String::from_utf8(request).unwrap()
    };
    let outbound = local();
    let (answer, heard) = tokio::join!(post(&outbound, &url), heard);
    assert_eq!(answer.unwrap().status, 200);
    let heard = heard
        .replace(&port.to_string(), "PORT")
        .replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(heard.replace("\r\n", "\n"), @r#"
    POST /a%20b/%7Bc%7D|d?e=%2f&f=[1]&g={%22h%22:2}^ HTTP/1.1
    accept: */*
    user-agent: millrace/VERSION
    host: 127.0.0.1:PORT
    content-length: 2

    {}
    "#);
}

/// A connection may outlive the post that opened it, so its handshake has its own time limit.
#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_not_answered_ends_before_the_post_does() {
    let port = server(b"", Ending::IsSilent).await;
    let url = format!("https://127.0.0.1:{port}/");
    let refusal = local().send(Request::get(&url, 8, MINUTE)).await.unwrap_err();
    assert_eq!(refusal.to_string(), "it cannot be reached, or broke off");
}

#[tokio::test]
async fn url_of_the_operator_may_be_private_and_follows_no_redirect() {
    let client = Trusted::new(MINUTE, Reuse::Kept);
    let redirect = b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n";
    let port = server(redirect, Ending::Closes).await;
    let url = format!("http://localhost:{port}/");
    let opened = client.send(Request::get(&url, 8, MINUTE)).await.unwrap();
    assert_eq!(opened.status, 302);
    let [rules, callers] =
        [Policy::Any, Policy::Public].map(|policy| Rules::new(policy, OwnServers::default()));
    for url in [
        "http://model.internal/v1",
        "http://10.0.0.7:81/",
        "https://[fd00::1]:6379/",
    ] {
        target::parse(url, &rules).unwrap();
        target::parse(url, &callers).unwrap_err();
    }
    target::parse("ftp://model.internal/", &rules).unwrap_err();

    let unconnected = client.send(Request::get("http://127.0.0.1:1/", 8, MINUTE)).await;
    assert!(unconnected.unwrap_err().is_unconnected());
    let port = server(b"", Ending::Closes).await;
    let url = format!("http://127.0.0.1:{port}/");
    let unanswered = client.send(Request::get(&url, 8, MINUTE)).await;
    assert!(!unanswered.unwrap_err().is_unconnected());
}

#[test]
fn of_a_long_reason_the_beginning_is_told() {
    assert_eq!(client::shortened("expired".to_owned()), "expired");
    let told = client::shortened("é".repeat(10_000));
    assert_eq!((told.len(), told.ends_with('…')), (203, true));
}

#[tokio::test]
async fn a_name_is_looked_up_once_when_its_url_is_saved() {
    for (answer, is_taken) in [
        (Some(vec!["93.184.216.34"]), true),
        (Some(vec!["10.0.0.1"]), false),
        (Some(vec!["93.184.216.34", "127.0.0.1"]), false),
        (None, true),
    ] {
        let outbound = fixed(answer.clone());
        let checked = outbound.check_now("https://hooks.example.com/x").await;
        assert_eq!(checked.is_ok(), is_taken, "{answer:?}");
    }
    let outbound = fixed(None);
    assert!(outbound.check_now("https://[::1]/").await.is_err());
}

fn fixed(answer: Option<Vec<&'static str>>) -> Outbound {
    let rules = Rules::new(Policy::Public, OwnServers::default());
    Outbound::over(Arc::new(Fixed(answer)), rules)
}

/// Answers every lookup with the same addresses.
struct Fixed(Option<Vec<&'static str>>);

#[async_trait]
impl Lookup for Fixed {
    async fn lookup(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        let found = self.0.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
        Ok(found.iter().map(|address| address.parse().unwrap()).collect())
    }
}
