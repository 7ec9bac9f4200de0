//! `ops completion`: prints a shell's completion script for `millrace` and its subcommand `ops`, as `make
//! install` puts them on the path.

use clap::{Args, Command, CommandFactory as _};
use clap_complete::{Shell, generate};
use local::arguments::Arguments;
use platform::Result;

const PROGRAM: &str = "millrace";

/// Shell of the completion script.
#[derive(Args)]
pub struct CompletionArguments {
    /// Shell that reads the script.
    shell: Shell,
}

pub fn run(arguments: &CompletionArguments, ops: Command) -> Result<()> {
    let mut command = Arguments::command().subcommand(ops);
    generate(arguments.shell, &mut command, PROGRAM, &mut std::io::stdout());
    Ok(())
}
