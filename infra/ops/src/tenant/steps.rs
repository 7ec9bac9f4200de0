//! Defines the steps after which tests let an erasure die.

use platform::config::{ConfigError, Environment, variables};

/// Number of the first step in `MILLRACE_CRASH_AT`; lower numbers are of data stores and of the archiver.
const FIRST_NUMBER: u64 = 201;

/// A step, named after what it has just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Removed keys, members, channels, subscriptions and waiting runs.
    WorkStopped,
    /// Removed the items of one table.
    TableEmptied,
    /// Removed one object.
    ObjectRemoved,
    /// Removed all items and objects outside of the logs.
    DataRemoved,
    /// Signed the erasure of one log.
    LogSigned,
    /// Wrote the audit record of the account.
    Recorded,
    /// Removed the audit records and the items of log files.
    LogItemsRemoved,
    /// Removed the files of the logs, and not yet their digests.
    LogFilesRemoved,
    /// Removed everything, and has not scrubbed the data directory.
    Erased,
}

impl Step {
    /// All steps in the order of their numbers, from 201.
    const ALL: [Self; 9] = [
        Self::WorkStopped,
        Self::TableEmptied,
        Self::ObjectRemoved,
        Self::DataRemoved,
        Self::LogSigned,
        Self::Recorded,
        Self::LogItemsRemoved,
        Self::LogFilesRemoved,
        Self::Erased,
    ];

    /// Reads the number of a step from `MILLRACE_CRASH_AT`.
    pub fn from_environment(environment: &Environment) -> Result<Option<Self>, ConfigError> {
        let number: u64 = environment.number(variables::CRASH_AT)?;
        let index = number
            .checked_sub(FIRST_NUMBER)
            .and_then(|index| usize::try_from(index).ok());
        Ok(index.and_then(|index| Self::ALL.get(index).copied()))
    }
}
