//! Tests `/api/v1/workflows`: runs, and what their code does.
#![cfg(test)]

mod act;
mod agents {
    mod conversations;
    mod faults;
    mod mcp;
    mod red_team;
}
mod chaos;
mod detail;
mod faults;
mod identity;
mod list;
mod operator;
mod pages;
mod processes;
mod signals;
mod updates;
