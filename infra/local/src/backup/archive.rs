//! Writes an archive.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use platform::UtcTime;
use tar::{Builder, EntryType, Header};
use zstd::Encoder;

use super::format::{BACKUP_FORMAT, Contents, Head, VERSION};
use super::names;
use super::sums::{Summed, Sums};
use crate::data_dir;

/// Compression level: records shrink to a fifth, and Parquet files take little time.
const LEVEL: i32 = 3;

pub struct Archive {
    tar: Builder<Encoder<'static, BufWriter<File>>>,
    sums: Sums,
    contents: Contents,
}

impl Archive {
    pub fn begin(file: File, now: UtcTime) -> io::Result<Self> {
        let mut encoder = Encoder::new(BufWriter::new(file), LEVEL)?;
        encoder.include_checksum(true)?;
        let mut archive = Self {
            tar: Builder::new(encoder),
            sums: Sums::default(),
            contents: Contents { objects: 0, bytes: 0 },
        };
        let head = Head {
            backup_format: BACKUP_FORMAT,
            data_format: data_dir::FORMAT,
            version: VERSION.to_owned(),
            made_at: now.to_string(),
        };
        let head = serde_json::to_vec(&head)?;
        archive.add_bytes(names::HEAD, &head, now)?;
        Ok(archive)
    }

    /// Adds a file that does not change meanwhile.
    pub fn add(&mut self, name: &str, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH);
        let seconds = modified.map(|since| since.as_secs()).unwrap_or_default();
        self.add_from(name, file, metadata.len(), seconds)
    }

    pub fn add_object(&mut self, name: &str, path: &Path) -> io::Result<()> {
        self.contents.objects += 1;
        self.add(name, path)
    }

    fn add_bytes(&mut self, name: &str, bytes: &[u8], now: UtcTime) -> io::Result<()> {
        let seconds = u64::try_from(now.as_seconds()).unwrap_or_default();
        self.add_from(name, bytes, bytes.len() as u64, seconds)
    }

    fn add_from(&mut self, name: &str, from: impl Read, bytes: u64, modified: u64) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_mtime(modified);
        header.set_size(bytes);
        let mut from = Summed::new(from);
        self.tar.append_data(&mut header, name, &mut from)?;
        if from.bytes != bytes {
            return Err(io::Error::other(format!(
                "{name} changed from {bytes} to {} bytes while it was read",
                from.bytes
            )));
        }
        self.contents.bytes += bytes;
        self.sums.add(name, from);
        Ok(())
    }

    /// Writes the sums and syncs the file.
    pub fn end(mut self, now: UtcTime) -> io::Result<Contents> {
        let sums = std::mem::take(&mut self.sums);
        self.add_bytes(names::SUMS, sums.as_text().as_bytes(), now)?;
        let mut file = self.tar.into_inner()?.finish()?;
        file.flush()?;
        file.get_ref().sync_all()?;
        Ok(self.contents)
    }
}
