//! Defines what comes of tasks.

use std::future::Future;
use std::pin::Pin;

use process::Data;
use process::definition::Then;

use super::fault::Fault;

pub(super) enum Done {
    Output(Data),
    /// A task ended the process with this output.
    End(Data),
}

pub(super) struct Outcome {
    pub output: Data,
    /// Next task, where the task itself decides that.
    pub then: Option<Then>,
    /// Whether a task inside it ended the process.
    pub ends: bool,
}

impl From<Data> for Outcome {
    fn from(output: Data) -> Self {
        Self {
            output,
            then: None,
            ends: false,
        }
    }
}

impl From<Done> for Outcome {
    fn from(done: Done) -> Self {
        let (output, ends) = match done {
            Done::Output(output) => (output, false),
            Done::End(output) => (output, true),
        };
        Self {
            output,
            then: None,
            ends,
        }
    }
}

pub(super) type Worked = Result<Outcome, Fault>;

/// Boxed, because tasks nest.
pub(super) type Running<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + 'a>>;
