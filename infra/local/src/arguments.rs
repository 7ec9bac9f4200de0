//! Defines the arguments of the service in one process.

use std::path::PathBuf;

use clap::Args;
use platform::config::variables;

/// Default data directory.
pub const DEFAULT_DATA_DIR: &str = ".millrace";

const DEFAULT_PORT: u16 = 3_000;

/// Whom the service is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Its developer: it issues tokens itself, and webhooks and imports may reach this machine.
    Development,
    /// Users of an identity provider.
    Production,
}

/// Where the service listens, and where its data is. An empty text counts as missing, as that of a variable.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Port to listen on, on 127.0.0.1; 0 selects a free one.
    #[arg(long, env = "PORT", default_value_t = DEFAULT_PORT, value_parser = port)]
    pub port: u16,
    /// Folder for all data.
    #[arg(long, env = "DATA_DIR", default_value = DEFAULT_DATA_DIR)]
    pub data_dir: PathBuf,
    /// Takes over from a process that has the folder open, which is away for a moment.
    #[arg(long)]
    pub replace: bool,
    /// Address to listen on instead of --port, such as `0.0.0.0:443` or `[::]:3000`. A socket that systemd
    /// passes comes first.
    #[arg(long, env = variables::LISTEN.name, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// URL under which callers reach the service, such as `https://millrace.example.com`.
    #[arg(long, env = variables::PUBLIC_URL.name, value_name = "URL")]
    pub public_url: Option<String>,
    /// Addresses of proxies whose header X-Forwarded-For counts, comma-joined, such as 127.0.0.1,10.0.0.0/8.
    #[arg(long, env = variables::TRUSTED_PROXIES.name, value_name = "ADDRESSES")]
    pub trusted_proxies: Option<String>,
    /// Address to answer /metrics, /healthz and /readyz on, such as 127.0.0.1:9464.
    #[arg(long, env = variables::METRICS_LISTEN.name, value_name = "ADDRESS:PORT")]
    pub metrics_listen: Option<String>,
    /// File with the certificate chain for TLS, in PEM; a new certificate counts within seconds.
    #[arg(long, env = variables::TLS_CERTIFICATE.name, value_name = "FILE")]
    pub tls_certificate: Option<String>,
    /// File with the certificate's private key, in PEM.
    #[arg(long, env = variables::TLS_KEY.name, value_name = "FILE")]
    pub tls_key: Option<String>,
    /// Domains to get a certificate for by ACME, comma-joined; callers reach this process at port 443 of
    /// each.
    #[arg(long, env = variables::ACME_DOMAINS.name, value_name = "DOMAINS")]
    pub acme_domains: Option<String>,
    /// Mail address for messages of the certificate authority.
    #[arg(long, env = variables::ACME_CONTACT.name, value_name = "ADDRESS")]
    pub acme_contact: Option<String>,
    /// Directory of the certificate authority; default Let's Encrypt.
    #[arg(long, env = variables::ACME_DIRECTORY.name, value_name = "URL")]
    pub acme_directory: Option<String>,
    /// File with root certificates of that directory, in PEM, where it is a private one.
    #[arg(long, env = variables::ACME_ROOTS.name, value_name = "FILE")]
    pub acme_roots: Option<String>,
}

/// Reads a port; an empty text is the default, as that of a variable that is set to nothing.
fn port(text: &str) -> Result<u16, std::num::ParseIntError> {
    match text {
        "" => Ok(DEFAULT_PORT),
        text => text.parse(),
    }
}
