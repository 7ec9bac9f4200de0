//! Tests workflow runs over the service's own records, with a clock that the test moves: where data is
//! stored, what is due when, and which limits a run has.
#![cfg(test)]

mod going_on;
mod kept;
mod limits;
mod retention;
mod time;
mod world;
