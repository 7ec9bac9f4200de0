//! Records in a SQLite file, as their callers see them.

#![cfg(test)]

mod concurrency;
mod conditions;
mod expiry;
mod files;
mod model;
mod pages;
mod snapshots;
mod support;
