//! Tests TLS with the files of a certificate: of callers that trust its authority, and with a new
//! certificate.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use tests::tls::authority;
use tests::{Server, server};

const NAME: &str = "millrace.example.com";

type Authority = CertifiedIssuer<'static, KeyPair>;

/// Writes a certificate for [`NAME`] and its key into a folder.
fn issue(authority: &Authority, folder: &Path) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([NAME.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    fs::write(folder.join("certificate.pem"), certificate.pem()).unwrap();
}

/// Returns a client that finds the service under its name, and trusts the authority.
pub fn client(root: &[u8], address: SocketAddr) -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([reqwest::Certificate::from_pem(root).unwrap()])
        .resolve(NAME, address)
        .pool_max_idle_per_host(0)
        .timeout(Duration::from_secs(60))
        .build()
        .unwrap()
}

fn files(folder: &Path) -> [String; 4] {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let [certificate, key] = ["certificate.pem", "key.pem"].map(path);
    [
        "--tls-certificate".to_owned(),
        certificate,
        "--tls-key".to_owned(),
        key,
    ]
}

#[tokio::test]
async fn service_answers_over_tls_and_takes_a_new_certificate_locally() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (authority("first"), authority("second"));
    issue(&first, folder.path());
    let arguments = files(folder.path());
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let mut server = Server::start(folder.path(), &arguments, &[]);
    let token = server.token();
    let url = format!("https://{NAME}:{}/api/v1/prompts", server.address().port());
    let get = async |root: &Authority| {
        let request = client(root.pem().as_bytes(), server.address())
            .get(&url)
            .bearer_auth(&token);
        request.send().await.map(|response| response.status().as_u16())
    };
    assert_eq!(get(&first).await.unwrap(), 200);
    assert!(get(&second).await.is_err(), "a stranger's certificate is trusted");
    // A key without its certificate is not used, and the one before stays.
    let before = fs::read(folder.path().join("certificate.pem")).unwrap();
    issue(&second, folder.path());
    let after = fs::read(folder.path().join("certificate.pem")).unwrap();
    fs::write(folder.path().join("certificate.pem"), before).unwrap();
    let address = server.address();
    server.wait_for("the certificate before stays in use");
    fs::write(folder.path().join("certificate.pem"), after).unwrap();
    server.wait_for("a new certificate is used");
    let request = client(second.pem().as_bytes(), address)
        .get(&url)
        .bearer_auth(&token);
    assert_eq!(request.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn caller_without_tls_holds_up_no_other_locally() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority("trusted");
    issue(&authority, folder.path());
    let arguments = files(folder.path());
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let server = Server::start(folder.path(), &arguments, &[]);
    // Connections that send nothing, and one that sends plain HTTP.
    let _silent: Vec<_> = (0..50)
        .map(|_| TcpStream::connect(server.address()).unwrap())
        .collect();
    let mut plain = TcpStream::connect(server.address()).unwrap();
    plain
        .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "an answer without TLS");
    let url = format!("https://{NAME}:{}/healthz", server.address().port());
    let healthy = client(authority.pem().as_bytes(), server.address())
        .get(url)
        .send()
        .await
        .unwrap();
    assert_eq!(healthy.status(), 200);
}

#[test]
fn files_that_cannot_be_used_stop_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority("trusted");
    issue(&authority, folder.path());
    let (certificate, key) = (
        folder.path().join("certificate.pem"),
        folder.path().join("key.pem"),
    );
    let other = KeyPair::generate().unwrap().serialize_pem();
    for (file, content, reason) in [
        (&key, other.as_str(), "it is not the key of the certificate"),
        (&key, "", "it has no private key in PEM"),
        (&certificate, "", "it has no certificate in PEM"),
        (
            &certificate,
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "cannot be used for TLS",
        ),
    ] {
        let before = fs::read(file).unwrap();
        fs::write(file, content).unwrap();
        let arguments = files(folder.path());
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let text = server::refusal(folder.path(), &arguments, &[]);
        assert!(text.contains(reason), "{reason}: {text}");
        fs::write(file, before).unwrap();
    }
}
