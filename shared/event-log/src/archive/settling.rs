//! Settles the records of files that an earlier pass committed without settling them.

use lake::sql_path;
use platform::{Error, Result, UtcTime};
use serde_json::Value;

use super::{Pass, discard};
use crate::columns;
use crate::logs::RecordKey;

impl Pass<'_> {
    /// Settles the files that the head names as unsettled. The next commit removes them from the head.
    pub(super) async fn settle_committed(&mut self) -> Result<()> {
        for file in self.head.unsettled.clone() {
            let path = self.fetch(&file.day, &file.id).await?;
            let sql = format!(
                "SELECT {}, \"timestamp\" FROM read_parquet({})",
                columns::id(self.log.kind),
                sql_path(&path)?
            );
            let rows = self.session().await?.rows(&sql, &[]).await?;
            let keys = rows.iter().map(|row| self.record_key(row));
            let keys: Vec<_> = keys.collect::<Result<_>>()?;
            self.settle(&keys).await?;
            discard(&path);
        }
        self.head.unsettled.clear();
        Ok(())
    }

    fn record_key(&self, row: &[Value]) -> Result<RecordKey> {
        let [Value::String(id), Value::String(time)] = row else {
            return Err(Error::internal("a file of a log has a record without id or time"));
        };
        let time = time.parse::<UtcTime>().map_err(Error::internal)?;
        self.archiver.logs.record_key(self.log, id, time)
    }
}
