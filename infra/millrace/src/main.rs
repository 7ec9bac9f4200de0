//! `millrace`: the whole service in one process, for a laptop or a server, and the operator's command.

mod completion;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use local::arguments::{Arguments, Mode};
use local::layers::Bare;
use local::program;
use mimalloc::MiMalloc;

/// Threads of the HTTP server and of the AWS SDK contend for a lock in the C library's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Durable workflow runs, prompt templates, data stores, events and webhooks, in one process.
///
/// Without a command, it starts the service for development, as `millrace serve --dev`.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Program {
    #[command(flatten)]
    arguments: Arguments,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Starts the service for users: an identity provider signs their tokens.
    Serve {
        #[command(flatten)]
        arguments: Arguments,
        /// Starts it for development: it issues tokens itself, and webhooks and imports may reach this
        /// machine.
        #[arg(long)]
        dev: bool,
    },
    /// Operates the service: tokens, API keys, publishing, runs, checks, backups.
    Ops(ops::Arguments),
    /// Prints the completion script of a shell.
    Completion(completion::Arguments),
}

fn main() -> ExitCode {
    program::run_if_child();
    let program = Program::parse();
    match program.command {
        None => program::run(program.arguments, Mode::Development, Arc::new(Bare)),
        Some(Command::Serve { arguments, dev }) => {
            let mode = if dev { Mode::Development } else { Mode::Production };
            program::run(arguments, mode, Arc::new(Bare))
        }
        Some(Command::Ops(arguments)) => ops::run(arguments),
        Some(Command::Completion(arguments)) => completion::print::<Program>(&arguments),
    }
}
