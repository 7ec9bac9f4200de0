//! Runs inside a child process: fence, limits, frames, and the state that jobs share.

pub(crate) mod context;
pub(crate) mod fence;
pub(crate) mod frames;
pub mod limits;
pub(crate) mod settings;
