//! Tests snapshots of the event log over the local records and objects, while archivers work.
#![cfg(test)]

mod reading;
mod world;
