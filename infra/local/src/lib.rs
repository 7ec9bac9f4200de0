//! Runs the whole service in one process, for a laptop or a server: the local runner.
//!
//! One server merges the routes of every function. Records are in SQLite and objects in files, both in a data
//! directory; queues and the bus are in memory.

pub mod arguments;
pub mod backup;
pub mod bus;
mod cloud;
mod console;
pub mod data_dir;
pub mod gateway;
mod greeting;
mod guard;
mod health;
pub mod hosts;
pub mod issuer;
pub mod layers;
mod object_links;
pub mod objects;
pub mod program;
mod proxies;
pub mod queue;
pub mod queue_server;
pub mod queues;
mod reference;
mod resuming;
pub mod runner;
pub mod sealer;
mod secrets;
pub mod server;
pub mod services;
mod settings;
pub mod signing_key;
mod stalling;
mod takeover;
mod tls;
mod upkeep;
