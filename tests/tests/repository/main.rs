//! Tests the repository itself: its documents, and rules about its code.
#![cfg(test)]

mod costs;
mod documents;
mod lambda_emulator;
mod layering;
mod patterns;
mod tour;
