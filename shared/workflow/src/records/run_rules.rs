//! Adds runs to the index by subscription that were stored before it existed.

use serde::Deserialize;
use serde_json::Value;

use platform::error::{Error, Result};
use platform::records::schema::{BY_RULE, GSI1};
use platform::records::store::key_names;
use platform::records::{Changes, Condition, Key, Written, keys};

use crate::records::runs::Runs;

/// A listed run, with its place by time.
#[derive(Deserialize)]
struct Listed {
    version: u64,
    summary: String,
    gsi1pk: String,
    gsi1sk: String,
}

impl Runs {
    /// Places the runs of all projects by the subscription that `rule_of` finds in a summary, where they lack
    /// that place, and counts them. Reads the whole table; a repetition continues an interrupted one.
    pub async fn place_by_rule(&self, rule_of: impl Fn(&str) -> Result<Option<String>>) -> Result<u64> {
        let mut placed = 0;
        let mut start = None;
        loop {
            let (records, next) = self.table.scan(start).await?;
            for (key, record) in records {
                let Some(run) = unplaced(&key, record) else {
                    continue;
                };
                let Some(rule) = rule_of(&run.summary)? else {
                    continue;
                };
                let partition = keys::runs_by(&run.gsi1pk, "rule", &rule);
                let changes = Changes::default().place(BY_RULE, partition, run.gsi1sk);
                // A writer that changed the run meanwhile has placed it.
                let unchanged = Condition::NumberIs("version", run.version);
                match self.table.update(&key, &changes, unchanged).await? {
                    Written::Done => placed += 1,
                    Written::Refused { .. } => {}
                    Written::Contended => return Err(Error::unavailable("a run is being written")),
                }
            }
            match next {
                Some(_) => start = next,
                None => return Ok(placed),
            }
        }
    }
}

/// Returns a run that is in the listing by time and not in that by subscription; None for other records.
fn unplaced(key: &Key, record: Value) -> Option<Listed> {
    keys::run_of(&key.pk)?;
    let [by_rule, _] = key_names(BY_RULE);
    let [by_time, _] = key_names(GSI1);
    let is_unplaced = record.get(&*by_time).is_some() && record.get(&*by_rule).is_none();
    is_unplaced.then(|| serde_json::from_value(record).ok()).flatten()
}
