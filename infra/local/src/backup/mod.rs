//! Backups of a data directory: one file, a tar archive compressed by zstd.
//!
//! | in the archive, in this order | what |
//! |---|---|
//! | `millrace-backup.json` | what the file is, and which version made it |
//! | `format.json` | the format of the data directory |
//! | `records.sqlite` | one state of the records |
//! | `keys/…` | the keys |
//! | `objects/<bucket>/…` | every object that this state names, and maybe some that nothing names |
//! | `SHA256SUMS` | the sum of each file before it; an archive without it is not whole |
//!
//! **Why it is consistent.** A backup is what a kill of the runner at one moment would leave, which any start
//! takes up, and perhaps objects that no record names. A record names an object after the object is durable,
//! and an object is removed after a commit that takes its name away or hides the record from readers. So
//! while no commit is possible, all that readers need is there: [`take()`] fixes the state of the records and
//! links the objects in one such pause. It has linked most of them before, so that the pause is the time of a
//! listing. From then on the links keep the bytes, whatever is removed. An object whose key is written again
//! gets another file; the link is to the one of the pause. Keys are made once and never changed, and are read
//! after the state that needs them.

mod archive;
mod names;
mod restore;
mod sums;
mod take;
mod unpack;

use serde::{Deserialize, Serialize};

pub use restore::restore;
pub use take::take;

/// What is in a backup.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Contents {
    /// Objects.
    pub objects: u64,
    /// Bytes of all files, before compression.
    pub bytes: u64,
}

/// The first file of an archive.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Of the archive.
    backup_format: u32,
    /// Of the data directory in it.
    data_format: u32,
    /// Version of the program that made it.
    version: String,
    made_at: String,
}

/// The format of archives that this version writes and reads.
const BACKUP_FORMAT: u32 = 1;
const VERSION: &str = env!("CARGO_PKG_VERSION");
