//! Compressed input: which compression it is, and that it is whole.
//!
//! DuckDB reads a gzip or zstd file that was cut off as if it ended there, and does not compare gzip's checksum: rows of an
//! import would be missing without any error. So the file is checked first.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use platform::{Error, Result};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: u32 = 0xFD2F_B528;
/// The first of the sixteen magic numbers of frames that hold no data.
const SKIPPABLE_MAGIC: u32 = 0x184D_2A50;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// Looks at the first bytes of the file, whatever its name is.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let mut magic = Vec::new();
        File::open(path)
            .and_then(|file| file.take(4).read_to_end(&mut magic))
            .map_err(Error::internal)?;
        Ok(if magic.starts_with(&GZIP_MAGIC) {
            Self::Gzip
        } else if magic == ZSTD_MAGIC.to_le_bytes() {
            Self::Zstd
        } else {
            Self::None
        })
    }

    /// The name that DuckDB gives it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// Whether the file at `path` is whole.
    pub(crate) fn is_whole(self, path: &Path) -> Result<bool> {
        let mut input = BufReader::with_capacity(256 * 1024, File::open(path).map_err(Error::internal)?);
        let checked = match self {
            Self::None => Ok(()),
            // Decompresses everything, once more than needed, because the checksum stands at the end.
            Self::Gzip => io::copy(&mut MultiGzDecoder::new(input), &mut io::sink()).map(drop),
            Self::Zstd => walk_zstd(&mut input),
        };
        Ok(checked.is_ok())
    }
}

/// Walks a zstd file from block to block, without decompressing: an error if it ends within a frame.
fn walk_zstd(input: &mut BufReader<File>) -> io::Result<()> {
    let length = input.get_ref().metadata()?.len();
    while input.stream_position()? < length {
        let magic = u32::from_le_bytes(read(input)?);
        if magic & 0xFFFF_FFF0 == SKIPPABLE_MAGIC {
            let size = u32::from_le_bytes(read(input)?);
            skip(input, u64::from(size), length)?;
        } else if magic == ZSTD_MAGIC {
            walk_zstd_frame(input, length)?;
        } else {
            return Err(io::Error::other("no frame of zstd"));
        }
    }
    Ok(())
}

fn walk_zstd_frame(input: &mut BufReader<File>, length: u64) -> io::Result<()> {
    let [descriptor] = read(input)?;
    let is_single_segment = descriptor & 0b10_0000 != 0;
    let has_checksum = descriptor & 0b100 != 0;
    let window = u64::from(!is_single_segment);
    let dictionary = match descriptor & 0b11 {
        3 => 4,
        bytes => u64::from(bytes),
    };
    let content_size = match descriptor >> 6 {
        0 => u64::from(is_single_segment),
        flag => 1 << flag,
    };
    skip(input, window + dictionary + content_size, length)?;
    loop {
        let [a, b, c] = read(input)?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let (is_last, kind, size) = (header & 1 == 1, (header >> 1) & 0b11, header >> 3);
        match kind {
            0 | 2 => skip(input, u64::from(size), length)?,
            // One byte that is repeated.
            1 => skip(input, 1, length)?,
            _ => return Err(io::Error::other("no block of zstd")),
        }
        if is_last {
            return skip(input, if has_checksum { 4 } else { 0 }, length);
        }
    }
}

fn read<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn skip(input: &mut BufReader<File>, bytes: u64, length: u64) -> io::Result<()> {
    if input.stream_position()? + bytes > length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    input.seek_relative(i64::try_from(bytes).map_err(io::Error::other)?)
}
