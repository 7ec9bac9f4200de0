//! Deliveries where time passes, messages are lost and processes die: over the service's own records, with a clock that the test moves.
#![cfg(test)]

mod circles;
mod lost;
mod schedule;
mod world;
