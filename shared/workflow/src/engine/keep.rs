//! Keeping an ended run for a record that names it.

use platform::{Result, Tenant, UtcTime};

use super::Engine;

/// A run is kept for longer than it must be, in milliseconds: of many records that name it, few write it.
const MARGIN_MS: u64 = 30 * 24 * 3_600_000;

impl Engine {
    /// Keeps a run until then at least. A run that has not ended stays as it is: it is kept for longer after
    /// its end than any record that names it now. 404 where there is no such run.
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
