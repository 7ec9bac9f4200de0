//! Closes a connection whose other side reads too slowly.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Least bytes that the other side must read within the limit, unless it has read everything.
const LEAST_BYTES: usize = 32 * 1_024;

/// Connection with a limit on how long a write may wait.
pub struct Stalling<C> {
    connection: C,
    limit: Duration,
    /// Runs from the first waiting write until enough bytes are read.
    late: Option<Pin<Box<Sleep>>>,
    byte_count: usize,
}

impl<C> Stalling<C> {
    /// Wraps a connection; the other side must read [`LEAST_BYTES`] within the limit.
    pub fn new(connection: C, limit: Duration) -> Self {
        Self {
            connection,
            limit,
            late: None,
            byte_count: 0,
        }
    }
}

impl<C: AsyncWrite + Unpin> Stalling<C> {
    /// Returns the progress of a write, or an error when too little was read in time.
    fn watch(
        &mut self,
        context: &mut Context<'_>,
        progress: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = progress {
            self.byte_count += count;
            if self.byte_count >= LEAST_BYTES {
                self.reset();
            }
        }
        let late = match (&mut self.late, &progress) {
            (None, Poll::Ready(_)) => return progress,
            (late, _) => late.get_or_insert_with(|| Box::pin(sleep(self.limit))),
        };
        match late.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => progress,
        }
    }

    fn reset(&mut self) {
        self.late = None;
        self.byte_count = 0;
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for Stalling<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(context, buffer)
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Stalling<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.connection).poll_write(context, bytes);
        self.watch(context, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.connection).poll_write_vectored(context, parts);
        self.watch(context, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.connection).poll_flush(context));
        self.reset();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_is_dropped() {
        let (near, _far) = duplex(10);
        let began = Instant::now();
        let result = Stalling::new(near, LIMIT).write_all(&[0; 100]).await;
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_trickles_is_dropped() {
        let (near, mut far) = duplex(1_024);
        tokio::spawn(async move {
            loop {
                sleep(LIMIT / 10).await;
                far.read_exact(&mut [0; 1_024]).await.unwrap();
            }
        });
        let began = Instant::now();
        let result = Stalling::new(near, LIMIT).write_all(&[0; 1_000_000]).await;
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_served() {
        let (near, mut far) = duplex(1_024);
        let reader = tokio::spawn(async move {
            for _ in 0..20 {
                sleep(LIMIT / 2).await;
                far.read_exact(&mut [0; LEAST_BYTES]).await.unwrap();
            }
        });
        Stalling::new(near, LIMIT)
            .write_all(&[0; 20 * LEAST_BYTES])
            .await
            .unwrap();
        reader.await.unwrap();
    }

    /// A stream has few and small messages.
    #[tokio::test(start_paused = true)]
    async fn a_connection_with_nothing_to_write_lasts() {
        let (near, mut far) = duplex(1_024);
        let mut near = Stalling::new(near, LIMIT);
        for _ in 0..3 {
            let write = async {
                near.write_all(&[0; 1_500]).await.unwrap();
                near.flush().await.unwrap();
            };
            let slow_reader = async {
                sleep(LIMIT / 2).await;
                far.read_exact(&mut [0; 1_500]).await.unwrap();
            };
            tokio::join!(write, slow_reader);
            sleep(LIMIT * 2).await;
        }
    }
}
