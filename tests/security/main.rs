//! Tests attacks: each module has one class of attacks, a table of inputs that one check runs over.
//!
//! Each row was once tried against a running service. The rows that succeeded then must not succeed again,
//! and the others must keep failing. `docs/security.md` states what is promised.
#![cfg(test)]

mod addresses;
mod bodies;
mod bombs;
mod call_paths;
mod children;
mod conditions;
mod console;
mod erasure;
mod filters;
mod hosts;
mod imports;
mod ingest;
mod isolation;
mod local_ports;
mod log_tampering;
mod logs;
mod neighbours;
mod own_servers;
mod pages;
mod patterns;
mod permits;
mod private_runs;
mod roles;
mod secrets;
mod sockets;
mod sql;
mod streams;
mod templates;
mod tokens;
