//! Tests records in a SQLite file, from the view of callers.

#![cfg(test)]

mod concurrency;
mod conditions;
mod expiry;
mod files;
mod model;
mod pages;
mod snapshots;
mod support;
