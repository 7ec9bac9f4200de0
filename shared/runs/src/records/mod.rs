//! Stores the secrets of processes and of MCP servers.

pub mod process_secrets;
