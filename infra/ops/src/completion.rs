//! `ops completion`: the completion script of a shell, for `millrace` and its subcommand `ops` as `make install` puts them on
//! the path.

use clap::{Args, Command, CommandFactory as _};
use clap_complete::{Shell, generate};
use local::arguments::Arguments;
use platform::Result;

/// Name of the installed program.
const PROGRAM: &str = "millrace";

/// For which shell.
#[derive(Args)]
pub struct CompletionArguments {
    /// Shell that reads the script.
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &CompletionArguments, ops: Command) -> Result<()> {
    let mut command = Arguments::command().subcommand(ops);
    generate(arguments.shell, &mut command, PROGRAM, &mut std::io::stdout());
    Ok(())
}
