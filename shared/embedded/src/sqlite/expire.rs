//! Removes expired items.

use futures::future::try_join_all;
use platform::records::schema::EXPIRES_AT;
use platform::records::store::{Action, Condition, Key, Step, Written};
use platform::{Error, Result};

use super::failure::failed;
use super::queue::Request;
use super::statements::EXPIRING;
use super::{SqliteRecords, answered};

/// Number of items removed by one commit.
const AT_ONCE: usize = 256;

impl SqliteRecords {
    /// Removes at most `most` items whose `expires_at` is a number below `now_seconds`, in seconds since the
    /// Unix epoch, and returns their number. An item whose expiry is postponed meanwhile stays.
    pub async fn expired(&self, now_seconds: i64, most: usize) -> Result<usize> {
        let Ok(now) = u64::try_from(now_seconds) else {
            return Ok(0);
        };
        let mut removed = 0;
        while removed < most {
            let steps = self.expiring(now_seconds, AT_ONCE.min(most - removed)).await?;
            let mut answers = Vec::with_capacity(steps.len());
            for mut step in steps {
                step.condition = Some(Condition::NumberBelow(EXPIRES_AT, now));
                let (request, answer) = Request::new(vec![step], None)?;
                self.queue.push(request)?;
                answers.push(async { answered(answer.await) });
            }
            let outcomes = try_join_all(answers).await?;
            let done = outcomes
                .iter()
                .filter(|outcome| outcome.written == Written::Done)
                .count();
            if done == 0 {
                break;
            }
            removed += done;
        }
        Ok(removed)
    }

    async fn expiring(&self, now_seconds: i64, most: usize) -> Result<Vec<Step>> {
        let limit = i64::try_from(most).map_err(Error::internal)?;
        self.read(move |connection, tables| {
            let mut statement = connection.prepare_cached(EXPIRING).map_err(failed)?;
            let mut rows = statement.query((now_seconds, limit)).map_err(failed)?;
            let mut steps = Vec::new();
            while let Some(row) = rows.next().map_err(failed)? {
                let read = || Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
                let (table, pk, sk) = read().map_err(failed)?;
                // A table added by another process since the start is left to that process.
                if let Some(table) = tables.name_of(table) {
                    steps.push(Step {
                        table: table.clone(),
                        key: Key::new(pk, sk),
                        action: Action::Delete,
                        condition: None,
                    });
                }
            }
            Ok(steps)
        })
        .await
    }
}
