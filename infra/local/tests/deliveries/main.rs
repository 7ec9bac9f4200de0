//! Tests deliveries while time passes, messages are lost and processes crash: over the service's own records,
//! with a clock that the test moves.
#![cfg(test)]

mod business_ids;
mod circles;
mod gone;
mod listeners;
mod lost;
mod pacing;
mod redrive;
mod reports;
mod retention;
mod schedule;
mod shards;
mod shared_runs;
mod targets;
mod units;
mod world;
mod years;
