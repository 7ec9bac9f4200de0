//! Ends TLS: with a certificate of two files, or one that a certificate authority issues by ACME.
//!
//! Both are replaced while the service runs: files are read again once they change, and ACME renews at two
//! thirds of a certificate's life.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use parking_lot::RwLock;
use platform::config::ConfigError;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_acme::caches::DirCache;
use rustls_acme::{AcmeConfig, is_tls_alpn_challenge};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{info, warn};

const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// Pause between two looks whether the files changed.
const LOOK: Duration = Duration::from_secs(5);
/// Time limit of a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub enum Certificates {
    Files(Files),
    Acme(Acme),
}

/// Files in PEM.
#[derive(Clone, Debug)]
pub struct Files {
    /// The certificate, and then those that lead to a root.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Clone, Debug)]
pub struct Acme {
    /// At least one.
    pub domains: Vec<String>,
    /// Mail address.
    pub contact: Option<String>,
    /// URL; None for Let's Encrypt.
    pub directory: Option<String>,
    /// Roots of a directory whose certificate the machine does not trust.
    pub roots: Option<PathBuf>,
}

/// Server's side of TLS.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// For requests by which a certificate authority checks a domain.
    challenge: Option<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the certificate, or begins to request one; `cache` is the folder of the account and certificates
    /// of ACME. It is renewed in the background.
    pub fn start(certificates: &Certificates, cache: PathBuf) -> Result<Self, ConfigError> {
        match certificates {
            Certificates::Files(files) => Self::of_files(files.clone()),
            Certificates::Acme(acme) => Self::of_acme(acme, cache),
        }
    }

    fn of_files(files: Files) -> Result<Self, ConfigError> {
        let current = Arc::new(Current(RwLock::new(files.read()?)));
        let config = server(Arc::<Current>::clone(&current))?;
        tokio::spawn(async move { current.follow(files).await });
        Ok(Self {
            config: Arc::new(config),
            challenge: None,
        })
    }

    fn of_acme(acme: &Acme, cache: PathBuf) -> Result<Self, ConfigError> {
        let contact = acme.contact.iter().map(|address| format!("mailto:{address}"));
        let config = AcmeConfig::new_with_client_config(&acme.domains, Arc::new(acme.client()?))
            .contact(contact)
            .cache(DirCache::new(cache))
            .directory(acme.directory.as_deref().unwrap_or(LETS_ENCRYPT));
        let mut state = config.state();
        let tls = Self {
            config: Arc::new(server(state.resolver())?),
            challenge: Some(state.challenge_rustls_config_with_provider(provider())),
        };
        let domains = acme.domains.join(",");
        tokio::spawn(async move {
            while let Some(event) = state.next().await {
                match event {
                    Ok(event) => info!(domains, ?event, "certificate"),
                    Err(cause) => warn!(
                        domains,
                        %cause,
                        "no certificate from the authority; it is asked again. Its servers must reach this one at port 443 of each domain."
                    ),
                }
            }
        });
        Ok(tls)
    }

    /// Returns the decrypted connection; None for a check of a certificate authority, which sends nothing
    /// more.
    pub async fn accept(&self, socket: TcpStream) -> io::Result<Option<TlsStream<TcpStream>>> {
        let shaking_hands = async {
            let hello = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), socket).await?;
            if let Some(challenge) = &self.challenge
                && is_tls_alpn_challenge(&hello.client_hello())
            {
                hello.into_stream(Arc::clone(challenge)).await?;
                return Ok(None);
            }
            hello.into_stream(Arc::clone(&self.config)).await.map(Some)
        };
        tokio::time::timeout(HANDSHAKE, shaking_hands).await?
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

fn server(resolver: Arc<dyn ResolvesServerCert>) -> Result<ServerConfig, ConfigError> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| ConfigError::new(format!("TLS cannot be used: {error}.")))?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

impl Files {
    fn read(&self) -> Result<Arc<CertifiedKey>, ConfigError> {
        let unusable = |path: &Path, cause: &dyn std::fmt::Display| {
            ConfigError::new(format!("{} cannot be used for TLS: {cause}.", path.display()))
        };
        let chain = fs::read(&self.certificate).map_err(|error| unusable(&self.certificate, &error))?;
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&chain)
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(&self.certificate, &error))?;
        if chain.is_empty() {
            return Err(unusable(&self.certificate, &"it has no certificate in PEM"));
        }
        let key = fs::read(&self.key).map_err(|error| unusable(&self.key, &error))?;
        let key = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|_| unusable(&self.key, &"it has no private key in PEM without a password"))?;
        let key = default_provider()
            .key_provider
            .load_private_key(key)
            .map_err(|error| unusable(&self.key, &error))?;
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            Ok(()) => Ok(Arc::new(certified)),
            Err(_) => Err(unusable(&self.key, &"it is not the key of the certificate")),
        }
    }

    /// Returns what changes when a file is written.
    fn times(&self) -> impl PartialEq + use<> {
        [&self.certificate, &self.key].map(|path| {
            let metadata = fs::metadata(path).ok();
            metadata.map(|file| (file.modified().ok(), file.len()))
        })
    }
}

/// Certificate of the files as they were last read.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl Current {
    /// Reads the files again each time that they change. One that cannot be used is left out, and read at the
    /// next look: its key may not be written yet.
    async fn follow(&self, files: Files) {
        let mut times = files.times();
        loop {
            tokio::time::sleep(LOOK).await;
            let now = files.times();
            if now == times {
                continue;
            }
            match files.read() {
                Ok(certificate) => {
                    *self.0.write() = certificate;
                    times = now;
                    info!(file = %files.certificate.display(), "a new certificate is used");
                }
                Err(cause) => warn!(%cause, "the certificate before stays in use"),
            }
        }
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read()))
    }
}

impl Acme {
    /// Returns the client's side of TLS for requests to the directory.
    fn client(&self) -> Result<ClientConfig, ConfigError> {
        let unusable = |error: rustls::Error| ConfigError::new(format!("TLS cannot be used: {error}."));
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let Some(path) = &self.roots else {
            let builder = builder.with_platform_verifier().map_err(unusable)?;
            return Ok(builder.with_no_client_auth());
        };
        let refused = |cause: &dyn std::fmt::Display| {
            ConfigError::new(format!(
                "MILLRACE_ACME_ROOTS names {}, which cannot be used: {cause}.",
                path.display()
            ))
        };
        let mut roots = RootCertStore::empty();
        let pem = fs::read(path).map_err(|error| refused(&error))?;
        for root in CertificateDer::pem_slice_iter(&pem) {
            let root = root.map_err(|error| refused(&error))?;
            roots.add(root).map_err(|error| refused(&error))?;
        }
        Ok(builder.with_root_certificates(roots).with_no_client_auth())
    }
}
