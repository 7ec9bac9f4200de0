//! What an attacker tries: one module a class of attacks, each a table of inputs that one check runs over.
//!
//! Each row was tried against a running service once. Those that got through then are here because they must
//! not again, and those that held are here so that they keep holding. `docs/security.md` says what is
//! promised.
#![cfg(test)]

mod addresses;
mod bodies;
mod bombs;
mod conditions;
mod filters;
mod hosts;
mod imports;
mod ingest;
mod isolation;
mod local_ports;
mod logs;
mod neighbours;
mod pages;
mod permits;
mod sockets;
mod sql;
mod templates;
mod tokens;
