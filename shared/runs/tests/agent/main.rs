//! `AgentConversation`, run in memory with a model that says what the test tells it to.

#![cfg(test)]

mod ends;
mod limits;
mod mcp;
mod talking;
mod tools;
mod world;
