//! Provides the harness of the black-box suite: a running service, tokens of several personas, a small
//! client, redaction.
//!
//! A test starts its own service, on a free port and a temporary data directory, and gets an account and a
//! project that no other test uses:
//!
//! ```no_run
//! # async fn example() {
//! use tests::{Persona, Service};
//!
//! let service = Service::start().await;
//! let token = service.scope().token(Persona::Developer);
//! let prompts = service.get(&token, "/prompts").await.expect_status(200);
//! # }
//! ```
//!
//! Where `BASE_URL` names a service that runs elsewhere, such as `https://host/stage/api/v1`, the tests use
//! that service: it accepts tokens of the keys in `KEYS_DIR`, knows the sample workflow types and sends
//! webhooks to this machine, as the emulator of `make test-lambda` does.
//!
//! A test that lacks what it needs fails and says what that is. Its name ends with what not everyone has, so
//! that `-- --skip` leaves it out by name: `_locally` (the local runner, by [`Service::start_local`]),
//! `_in_chromium`, `_behind_nginx`, `_by_pebble`, `_by_buildah`, `_as_root`. `tests/run` puts those that this
//! machine lacks into `SKIP`.
//!
//! | variable | meaning |
//! |---|---|
//! | `MILLRACE_BIN` | the program to test. Default: the programs that `cargo build --workspace --bins` built |
//! | `MILLRACE_FAULTS` | a seed: each test starts the runner of `infra/faults`, and its client retries after a 503 |
//! | `CHAOS_SEED` | the seed of the tests that request faults themselves |
//! | `FAULTS` | how often each fault happens, as `throttled=2,objects.failed=1` |
//! | `TOOLS_PYTHON` | a Python with third-party libraries that verify signatures |
//! | `DIST_TOOLS` | the folder of the programs that build and check what is shipped |
//! | `PEERS_PYTHON`, `PEERS_NODE` | third-party programs: generators of clients, a linter, a fuzzer |
//! | `BASE_URL` | a running service to test instead |
//! | `KEYS_DIR` | with `BASE_URL`: the folder in which `millrace ops --data-dir` finds the keys of its tokens |
//! | `MILLRACE_RECORDS_TABLE`, … | with `BASE_URL`: the deployed stage, in the variables of `millrace ops --deployed` |
//! | `INGEST_URL` | with `BASE_URL`: the base of `/webhooks/events/…`; default: `/ingest` beside the API root |
//! | `WITHOUT_STREAMING` | with `BASE_URL`: the service is an emulator that cannot stream answers |

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a harness reports by panicking, as a test does"
)]

pub mod agents;
pub mod aggregates;
mod answer;
pub mod browser;
mod client;
pub mod collector;
pub mod dashboards;
mod documented;
mod environment;
pub mod events;
pub mod examples;
pub mod faults;
pub mod file_server;
pub mod guide;
pub mod hostile;
pub mod judged;
pub mod lambda;
pub mod model;
pub mod nginx;
mod operator;
mod process;
mod program;
pub mod receiver;
mod redaction;
pub mod runs;
pub mod samples;
mod scope;
pub mod server;
mod service;
pub mod sse;
pub mod stand_in;
pub mod stores;
pub mod tls;
pub mod tour;
pub mod tpch;
mod trail;

pub use answer::Answer;
pub use client::{Client, Request};
pub use collector::Collector;
pub use dashboards::Dashboard;
pub use environment::variable;
pub use events::Events;
pub use file_server::FileServer;
pub use operator::Operator;
pub use process::{Process, memory_kb};
pub use program::{Finished, OPS, binary, dist_tool, peers_node, peers_python, run, tools_python};
pub use receiver::Receiver;
pub use redaction::redacted;
pub use reqwest::Method;
pub use runs::{Run, Runs};
pub use scope::{Persona, Scope};
pub use server::Server;
pub use service::Service;
pub use sse::Listener;
pub use stores::Store;
pub use trail::Trail;

/// Returns a text that no other test uses, starting with `prefix`.
pub fn unique(prefix: &str) -> String {
    format!("{prefix}-{:016x}", rand::random::<u64>())
}
