//! Tests the programs: the local runner, the operator command and the functions under Lambda.
#![cfg(test)]

mod backup {
    mod copies;
    mod refusals;
}
#[cfg(target_os = "linux")]
mod disk_full;
mod formats;
mod lambda_freeze;
/// Commands of the guide and the runbook, against a stack in an emulator: `make test-operations`.
mod operations {
    mod restore;
    mod rotation;
    mod stack;
}
mod operator {
    mod command;
    mod model;
    mod processes;
}
#[cfg(unix)]
mod read_only;
mod retention;
mod runner;
/// `millrace serve`.
#[cfg(unix)]
mod serve {
    mod acme;
    mod metrics;
    mod restart;
    mod start;
    mod tls;
}
mod shards;
