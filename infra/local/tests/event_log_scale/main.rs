//! The event log from end to end: generated events, archived in repeated and reordered batches, aggregated as
//! Python does by reading each; a walk through the audit trail while records arrive; and what
//! `docs/event-log.md` shows.
//!
//! `EVENTS=1000000` makes as many events, and as many audit records as a tenth of them.
#![cfg(test)]

mod aggregates;
mod guide;
mod walk;
mod world;
