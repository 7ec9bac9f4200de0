//! `ops service-key`: prints the keys of service tokens by their fingerprints, and replaces the key of a data
//! directory.

use clap::Args;
use platform::{Clock, Result};

use crate::output::Output;
use crate::signing_keys::SigningKeys;
use crate::target::{TargetArguments, refused};

#[derive(Args)]
pub struct ServiceKeyArguments {
    /// Replaces the key of the data directory by a new one. Tokens of the old one hold until they expire. The
    /// runner may be running.
    #[arg(long)]
    rotate: bool,
}

pub async fn run(arguments: &ServiceKeyArguments, target: &TargetArguments, output: Output) -> Result<()> {
    if arguments.rotate {
        let now = Clock::System.now();
        target.local_service_key()?.rotate(now).map_err(refused)?;
    }
    let key = target.service_key().await?;
    let keys = SigningKeys::read(key.as_ref()).await?;
    let mut lines = Vec::new();
    for (number, key) in keys.keys.iter().enumerate() {
        lines.push(match (number, key.replaced_at) {
            (0, _) => format!("{}  signs and verifies", key.fingerprint),
            (_, None) => format!("{}  verifies", key.fingerprint),
            (_, Some(time)) => format!("{}  replaced at {time}", key.fingerprint),
        });
    }
    output.print(&keys, &lines.join("\n"))
}
