//! `ops audit key`: prints the public key that verifies the log, so that it can be kept apart from the log.

use platform::Result;
use platform::signing::public_key_pem;
use serde_json::json;

use crate::output::Output;
use crate::target::TargetArguments;

pub async fn run(target: &TargetArguments, output: Output) -> Result<()> {
    let pem = public_key_pem(&target.digest_key().await?.public_key().await?);
    output.print(&json!({ "public_key": pem }), pem.trim_end())
}
