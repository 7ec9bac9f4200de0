//! Defines the arguments of the local runner.

use std::path::PathBuf;

use clap::Parser;

/// Default data directory.
pub const DEFAULT_DATA_DIR: &str = ".millrace";

/// Runs the whole of Millrace on this machine.
#[derive(Parser)]
#[command(
    name = "millrace",
    version,
    after_help = "The operator command is `millrace ops` where `make install` put it, and `make ops ARGS=…` in a checkout."
)]
pub struct Arguments {
    /// Port to listen on, on 127.0.0.1; 0 selects a free one.
    #[arg(long, env = "PORT", default_value_t = 3000)]
    pub port: u16,
    /// Folder for all data.
    #[arg(long, env = "DATA_DIR", default_value = DEFAULT_DATA_DIR)]
    pub data_dir: PathBuf,
    /// Takes over from a runner that has the folder open, which is away for a moment.
    #[arg(long)]
    pub replace: bool,
    /// Prints the commands of an installation instead of those of a checkout.
    #[arg(long, hide = true)]
    pub installed: bool,
}
