//! Reads an answer, within the limits of its request.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::{Body as _, Incoming};
use hyper::header::HeaderMap;
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, timeout_at};

use super::error::OutboundError;

/// An answer whose head has arrived. Its body is read as it was sent, not decompressed.
#[derive(Debug)]
pub struct Opened {
    /// HTTP status. Redirects are not followed.
    pub status: u16,
    pub headers: HeaderMap,
    body: Incoming,
    left_bytes: u64,
    max_bytes: u64,
    ends_at: Instant,
    deadline: Duration,
}

impl Opened {
    pub(super) fn new(
        response: Response<Incoming>,
        max_bytes: u64,
        ends_at: Instant,
        deadline: Duration,
    ) -> Self {
        let (head, body) = response.into_parts();
        Self {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            left_bytes: max_bytes,
            max_bytes,
            ends_at,
            deadline,
        }
    }

    /// Returns itself if its status is 200; any other becomes an error.
    pub fn success(self) -> Result<Self, OutboundError> {
        match self.status {
            200 => Ok(self),
            300..400 => Err(OutboundError::Redirect(self.status)),
            status => Err(OutboundError::Status(status)),
        }
    }

    /// Lowers the cap of the body.
    #[must_use]
    pub fn capped(self, max_bytes: u64) -> Self {
        Self {
            left_bytes: self.left_bytes.min(max_bytes),
            max_bytes: self.max_bytes.min(max_bytes),
            ..self
        }
    }

    /// Returns the next piece of the body; None at its end. [`OutboundError::TooLarge`] for the piece that
    /// exceeds the cap.
    pub async fn next(&mut self) -> Result<Option<Bytes>, OutboundError> {
        let Some(piece) = self.piece().await? else {
            return Ok(None);
        };
        let left = self.left_bytes.checked_sub(piece.len() as u64);
        self.left_bytes = left.ok_or(OutboundError::TooLarge(self.max_bytes))?;
        Ok(Some(piece))
    }

    /// Reads the rest of the body. A body above the cap is an error.
    pub async fn whole(&mut self) -> Result<Vec<u8>, OutboundError> {
        self.check_size()?;
        let mut bytes = Vec::new();
        while let Some(piece) = self.next().await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    /// Reads the rest of the body up to the cap, and returns whether it is complete. After an error, `bytes`
    /// has what arrived before.
    pub async fn beginning(&mut self, bytes: &mut Vec<u8>) -> Result<bool, OutboundError> {
        while let Some(piece) = self.piece().await? {
            let left = usize::try_from(self.left_bytes).unwrap_or(usize::MAX);
            let start = piece.get(..left).unwrap_or(&piece);
            self.left_bytes -= start.len() as u64;
            bytes.extend_from_slice(start);
            if start.len() < piece.len() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the rest of the body into a new file. A body above the cap is an error.
    pub async fn to_file(&mut self, path: &Path) -> Result<(), OutboundError> {
        self.check_size()?;
        let mut file = tokio::fs::File::create(path).await.map_err(OutboundError::File)?;
        while let Some(piece) = self.next().await? {
            file.write_all(&piece).await.map_err(OutboundError::File)?;
        }
        file.flush().await.map_err(OutboundError::File)
    }

    /// Returns the size of the rest of the body, if the head names it.
    pub fn size(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// Fails at once for a body whose head names a size above the cap.
    fn check_size(&self) -> Result<(), OutboundError> {
        match self.body.size_hint().lower() > self.left_bytes {
            true => Err(OutboundError::TooLarge(self.max_bytes)),
            false => Ok(()),
        }
    }

    async fn piece(&mut self) -> Result<Option<Bytes>, OutboundError> {
        loop {
            let frame = timeout_at(self.ends_at, self.body.frame()).await;
            let frame = match frame {
                Err(_) => return Err(OutboundError::TooSlow(self.deadline)),
                Ok(None) => return Ok(None),
                Ok(Some(frame)) => frame.map_err(|error| OutboundError::Unreachable(error.into()))?,
            };
            // A frame without data is the trailer.
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
    }
}
