//! Implements rules of the DSL for code that runs a process, as pure functions of a definition and data.

pub mod error;
pub mod event;
mod next;
mod retry;
mod transform;
pub mod uri;

pub use error::{Kind, ProcessError, catches};
pub use event::matches;
pub use next::{Next, first, next};
pub use retry::{delay, duration};
pub use transform::{Stage, stages};
pub use uri::{expand, expand_path, has_dot_segment};
