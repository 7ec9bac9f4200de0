//! The local runner: the whole service in one process, for a laptop.
//!
//! Every function's routes are merged into one server. Records are a twin of DynamoDB over a data directory, asked
//! through the AWS SDK as in the cloud; objects are files in it; queues and the bus are twins in memory.

pub mod arguments;
pub mod bus;
pub mod data_dir;
pub mod event_log;
pub mod events;
pub mod gateway;
mod guard;
pub mod hosts;
pub mod issuer;
mod object_links;
pub mod objects;
pub mod queue;
pub mod queue_server;
mod record_server;
mod reference;
pub mod runner;
mod runs;
pub mod sealer;
pub mod server;
pub mod services;
pub mod signing_key;
mod stalling;
