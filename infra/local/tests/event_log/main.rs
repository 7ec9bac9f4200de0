//! The event log over the twins of the record and object services: snapshots while archivers work.
#![cfg(test)]

mod reading;
mod world;
