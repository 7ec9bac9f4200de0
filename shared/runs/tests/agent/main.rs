//! Tests `AgentConversation` in memory, with scripted model answers.

#![cfg(test)]

mod ends;
mod limits;
mod mcp;
mod talking;
mod tools;
mod world;
