//! Simulates hostile receivers of webhooks.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Behaviour of the server after it has read a request.
#[derive(Clone, Copy, Debug)]
pub enum Meanness {
    /// A body without end.
    Endless,
    /// One byte per second.
    Drip,
    /// Headers of 10 MB.
    Headers,
    /// 200 MB of zeros, compressed.
    Bomb,
    /// No answer.
    Hang,
    /// A reset of the connection.
    Reset,
    /// A redirect to this machine.
    Redirect,
    /// An endless series of provisional answers.
    Continues,
}

pub const ALL: [Meanness; 8] = [
    Meanness::Endless,
    Meanness::Drip,
    Meanness::Headers,
    Meanness::Bomb,
    Meanness::Hang,
    Meanness::Reset,
    Meanness::Redirect,
    Meanness::Continues,
];

/// Less than a megabyte when compressed.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..20 {
        std::io::Write::write_all(&mut bomb, &vec![0; 10_000_000]).expect("memory takes it");
    }
    bomb.finish().expect("memory takes it")
});

impl Meanness {
    /// Starts a server of this kind on a free port. Returns its origin.
    pub async fn serve(self) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(async move { be_mean(socket, self).await });
            }
        });
        format!("http://127.0.0.1:{port}")
    }
}

async fn be_mean(mut socket: TcpStream, meanness: Meanness) {
    let mut request = [0; 65_536];
    let _ = socket.read(&mut request).await;
    let ok = "HTTP/1.1 200 OK\r\n";
    match meanness {
        Meanness::Endless => {
            let _ = socket.write_all(format!("{ok}\r\n").as_bytes()).await;
            while socket.write_all(&[b'x'; 65_536]).await.is_ok() {}
        }
        Meanness::Drip => {
            let _ = socket
                .write_all(format!("{ok}content-length: 100000\r\n\r\n").as_bytes())
                .await;
            while socket.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        Meanness::Headers => {
            let _ = socket.write_all(ok.as_bytes()).await;
            for number in 0..10_000 {
                let header = format!("x-{number}: {}\r\n", "y".repeat(1_000));
                if socket.write_all(header.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
        Meanness::Bomb => {
            let head = format!(
                "{ok}content-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
                BOMB.len()
            );
            let _ = socket.write_all(&[head.as_bytes(), &BOMB].concat()).await;
        }
        Meanness::Hang => std::future::pending().await,
        Meanness::Reset => {
            let _ = socket.set_zero_linger();
        }
        Meanness::Redirect => {
            let answer = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
            let _ = socket.write_all(answer.as_bytes()).await;
        }
        Meanness::Continues => while socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_ok() {},
    }
}
