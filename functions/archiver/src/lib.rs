//! Writes events and audit records into the log: consumes the archive queue.
//!
//! A message is a hint at a log, so a repeated or late one changes nothing. A failed pass is reported: SQS
//! delivers the hint again and finally moves it to the dead-letter queue, which raises an alarm. The sweeper
//! finds a log whose hint was lost once the log is due.
//!
//! Accounts share the function: a batch makes one pass at a time for each, and after a time its other logs
//! wait for a later batch, so that a batch with many logs of one account ends soon.

use std::collections::HashMap;

use event_log::archive::{Archiver, PASS_BUDGET_MS, Signing};
use parking_lot::Mutex;
use platform::archive_hints::{ArchiveHint, ArchiveHints};
use platform::batch::Batch;
use platform::{Error, Result};

/// Follows each message's hint, and sends another hint where a pass did not archive everything. The answer
/// names the messages to deliver again.
pub async fn handle(archiver: &Archiver, hints: &ArchiveHints, batch: Batch) -> Vec<String> {
    let shares = &Shares::default();
    batch
        .without_repeats()
        .each(async |body| follow(archiver, hints, shares, &body).await)
        .await
}

/// Time that the passes of each account took in a batch, in milliseconds.
#[derive(Default)]
struct Shares(Mutex<HashMap<String, u64>>);

impl Shares {
    /// Whether an account has time for another pass.
    fn has_time(&self, account: &str) -> bool {
        self.0
            .lock()
            .get(account)
            .is_none_or(|spent| *spent < PASS_BUDGET_MS)
    }

    fn spend(&self, account: &str, took_ms: u64) {
        *self.0.lock().entry(account.to_owned()).or_default() += took_ms;
    }
}

async fn follow(archiver: &Archiver, hints: &ArchiveHints, shares: &Shares, body: &str) -> Result<()> {
    let ArchiveHint { log } = serde_json::from_str(body).map_err(Error::internal)?;
    let turn = archiver.turn(&log.account).await?;
    let mut more = true;
    if shares.has_time(&log.account) {
        let passed = turn.pass(&log, Signing::Hourly).await?;
        shares.spend(&log.account, passed.took_ms);
        more = passed.more;
    }
    if more {
        hints.due(&log).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_whose_passes_took_long_waits_for_a_later_batch() {
        let shares = Shares::default();
        shares.spend("acme", PASS_BUDGET_MS - 1);
        assert!(shares.has_time("acme"));
        shares.spend("acme", 1);
        assert!(!shares.has_time("acme") && shares.has_time("other"));
    }
}
