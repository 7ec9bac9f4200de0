//! `millrace completion`: prints a shell's completion script.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

/// Shell of the completion script.
#[derive(Args)]
pub struct Arguments {
    /// Shell that reads the script.
    shell: Shell,
}

pub fn print<P: CommandFactory>(arguments: &Arguments) -> ExitCode {
    generate(
        arguments.shell,
        &mut P::command(),
        "millrace",
        &mut std::io::stdout(),
    );
    ExitCode::SUCCESS
}
