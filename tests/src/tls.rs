//! Serves over https, with certificates of authorities that a test makes.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::serve::Listener;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

/// Accepts connections whose handshake succeeds.
struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            if let Ok((socket, address)) = self.listener.accept().await
                && let Ok(stream) = self.acceptor.accept(socket).await
            {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Returns a certificate authority.
pub fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("no name");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("a certificate")
}

/// Serves a router on a free port, with a certificate for a name. Returns the port.
pub async fn serve(authority: &CertifiedIssuer<'_, KeyPair>, name: &str, router: Router) -> u16 {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([name.to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, authority).expect("a certificate");
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .expect("a certificate with its key");
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    let listener = TlsListener {
        listener,
        acceptor: Arc::new(config).into(),
    };
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}
