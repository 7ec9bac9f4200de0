//! Selects the logs for a reader of an account or a project.

use platform::Result;
use platform::records::logs::{LogId, LogKind};

use crate::LogStore;

impl LogStore {
    /// Returns the log of a project, or all logs of an account, including the log of its records without a
    /// project.
    pub(crate) async fn logs_of(
        &self,
        account: &str,
        project: Option<&str>,
        kind: LogKind,
    ) -> Result<Vec<LogId>> {
        if let Some(project) = project {
            return Ok(vec![LogId::new(account, Some(project), kind)]);
        }
        let logs = self.logs().of_account(account, kind).await?;
        if logs.is_empty() {
            // An empty log, because a snapshot needs at least one.
            return Ok(vec![LogId::new(account, None, kind)]);
        }
        Ok(logs.into_iter().map(|(log, _)| log).collect())
    }
}
