//! The local runner: the whole service in one process, for a laptop.
//!
//! Every function's routes are merged into one server. Records and objects are twins of DynamoDB and S3 over a data
//! directory, asked through the AWS SDK as in the cloud; queues and the bus are twins in memory.

pub mod arguments;
pub mod bus;
pub mod data_dir;
pub mod event_log;
pub mod events;
pub mod gateway;
mod guard;
pub mod hosts;
pub mod issuer;
mod object_files;
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
