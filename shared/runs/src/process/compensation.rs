//! Bounds what a cancelled process still does: its handlers undo what was done.

use std::cell::Cell;
use std::time::Duration;

use platform::UtcTime;
use workflow::Context;

/// Time from the cancellation of a run to the end of its handlers.
const MAX_COMPENSATION: Duration = Duration::from_secs(600);

#[derive(Default)]
pub(super) struct Compensation {
    /// When the code first saw the cancellation.
    canceled_at: Cell<Option<UtcTime>>,
}

impl Compensation {
    /// Returns how long the handlers of a run may still take; None where the run is not cancelled, or no time
    /// is left.
    pub fn time_left(&self, run: &Context) -> Option<Duration> {
        if !run.is_canceled() {
            return None;
        }
        let now = run.now();
        let canceled_at = self.canceled_at.get().unwrap_or(now);
        self.canceled_at.set(Some(canceled_at));
        let elapsed = Duration::from_millis(now.millis_since(canceled_at));
        MAX_COMPENSATION
            .checked_sub(elapsed)
            .filter(|left| !left.is_zero())
    }
}
