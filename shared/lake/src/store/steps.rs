//! Names the points between two related writes at which a process may die.
//!
//! No half-done change is ever visible: an object written before the head names it is unreachable until then,
//! and is collected if it stays so. Tests prove this by ending the process at each point.

use platform::config::{ConfigError, Environment, variables};

/// A point, named after the step that was just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An import uploaded a segment.
    SegmentWritten,
    /// A commit uploaded the manifest of the next version.
    ManifestWritten,
    /// A commit moved the head to the next version, and the caller has no response yet.
    HeadMoved,
    /// A compaction uploaded its segments.
    CompactedSegmentsWritten,
    /// A collection removed the record of an old version.
    VersionRemoved,
    /// A collection wrote its list of unreachable objects.
    GarbageListed,
    /// A collection removed an object.
    ObjectRemoved,
    /// A background import and its job were written, and no hint was sent.
    ImportEnqueued,
    /// An importer took a job, and has not started its work.
    ImportBegun,
}

impl Step {
    /// All steps, in the order of their numbers, which start at 1.
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

    /// Reads the number of a step from `MILLRACE_CRASH_AT`; only for the local runner and the operator
    /// command.
    pub fn from_environment(environment: &Environment) -> Result<Option<Self>, ConfigError> {
        let number: u64 = environment.number(variables::CRASH_AT)?;
        let index = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        Ok(index.and_then(|index| Self::ALL.get(index).copied()))
    }
}
