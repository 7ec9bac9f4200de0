//! Detects the compression of input files, and checks that they are complete and do not expand too much.
//!
//! DuckDB reads a truncated gzip or zstd file as if it ended there, and does not check gzip's checksum, so
//! rows of an import would be missing without any error. Therefore a compressed file is read through once
//! before its rows are read.
//!
//! DuckDB 1.5.5 also loses rows of a gzip file with several members if the end of its read buffer falls into
//! a member's header, and refuses optional parts of a header. It is not given such a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;
use platform::{Error, Result};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: u32 = 0xFD2F_B528;
/// The first of the sixteen magic numbers of frames without data.
const SKIPPABLE_MAGIC: u32 = 0x184D_2A50;

/// Decompressed size that is accepted at any ratio.
const HARMLESS_BYTES: u64 = 1_024 * 1_024 * 1_024;
/// Largest ratio of decompressed to compressed size above that. Tables compress 5 to 50 times; only a
/// malicious file expands a thousand times.
const MAX_RATIO: u64 = 300;
/// Members of a gzip file that are accepted with any content, and the average bytes that each further member
/// must have.
const FREE_MEMBERS: u64 = 10_000;
const BYTES_A_MEMBER: u64 = 1_024;
const BUFFER_BYTES: usize = 256 * 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// Detects the compression from the file's first bytes, regardless of its name.
    pub(crate) fn detect(path: &Path) -> Result<Self> {
        let mut magic = Vec::new();
        File::open(path)
            .and_then(|file| file.take(4).read_to_end(&mut magic))
            .map_err(Error::internal)?;
        let number = <[u8; 4]>::try_from(magic.as_slice()).map(u32::from_le_bytes);
        Ok(match number {
            Ok(ZSTD_MAGIC) => Self::Zstd,
            Ok(number) if number & 0xFFFF_FFF0 == SKIPPABLE_MAGIC => Self::Zstd,
            _ if magic.starts_with(&GZIP_MAGIC) => Self::Gzip,
            _ => Self::None,
        })
    }

    /// Returns DuckDB's name for the compression.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// Opens the decompressed content as a stream. A read error of kind `FileTooLarge` means a decompression
    /// bomb; [`damage`](Self::damage) describes any error.
    pub(crate) fn open(self, path: &Path) -> io::Result<Box<dyn Read>> {
        self.open_counting(path, Arc::default())
    }

    /// Like [`open`](Self::open), and counts the members of a gzip file.
    fn open_counting(self, path: &Path, members: Arc<AtomicU64>) -> io::Result<Box<dyn Read>> {
        let compressed = Arc::new(AtomicU64::new(0));
        let file = Counted {
            file: File::open(path)?,
            bytes: Arc::clone(&compressed),
        };
        let plain = self.decode(file, members)?;
        if self == Self::None {
            return Ok(plain);
        }
        Ok(Box::new(Guarded {
            plain,
            compressed,
            bytes: 0,
        }))
    }

    fn decode(self, file: impl Read + 'static, members: Arc<AtomicU64>) -> io::Result<Box<dyn Read>> {
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(match self {
            Self::None => Box::new(file),
            Self::Gzip => Box::new(Members::new(file, members)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
        })
    }

    /// Reads a compressed file through; fails with 422 if it is damaged or a decompression bomb. Returns
    /// whether DuckDB reads it whole.
    pub(crate) fn check(self, path: &Path, table: &str) -> Result<bool> {
        if self == Self::None {
            return Ok(true);
        }
        let members = Arc::new(AtomicU64::new(0));
        self.open_counting(path, Arc::clone(&members))
            .and_then(|mut plain| io::copy(&mut plain, &mut io::sink()))
            .map_err(|error| Error::unprocessable(format!("Table '{table}': {}.", self.damage(&error))))?;
        let is_gzip = self == Self::Gzip;
        Ok(!is_gzip || members.load(Ordering::Relaxed) == 1 && has_simple_header(path)?)
    }

    /// Describes why a file could not be read to its end.
    pub(crate) fn damage(self, error: &io::Error) -> String {
        if error.kind() == io::ErrorKind::FileTooLarge {
            format!(
                "the {} file decompresses to more than {MAX_RATIO} times its size, or has very many parts",
                self.name()
            )
        } else {
            format!("the {} file is cut off or damaged", self.name())
        }
    }
}

/// Returns whether the header of a gzip file has at most a name: DuckDB refuses all other optional parts (RFC
/// 1952, 2.3.1).
fn has_simple_header(path: &Path) -> Result<bool> {
    const FLAGS: usize = 3;
    const HAS_NAME: u8 = 0b1000;
    let mut header = [0; FLAGS + 1];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut header))
        .map_err(Error::internal)?;
    Ok(header[FLAGS] & !HAS_NAME == 0)
}

/// Decodes the members of a gzip file one after another. Tools that write many members make each some
/// kilobytes large; empty members take time and have no data.
struct Members<R> {
    member: Option<GzDecoder<R>>,
    bytes: u64,
    members: Arc<AtomicU64>,
}

impl<R: BufRead> Members<R> {
    fn new(file: R, members: Arc<AtomicU64>) -> Self {
        members.store(1, Ordering::Relaxed);
        Self {
            member: Some(GzDecoder::new(file)),
            bytes: 0,
            members,
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                self.bytes += count as u64;
                return Ok(count);
            }
            let mut rest = self.member.take().map(GzDecoder::into_inner);
            let has_more = match &mut rest {
                Some(rest) => !rest.fill_buf()?.is_empty(),
                None => false,
            };
            if has_more {
                let members = self.members.fetch_add(1, Ordering::Relaxed) + 1;
                if members > FREE_MEMBERS + self.bytes / BYTES_A_MEMBER {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                self.member = rest.map(GzDecoder::new);
            }
        }
        Ok(0)
    }
}

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Decompressed bytes; fails when they exceed the allowed ratio.
struct Guarded {
    plain: Box<dyn Read>,
    compressed: Arc<AtomicU64>,
    bytes: u64,
}

impl Read for Guarded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.plain.read(buffer)?;
        self.bytes += count as u64;
        let expected = self.compressed.load(Ordering::Relaxed).saturating_mul(MAX_RATIO);
        if self.bytes > HARMLESS_BYTES.max(expected) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(count)
    }
}
