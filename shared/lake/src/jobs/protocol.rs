//! Defines the requests and replies between the engine and a child process.
//!
//! Both sides are the same program, so the format has no versions.

use std::path::PathBuf;

use platform::error::Place;
use platform::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::import::file_format::FileFormat;
use crate::import::staging;
use crate::jobs::{check_keys, check_rows, export, folder, rewrite};
use crate::query::answer::Format;
use crate::statement::messages;
use crate::tables::bound::BoundTable;
use crate::tables::native::TieredTable;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Time limit after which the child interrupts the job.
    pub(crate) deadline_ms: u64,
    pub(crate) job: Job,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Does nothing; the reply shows that the child is alive.
    Ping,
    /// Sets the tables of one version and closes the fence around its files. Sent once per child, before any
    /// of the next five jobs.
    Bind {
        tables: Vec<String>,
        files: Vec<PathBuf>,
    },
    /// Checks a caller's statement and keeps it for the next job; the reply is a `PlanReply`. A statement
    /// without parameter values can only be validated or described.
    Plan {
        sql: String,
        params: Option<Map<String, Value>>,
    },
    /// Runs the planned statement. `tables` are the tables that it needs and whose views must be made; the
    /// reply is an `AnswerSize`, its body the answer.
    Query {
        tables: Vec<TieredTable>,
        rows: usize,
        bytes: usize,
        format: Format,
    },
    /// Lets DuckDB bind the planned statement without running it; the tables that it needs come without
    /// files.
    Validate { tables: Vec<BoundTable> },
    /// Describes the columns of the planned statement's result without running it; the tables come without
    /// files. The reply is a list of [`crate::ResultColumn`].
    Describe { tables: Vec<BoundTable> },
    /// Reads the first rows of a table as objects; the body of the reply is a JSON array.
    Sample {
        table: BoundTable,
        rows: usize,
        bytes: usize,
    },
    /// Converts a file to a segment, with the job of its format.
    Stage {
        format: FileFormat,
        input: staging::StageInput,
    },
    /// See [`check_keys`].
    CheckKeys(check_keys::KeyCheckInput),
    /// See [`check_rows`].
    CheckRows(check_rows::RowCheckInput),
    /// See [`rewrite`].
    Rewrite(rewrite::RewriteInput),
    /// See [`export`].
    Export(export::ExportInput),
    /// See [`folder`].
    Folder(folder::FolderInput),
}

/// What a job results in: the value of its reply, and the body. In the child, only the part of the body that
/// was not sent yet.
pub(crate) struct JobOutput {
    pub(crate) value: Value,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Success, with the reply's value; large results are in the body.
    Done(Value),
    Failed(Failure),
}

/// A [`platform::Error`] as it is sent between processes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    status: u16,
    pub(crate) message: String,
    details: Option<String>,
    pub(crate) cause: Option<String>,
    place: Option<Place>,
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
            place: error.place(),
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
        error = error.at(failure.place);
        if let Some(cause) = failure.cause {
            error = error.with_source(cause);
        }
        // A child's refusal concerns a statement or a row, so its message may quote data.
        match error.status() < 500 {
            true => error.quoting_data(),
            false => error,
        }
    }
}
