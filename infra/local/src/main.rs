//! `millrace`: the local runner's command.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use local::arguments::Arguments;
use local::layers::Bare;
use local::program;
use mimalloc::MiMalloc;

/// Threads of the HTTP server and of the AWS SDK contend for a lock in the C library's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    program::run_if_child();
    program::run(Arguments::parse(), Arc::new(Bare))
}
