//! Reads buckets outside of the service, which callers name.

use std::path::Path;

use async_trait::async_trait;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

use crate::error::Error;

#[async_trait]
pub trait RemoteObjects: Send + Sync {
    async fn get_to_file(&self, place: Place<'_>, download: Download<'_>) -> Result<(), SourceError>;
}

/// An object in an open place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub bucket: &'a str,
    pub key: &'a str,
}

#[derive(Clone, Copy)]
pub struct Download<'a> {
    pub path: &'a Path,
    pub max_bytes: u64,
}

impl Download<'_> {
    /// Starts the download, unless the known size is too large.
    pub async fn begin(self, bytes: Option<u64>) -> Result<Begun, SourceError> {
        if bytes.is_some_and(|bytes| bytes > self.max_bytes) {
            return Err(SourceError::too_large(self.max_bytes));
        }
        Ok(Begun {
            file: File::create(self.path).await.map_err(SourceError::File)?,
            written: 0,
            max_bytes: self.max_bytes,
        })
    }
}

pub struct Begun {
    file: File,
    written: u64,
    max_bytes: u64,
}

impl Begun {
    pub async fn write(&mut self, chunk: &[u8]) -> Result<(), SourceError> {
        self.written += chunk.len() as u64;
        if self.written > self.max_bytes {
            return Err(SourceError::too_large(self.max_bytes));
        }
        self.file.write_all(chunk).await.map_err(SourceError::File)
    }

    pub async fn finish(mut self) -> Result<(), SourceError> {
        self.file.flush().await.map_err(SourceError::File)
    }
}

/// Reason why there is no file, worded as the end of a sentence about it.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file's address is invalid.
    #[error("{0}")]
    Malformed(String),
    /// The operator did not open the place of the file.
    #[error("{0}")]
    NotOpen(String),
    #[error("{0}")]
    Failed(String),
    #[error("the file cannot be written")]
    File(#[source] std::io::Error),
}

impl SourceError {
    /// Error of a file with more bytes than can be read.
    pub fn too_large(max_bytes: u64) -> Self {
        Self::Failed(format!(
            "it is larger than the {max_bytes} bytes that can be read"
        ))
    }

    /// Converts to the error of a request whose field `path` names the file.
    pub fn at(self, path: &str) -> Error {
        let sentence = match &self {
            Self::Failed(why) => format!("{path}: the file cannot be fetched: {why}."),
            other => format!("{path}: {other}."),
        };
        match self {
            Self::Malformed(_) => Error::invalid(sentence),
            Self::NotOpen(_) => Error::forbidden(sentence),
            Self::Failed(_) => Error::unprocessable(sentence),
            Self::File(error) => Error::internal(error),
        }
    }
}
