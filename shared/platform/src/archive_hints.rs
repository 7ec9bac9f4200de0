//! Sends hints about logs with new records to the archiver, grouped by account. A lost hint only delays
//! archiving, because the head of each log becomes due anyway.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use tracing::warn;

use crate::clock::UtcTime;
use crate::config::{ConfigError, variables};
use crate::deployment::Deployment;
use crate::error::Error;
use crate::queue::{Delivery, Queue};
use crate::records::logs::LogId;

/// Delay of a hint, so that one pass archives all records written in that time.
const WINDOW: Duration = Duration::from_secs(60);
/// Minimum time between two hints of a process about one log, in milliseconds. Shorter than the window,
/// because a record is written slightly before its hint.
const SILENCE_MS: u64 = 50_000;
/// Maximum time that a record's answer waits for its hint.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of logs whose last hint a process remembers.
const MAX_REMEMBERED: usize = 10_000;

/// JSON form: `{"account_id": …, "project_id": … or null, "kind": …}`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveHint {
    #[serde(flatten)]
    pub log: LogId,
}

#[derive(Clone)]
pub struct ArchiveHints {
    queue: Arc<dyn Queue>,
    sent: Arc<Mutex<HashMap<LogId, UtcTime>>>,
}

impl ArchiveHints {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        Ok(Self::new(deployment.queue(variables::ARCHIVE_QUEUE)?))
    }

    /// Sends to the archiver's queue.
    pub fn new(queue: Arc<dyn Queue>) -> Self {
        Self {
            queue,
            sent: Arc::default(),
        }
    }

    /// Sends a hint about a log with a new record, unless this process sent one recently.
    pub async fn new_record(&self, log: &LogId, now: UtcTime) {
        {
            let mut sent = self.sent.lock();
            if sent.get(log).is_some_and(|at| now < at.plus_ms(SILENCE_MS)) {
                return;
            }
            if sent.len() >= MAX_REMEMBERED {
                sent.clear();
            }
            sent.insert(log.clone(), now);
        }
        self.send(log, WINDOW).await;
    }

    /// Sends a hint about a log whose pass is due.
    pub async fn due(&self, log: &LogId) {
        self.send(log, Duration::ZERO).await;
    }

    async fn send(&self, log: &LogId, delay: Duration) {
        let hint = ArchiveHint { log: log.clone() };
        let body = serde_json::to_string(&hint).unwrap_or_default();
        let delivery = Delivery {
            delay,
            group: Some(&log.account),
            account: Some(&log.account),
            ..Delivery::default()
        };
        let sent = timeout(PATIENCE, self.queue.send_as(&body, delivery)).await;
        let sent = sent.unwrap_or_else(|_| Err(Error::unavailable("the queue took too long")));
        if let Err(cause) = sent {
            warn!(
                account = log.account,
                project = log.project,
                %cause,
                "no hint at a log is sent; the sweeper finds the log when it is due"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::records::logs::LogKind;

    #[derive(Default)]
    struct Kept(Mutex<Vec<(String, Duration, [String; 2])>>);

    #[async_trait]
    impl Queue for Kept {
        async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> crate::Result<()> {
            let [group, account] = [delivery.group, delivery.account].map(|name| name.unwrap().to_owned());
            self.0
                .lock()
                .push((body.to_owned(), delivery.delay, [group, account]));
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_process_hints_at_a_log_once_a_minute() {
        let queue = Arc::new(Kept::default());
        let hints = ArchiveHints::new(queue.clone());
        let of_demo = LogId::new("acme", Some("demo"), LogKind::Events);
        let of_account = LogId::new("acme", None, LogKind::Audit);
        let start = UtcTime::EPOCH;
        for after_ms in [0, 1_000, 49_999, 50_000] {
            hints.new_record(&of_demo, start.plus_ms(after_ms)).await;
        }
        hints.new_record(&of_account, start).await;
        hints.due(&of_account).await;
        let sent = queue.0.lock();
        let logs: Vec<LogId> = sent
            .iter()
            .map(|(body, ..)| serde_json::from_str::<ArchiveHint>(body).unwrap().log)
            .collect();
        assert_eq!(logs, [of_demo.clone(), of_demo, of_account.clone(), of_account]);
        assert_eq!(
            sent[0].0,
            r#"{"account_id":"acme","project_id":"demo","kind":"events"}"#
        );
        assert_eq!((sent[0].1, sent[3].1), (WINDOW, Duration::ZERO));
        assert!(sent.iter().all(|(_, _, names)| *names == ["acme", "acme"]));
    }
}
