//! Tests the event log from end to end: archives generated events in repeated and reordered batches, compares
//! aggregates with Python's over the raw events, walks through the audit trail while records arrive, and runs
//! the SQL of `docs/event-log.md`.
//!
//! `EVENTS=1000000` sets the number of events; the audit records are a tenth of that.
#![cfg(test)]

mod aggregates;
mod guide;
mod walk;
mod world;
