//! `millrace`: the local runner's command.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use local::arguments::Arguments;
use local::layers::Bare;
use local::program;
use mimalloc::MiMalloc;

/// The C library's allocator takes a lock that the threads of the HTTP server and of the AWS SDK wait for.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    program::run_if_child();
    program::run(Arguments::parse(), Arc::new(Bare))
}
