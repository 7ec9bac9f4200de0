//! Points at which a pass may die, each between two writes that belong together.

use platform::config::{ConfigError, Environment};
use platform::{Error, Result};

/// The number of the first step in `MILLRACE_CRASH_AT`; those below are the steps of data stores.
const FIRST_NUMBER: u64 = 101;

/// A point, named after the write before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The files of a batch are written, and not committed.
    FilesWritten,
    /// They are committed, and their records still in the tail.
    FilesCommitted,
    /// Their records are settled, and the head says that they may not be.
    RecordsSettled,
    /// A merged file is written, and not committed.
    MergeWritten,
    /// The merged file counts, and the objects of those that it replaces are still there.
    MergeCommitted,
    /// The head holds the text of a digest, whose object is not written.
    DigestSigned,
    /// The object is written, and the head still holds the text.
    DigestWritten,
    /// The item of a replaced file is removed, and its object is there.
    ItemRemoved,
    /// All is done but for the time of the next pass.
    Collected,
}

impl Step {
    /// All of them, in the order of their numbers, from 101.
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

/// For tests: where and how a pass is to die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Crash {
    /// Outside of tests.
    #[default]
    Never,
    /// The process ends, as by a kill: no destructor runs, nothing is flushed.
    Process(Step),
    /// The pass ends with an error, and the process lives.
    Pass(Step),
}

impl Crash {
    /// At the step that `MILLRACE_CRASH_AT` names by its number; for the local runner alone.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let number: u64 = environment.number("MILLRACE_CRASH_AT", 0)?;
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
