//! Workflow runs over the records that the service keeps them in, with a clock that the test moves: what is kept where, what
//! happens by its time, and what is more than a run may ask for.
#![cfg(test)]

mod going_on;
mod kept;
mod limits;
mod retention;
mod time;
mod world;
