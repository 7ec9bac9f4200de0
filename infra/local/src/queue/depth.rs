//! Counts the messages of a queue, for the metrics.

use platform::metrics::QueueDepth;
use tokio::time::Instant;

use super::LocalQueue;

impl LocalQueue {
    pub fn depth(&self) -> QueueDepth {
        let (now, state) = (Instant::now(), self.state());
        let mut depth = QueueDepth {
            dead: state.dead.len(),
            ..QueueDepth::default()
        };
        for group in state.groups.values() {
            let delayed = group.waiting.range((now, u64::MAX)..).count();
            depth.delayed += delayed;
            depth.ready += group.waiting.len() - delayed;
            depth.in_flight += group.in_flight;
            if let Some(((at, _), _)) = group.waiting.first_key_value() {
                depth.oldest = depth.oldest.max(now.saturating_duration_since(*at));
            }
        }
        depth
    }
}
