//! Receives an object in pieces from the holder of an upload link.

use std::path::PathBuf;
use std::sync::Arc;

use platform::{Error, Result};
use tempfile::NamedTempFile;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

use super::writing::{Replace, Writer};
use super::{FileObjects, blocking, unavailable, without_links};

/// An object on its way. It becomes visible when it is whole; without that nothing of it stays.
pub struct Upload {
    draft: NamedTempFile,
    file: File,
    path: PathBuf,
    writer: Arc<Writer>,
    bytes: u64,
    received: u64,
}

impl FileObjects {
    /// Begins an upload by the query of its link. 403 if the link is invalid.
    pub async fn receive(&self, bucket: &str, key: &str, query: &str) -> Result<Upload> {
        let links = self.links.as_ref().ok_or_else(without_links)?;
        let bytes = links.verify_upload(bucket, key, query)?;
        let (path, writer) = (self.path(bucket, key)?, Arc::clone(&self.writer));
        let drafts = Arc::clone(&writer);
        let (draft, file) = blocking(move || {
            let draft = drafts.draft()?;
            let file = draft.as_file().try_clone()?;
            Ok((draft, file))
        })
        .await?;
        Ok(Upload {
            draft,
            file: File::from_std(file),
            path,
            writer,
            bytes,
            received: 0,
        })
    }
}

impl Upload {
    /// Returns the number of bytes that the link is for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a piece. Fails with 403 for more bytes than the link is for.
    pub async fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.received += piece.len() as u64;
        if self.received > self.bytes {
            return Err(other_size(self.bytes));
        }
        self.file.write_all(piece).await.map_err(unavailable)
    }

    /// Makes the object visible. Fails with 403 for fewer bytes than the link is for.
    pub async fn finish(mut self) -> Result<()> {
        if self.received != self.bytes {
            return Err(other_size(self.bytes));
        }
        self.file.flush().await.map_err(unavailable)?;
        let (draft, path, writer) = (self.draft, self.path, self.writer);
        blocking(move || writer.keep(&draft, &path, Replace::Yes).map(drop)).await
    }
}

/// Fails with the status of S3, where the size is a signed header.
pub fn other_size(bytes: u64) -> Error {
    Error::forbidden(format!(
        "This link is for a file of exactly {bytes} bytes; ask for a link for the size of this one."
    ))
}
