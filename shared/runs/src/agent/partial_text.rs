//! Publishes the text of the model in parts while it arrives.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};
use workflow::turn::NewUpdate;
use workflow::{ActivityContext, Failure};

/// Pause between two messages: at most two per second. An answer that arrives within the first pause is not
/// published in parts.
const PAUSE: Duration = Duration::from_millis(500);
/// Number of messages per turn after which only every fourth pause sends one, because a run keeps 1,000
/// messages.
const MANY: u32 = 30;
/// Maximum size of one message; the rest follows in the next ones.
const MAX_PART_BYTES: usize = 8_000;

/// Text that arrived and is not published yet.
pub struct PartialText {
    turn: u32,
    attempt: u32,
    text: Arc<Mutex<String>>,
}

impl PartialText {
    pub fn new(turn: u32, attempt: u32) -> Self {
        Self {
            turn,
            attempt,
            text: Arc::default(),
        }
    }

    /// Returns the function to which the model's client passes the text.
    pub fn sink(&self) -> impl FnMut(&str) + Send + use<> {
        let text = Arc::clone(&self.text);
        move |part: &str| text.lock().push_str(part)
    }

    /// Waits for the answer while it publishes parts and sends heartbeats. Fails where the run no longer
    /// wants the answer.
    pub async fn published_while<T>(
        &self,
        context: &ActivityContext,
        answer: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let mut answer = pin!(answer);
        let mut pauses = interval(PAUSE);
        pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick completes immediately.
        pauses.tick().await;
        let (mut pause, mut part) = (0_u32, 0_u32);
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return Ok(answer),
                _ = pauses.tick() => {}
            }
            pause += 1;
            context.heartbeat(&pause).await?;
            if part >= MANY && !pause.is_multiple_of(4) {
                continue;
            }
            if let Some(text) = self.next() {
                part += 1;
                // A lost part does no harm: the whole message follows.
                context.publish(self.update(part, text)).await.ok();
            }
        }
    }

    fn next(&self) -> Option<String> {
        let mut text = self.text.lock();
        let end = text.floor_char_boundary(MAX_PART_BYTES);
        Some(text.drain(..end).collect()).filter(|part: &String| !part.is_empty())
    }

    fn update(&self, part: u32, text: String) -> NewUpdate {
        NewUpdate {
            kind: "PARTIAL_TEXT".to_owned(),
            message: text,
            details: Some(json!({ "turn": self.turn, "attempt": self.attempt, "part": part })),
            workstream_id: None,
        }
    }
}
