//! Tests certificates by ACME, from Pebble, the test server of Let's Encrypt, which checks the domain.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use tests::Server;

use super::tls::client;

const NAME: &str = "millrace.example.com";
/// Longest wait for Pebble to answer, or for a certificate.
const WITHIN: Duration = Duration::from_secs(60);

/// Running certificate authority, and the name server that it asks; both are killed when this is dropped.
struct Pebble {
    children: Vec<Child>,
    directory: String,
    management: SocketAddr,
    /// Root of the certificate of its own servers.
    root: String,
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

impl Pebble {
    /// Starts it; it checks each domain at this port of this machine.
    async fn start(folder: &Path, port: u16) -> Self {
        let [listen, management, names, unused] = [(); 4].map(|()| free_address());
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let root = params.self_signed(&key).unwrap().pem();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        fs::write(path("pebble-key.pem"), key.serialize_pem()).unwrap();
        fs::write(path("pebble.pem"), &root).unwrap();
        let config = json!({ "pebble": {
            "listenAddress": listen.to_string(), "managementListenAddress": management.to_string(),
            "certificate": path("pebble.pem"), "privateKey": path("pebble-key.pem"),
            "httpPort": 1, "tlsPort": port, "ocspResponderURL": "", "externalAccountBindingRequired": false,
        } });
        fs::write(path("pebble.json"), config.to_string()).unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).env("PEBBLE_VA_NOSLEEP", "1");
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let (names, unused) = (names.to_string(), unused.to_string());
        let servers = [
            "-http01",
            "",
            "-https01",
            "",
            "-tlsalpn01",
            "",
            "-management",
            &unused,
        ];
        let addresses = ["-dns01", &names, "-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""];
        let pebble = Self {
            children: vec![
                run("pebble-challtestsrv", &[&servers[..], &addresses].concat()),
                run("pebble", &["-config", &path("pebble.json"), "-dnsserver", &names]),
            ],
            directory: format!("https://localhost:{}/dir", listen.port()),
            management,
            root,
        };
        let began = Instant::now();
        while pebble.issuing_root().await.is_none() {
            assert!(began.elapsed() < WITHIN, "Pebble does not answer");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        pebble
    }

    /// Returns the root of the certificates that it issues.
    async fn issuing_root(&self) -> Option<Vec<u8>> {
        let url = format!("https://localhost:{}/roots/0", self.management.port());
        let request = client(self.root.as_bytes(), self.management).get(url);
        let answer = request.send().await.ok()?;
        Some(answer.bytes().await.ok()?.to_vec())
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[tokio::test]
async fn certificate_is_issued_and_kept_by_pebble() {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let pebble = Pebble::start(folder.path(), address.port()).await;
    let roots = folder.path().join("pebble.pem");
    let (listen, directory) = (address.to_string(), pebble.directory.clone());
    let arguments = [
        "--listen",
        &listen,
        "--acme-domains",
        NAME,
        "--acme-contact",
        "ops@example.com",
        "--acme-directory",
        &directory,
        "--acme-roots",
        roots.to_str().unwrap(),
    ];
    let mut server = Server::start(folder.path(), &arguments, &[]);
    let root = pebble.issuing_root().await.unwrap();
    let healthy = async || {
        let request = client(&root, address).get(format!("https://{NAME}:{}/healthz", address.port()));
        request
            .send()
            .await
            .is_ok_and(|response| response.status() == 200)
    };
    let began = Instant::now();
    while !healthy().await {
        assert!(began.elapsed() < WITHIN, "no certificate: {}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The next process has it, without the authority.
    drop(pebble);
    server.signal("TERM");
    server.ended();
    let _server = Server::start(folder.path(), &arguments, &[]);
    assert!(healthy().await, "the certificate was not kept");
}
