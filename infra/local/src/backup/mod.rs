//! Backs up a data directory to one file, a tar archive compressed with zstd.
//!
//! | in the archive, in this order | content |
//! |---|---|
//! | `millrace-backup.json` | the kind of the file, and the version that made it |
//! | `format.json` | the format of the data directory |
//! | `records.sqlite` | one state of the records |
//! | `keys/…` | the keys |
//! | `objects/<bucket>/…` | every object that this state names, and maybe some that no record names |
//! | `SHA256SUMS` | the sum of each file before it; an archive without it is incomplete |
//!
//! **Why it is consistent.** A backup equals the state that a kill of the runner at one moment would leave,
//!  from which any start recovers, plus perhaps objects that no record names. A record names an object only
//!  after the object is durable, and an object is removed only after a commit that removes its name or hides
//!  the record from readers. So while no commit is possible, everything that readers need exists: [`take()`]
//!  fixes the state of the records and links the objects in one such pause. Most objects are linked before
//!  the pause, so the pause takes only the time of a listing. Afterwards the links keep the bytes, whatever
//!  is removed. An object whose key is written again gets another file; the link leads to the file of the
//!  pause. Keys are made once and never changed, and are read after the state that needs them.

mod archive;
mod format;
mod names;
mod restore;
mod sums;
mod take;
mod unpack;

pub use format::Contents;
pub use restore::restore;
pub use take::take;
