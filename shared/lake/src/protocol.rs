//! What parent and child say to each other: frames over the child's standard input and output.
//!
//! A frame is two lengths (32 bits each, little-endian), a JSON header and a raw body. Frames without a header are the
//! first parts of the next one's body. Both sides are the same program, so the format needs no versions.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use platform::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::Format;
use crate::file_format::FileFormat;
use crate::jobs::{check_keys, check_rows, export, folder, rewrite};
use crate::manifest::ManifestColumn;
use crate::messages;
use crate::position::Position;
use crate::staging;

/// The largest header or body: far above what a job sends, and small enough to be allocated.
pub(crate) const MAX_FRAME_BYTES: u32 = 64 * 1024 * 1024;

/// What the parent asks for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// How long the job may take before the child interrupts it.
    pub(crate) deadline_ms: u64,
    pub(crate) job: Job,
}

/// One job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Nothing: the reply is what counts.
    Ping,
    /// Makes the tables of one version known by name and closes the fence around its files; once per child, before any of
    /// the following five.
    Bind {
        tables: Vec<String>,
        files: Vec<PathBuf>,
    },
    /// Checks a caller's statement and keeps it for the next job; the reply is a `PlanReply`. Without parameters it can
    /// only be validated.
    Plan {
        sql: String,
        params: Option<Map<String, Value>>,
    },
    /// Runs the planned statement, with the tables that it needs and that have to be defined; the reply is a `Written`,
    /// its body the answer.
    Query {
        tables: Vec<BoundTable>,
        rows: usize,
        bytes: usize,
        format: Format,
    },
    /// Lets DuckDB bind the planned statement, without running it; the tables that it needs come without files.
    Validate { tables: Vec<BoundTable> },
    /// Names the columns of the planned statement's result, without running it; the tables come without files. The reply is
    /// a list of [`crate::ResultColumn`].
    Describe { tables: Vec<BoundTable> },
    /// The first rows of a table as objects; the body of the reply is a JSON array.
    Sample {
        table: BoundTable,
        rows: usize,
        bytes: usize,
    },
    /// Turns a file into a segment: see the job of each format.
    Stage {
        format: FileFormat,
        input: staging::Input,
    },
    /// See [`check_keys`].
    CheckKeys(check_keys::Input),
    /// See [`check_rows`].
    CheckRows(check_rows::Input),
    /// See [`rewrite`].
    Rewrite(rewrite::Input),
    /// See [`export`].
    Export(export::Input),
    /// See [`folder`].
    Folder(folder::Input),
}

/// A table over its files.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BoundTable {
    pub(crate) name: String,
    pub(crate) columns: Vec<ManifestColumn>,
    pub(crate) files: Vec<PathBuf>,
    /// Its copy, where that is to be read instead; see [`crate::native`].
    pub(crate) native: Option<PathBuf>,
}

/// What a table is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tier {
    /// Its segments.
    Parquet,
    /// Its copy; see [`crate::native`].
    Native,
}

/// What the child answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Done; what there is to say stands in the value or in the body.
    Done(Value),
    /// Failed.
    Failed(Failure),
}

/// A [`platform::Error`] on its way between processes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    status: u16,
    pub(crate) message: String,
    details: Option<String>,
    pub(crate) cause: Option<String>,
    position: Option<Position>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            status: error.status(),
            message: error.message().to_owned(),
            details: error.details().map(str::to_owned),
            cause: std::error::Error::source(&error).map(|cause| {
                let cause = cause.to_string();
                match messages::kind(&cause).filter(|_| error.status() >= 500) {
                    Some(kind) => format!("{kind}, in words that quote data of the caller"),
                    None => cause,
                }
            }),
            position: Position::of(&error),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let kind = ErrorKind::ALL
            .into_iter()
            .find(|kind| kind.status() == failure.status);
        let mut error = Self::new(kind.unwrap_or(ErrorKind::Internal), failure.message);
        if let Some(details) = failure.details {
            error = error.with_details(details);
        }
        if let Some(position) = failure.position {
            error = error.with_source(position);
        } else if let Some(cause) = failure.cause {
            error = error.with_source(cause);
        }
        // What a child refuses it refuses for a statement or a row.
        match error.status() < 500 {
            true => error.quoting_data(),
            false => error,
        }
    }
}

/// The two lengths and the header of a frame.
pub(crate) fn frame_head(header: &impl Serialize, body: &[u8]) -> io::Result<Vec<u8>> {
    let header = serde_json::to_vec(header)?;
    let mut head = lengths(header.len(), body.len())?.to_vec();
    head.extend_from_slice(&header);
    Ok(head)
}

/// The lengths of header and body.
pub(crate) fn frame_lengths(bytes: [u8; 8]) -> io::Result<(usize, usize)> {
    let [a, b, c, d, e, f, g, h] = bytes;
    let (header, body) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    if header > MAX_FRAME_BYTES || body > MAX_FRAME_BYTES {
        return Err(io::Error::other("the frame is too large"));
    }
    Ok((
        usize::try_from(header).unwrap_or(0),
        usize::try_from(body).unwrap_or(0),
    ))
}

/// Reads a frame; an error also at the end of the input.
pub(crate) fn read_frame<T: for<'de> Deserialize<'de>>(input: &mut impl Read) -> io::Result<(T, Vec<u8>)> {
    let mut lengths = [0; 8];
    input.read_exact(&mut lengths)?;
    let (header_length, body_length) = frame_lengths(lengths)?;
    let mut header = vec![0; header_length];
    input.read_exact(&mut header)?;
    let mut body = vec![0; body_length];
    input.read_exact(&mut body)?;
    Ok((serde_json::from_slice(&header)?, body))
}

/// Writes a part of the body of the next frame.
pub(crate) fn write_part(output: &mut impl Write, part: &[u8]) -> io::Result<()> {
    output.write_all(&lengths(0, part.len())?)?;
    output.write_all(part)
}

fn lengths(header: usize, body: usize) -> io::Result<[u8; 8]> {
    let mut bytes = [0; 8];
    for (length, place) in [header, body].into_iter().zip(bytes.chunks_exact_mut(4)) {
        let length = u32::try_from(length)
            .ok()
            .filter(|length| *length <= MAX_FRAME_BYTES);
        let length = length.ok_or_else(|| io::Error::other("the frame is too large"))?;
        place.copy_from_slice(&length.to_le_bytes());
    }
    Ok(bytes)
}

/// Writes a frame and flushes it.
pub(crate) fn write_frame(output: &mut impl Write, header: &impl Serialize, body: &[u8]) -> io::Result<()> {
    output.write_all(&frame_head(header, body)?)?;
    output.write_all(body)?;
    output.flush()
}
