//! Keeps an ended run while a record names it.

use platform::{Result, Tenant, UtcTime};

use super::Engine;

/// Extra time that a run is kept, in milliseconds, so that few of many records that name it need a write.
const MARGIN_MS: u64 = 30 * 24 * 3_600_000;

impl Engine {
    /// Keeps a run at least until a time. An open run stays unchanged: its retention starts at its end and
    /// exceeds that of every record that names it now. 404 if the run does not exist.
    pub async fn keep_until(&self, tenant: &Tenant, run_id: &str, until: UtcTime) -> Result<()> {
        let kept = self.change(tenant, run_id, |draft| {
            let state = &mut draft.state;
            if state.is_closed() && state.kept_until.is_none_or(|kept| kept < until) {
                state.kept_until = Some(until.plus_ms(MARGIN_MS));
                draft.changed = true;
            }
            Ok(())
        });
        kept.await.map(drop)
    }
}
