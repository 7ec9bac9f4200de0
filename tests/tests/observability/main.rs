//! Tests what an operator sees: traces and logs by OTLP, and metrics.
#![cfg(test)]

mod collectors;
mod functions;
mod secrets;
mod traces;
