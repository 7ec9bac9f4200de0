//! Points at which a process may die, each between two writes that belong together.
//!
//! Nothing that is half done is ever visible: what is written before the head names it is unreachable until then, and is
//! collected if it stays so. Tests prove that by ending the process at each of these points.

use platform::config::{ConfigError, Environment};

use super::DataStores;

/// A point, named after what was just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An import wrote a segment.
    SegmentWritten,
    /// A commit wrote the manifest of the next version.
    ManifestWritten,
    /// A commit moved the head to the next version, and nobody was told.
    HeadMoved,
    /// A compaction wrote its segments.
    CompactedSegmentsWritten,
    /// A collection removed the record of an old version.
    VersionRemoved,
    /// A collection wrote the list of what it found unreachable.
    GarbageListed,
    /// A collection removed an object.
    ObjectRemoved,
    /// An import in the background was written with its job, and no message was sent.
    ImportEnqueued,
    /// An importer took a job, and has done nothing of it.
    ImportBegun,
}

impl Step {
    /// All of them, in the order of the numbers that they go by, from 1.
    pub const ALL: [Self; 9] = [
        Self::SegmentWritten,
        Self::ManifestWritten,
        Self::HeadMoved,
        Self::CompactedSegmentsWritten,
        Self::VersionRemoved,
        Self::GarbageListed,
        Self::ObjectRemoved,
        Self::ImportEnqueued,
        Self::ImportBegun,
    ];

    /// The step that `MILLRACE_CRASH_AT` names by its number; for the local runner and the operator command alone.
    pub fn from_environment(environment: &Environment) -> Result<Option<Self>, ConfigError> {
        let number: u64 = environment.number("MILLRACE_CRASH_AT", 0)?;
        let index = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        Ok(index.and_then(|index| Self::ALL.get(index).copied()))
    }
}

impl DataStores {
    /// Ends the process, as a kill would, where a test asked for it: no destructor runs, nothing is flushed.
    pub(super) fn reached(&self, step: Step) {
        if self.inner.crash_at == Some(step) {
            std::process::abort();
        }
    }
}
