//! Tests the programs: the local runner, the operator command and the functions under Lambda.
#![cfg(test)]

mod backup {
    mod copies;
    mod refusals;
}
#[cfg(unix)]
mod commands;
#[cfg(target_os = "linux")]
mod disk_full;
mod lambda_freeze;
mod operator {
    mod command;
    mod model;
    mod processes;
}
#[cfg(unix)]
mod read_only;
mod retention;
mod runner;
mod shards;
