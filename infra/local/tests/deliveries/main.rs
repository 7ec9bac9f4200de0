//! Deliveries where time passes, messages are lost and processes die: over the service's own records, with a clock that the test moves.
#![cfg(test)]

mod business_ids;
mod circles;
mod gone;
mod listeners;
mod lost;
mod retention;
mod schedule;
mod shards;
mod targets;
mod units;
mod world;
mod years;
