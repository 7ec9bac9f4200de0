//! Defines the steps at which tests let a pass crash, each between two writes that belong together.

use platform::config::{ConfigError, Environment, variables};
use platform::{Error, Result};

/// Number of the first step in `MILLRACE_CRASH_AT`; lower numbers are the steps of data stores.
const FIRST_NUMBER: u64 = 101;

/// A step, named after the write before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The files of a batch are written but not committed.
    FilesWritten,
    /// The files are committed, and their records are still in the tail.
    FilesCommitted,
    /// The records are settled, and the head still names their files as unsettled.
    RecordsSettled,
    /// A merged file is written but not committed.
    MergeWritten,
    /// The merged file is committed, and the objects of the replaced files still exist.
    MergeCommitted,
    /// The head holds the text of a digest whose object is not written.
    DigestSigned,
    /// The object is written, and the head still holds the text.
    DigestWritten,
    /// The item of a replaced file is removed, and its object still exists.
    ItemRemoved,
    /// Everything is done except setting the time of the next pass.
    Collected,
}

impl Step {
    /// All steps in the order of their numbers, from 101.
    pub const ALL: [Self; 9] = [
        Self::FilesWritten,
        Self::FilesCommitted,
        Self::RecordsSettled,
        Self::MergeWritten,
        Self::MergeCommitted,
        Self::DigestSigned,
        Self::DigestWritten,
        Self::ItemRemoved,
        Self::Collected,
    ];
}

/// For tests: where and how a pass crashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Crash {
    /// Outside tests.
    #[default]
    Never,
    /// The process ends as if killed: no destructor runs, and nothing is flushed.
    Process(Step),
    /// The pass ends with an error, and the process continues.
    Pass(Step),
}

impl Crash {
    /// Reads the step number from `MILLRACE_CRASH_AT`; for the local runner only.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let number: u64 = environment.number(variables::CRASH_AT)?;
        let index = number
            .checked_sub(FIRST_NUMBER)
            .and_then(|index| usize::try_from(index).ok());
        let step = index.and_then(|index| Step::ALL.get(index).copied());
        Ok(step.map_or(Self::Never, Self::Process))
    }

    pub(super) fn reached(self, step: Step) -> Result<()> {
        match self {
            Self::Process(at) if at == step => std::process::abort(),
            Self::Pass(at) if at == step => Err(Error::internal(format!("the pass ends at {step:?}"))),
            _ => Ok(()),
        }
    }
}
