//! Tests workflow runs over the service's own records, with a clock that the test moves: where data is
//! stored, what is due when, and which limits a run has.
#![cfg(test)]

mod kept;
mod limits;
mod listing;
mod progress;
mod retention;
mod time;
mod world;
