//! Defines an object of a log as it was listed.

use std::path::PathBuf;

use platform::UtcTime;

/// Where the bytes of an object are.
#[derive(Clone, Debug)]
pub(super) enum Place {
    File(PathBuf),
    /// Neither a file nor a folder: a link, whose target may be anywhere, or a pipe.
    NoFile(PathBuf),
    Key(String),
}

impl Place {
    /// Returns the path or key for a finding.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::File(path) | Self::NoFile(path) => path.display().to_string(),
            Self::Key(key) => key.clone(),
        }
    }
}

/// An object of a log.
pub(super) struct Listed {
    /// Parts of the key, as far as they are known: below `log/` where `is_whole`.
    pub parts: Vec<String>,
    pub is_whole: bool,
    pub place: Place,
    pub bytes: u64,
    pub modified: UtcTime,
}
