//! `ops audit key`: prints the public keys that verify the log, so that they can be kept apart from the log,
//! and replaces the key of a data directory.

use clap::Args;
use platform::{Clock, Result};

use super::archive;
use crate::output::Output;
use crate::signing_keys::SigningKeys;
use crate::target::{TargetArguments, refused};

#[derive(Args)]
pub struct KeyArguments {
    /// Replaces the key of the data directory by a new one, which then signs a digest of each log. The
    /// runner may be running.
    #[arg(long)]
    rotate: bool,
}

pub async fn run(arguments: &KeyArguments, target: &TargetArguments, output: Output) -> Result<()> {
    if arguments.rotate {
        let now = Clock::System.now();
        target.local_digest_key()?.rotate(now).map_err(refused)?;
        archive::sign_all(target).await?;
    }
    let key = target.digest_key().await?;
    let keys = SigningKeys::read(key.as_ref()).await?;
    output.print(&keys, keys.pem().trim_end())
}
