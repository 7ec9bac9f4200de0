//! Tests processes: scenarios, each task type, errors, limits and replays.
#![cfg(test)]

mod bodies;
mod calls;
mod conformance;
mod crashes;
mod errors;
mod events;
mod limits;
mod service;
mod supervised;
mod tasks;
mod world;
