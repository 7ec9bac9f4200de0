//! Emulates an EventBridge bus in this process: rules by `detail-type`, each with a queue as its target.

use std::sync::Arc;

use async_trait::async_trait;
use platform::bus::{Bus, DETAIL_TYPE, SOURCE};
use platform::queue::{Delivery, Queue};
use platform::{Clock, Error, Result, ids};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// Part of an envelope that decides the account and group of its message.
#[derive(Deserialize)]
struct Sender {
    account_id: String,
}

pub struct LocalBus {
    clock: Clock,
    targets: Vec<Arc<dyn Queue>>,
}

impl LocalBus {
    /// Creates a bus that sends this platform's events to every one of `targets`.
    pub fn new(clock: Clock, targets: Vec<Arc<dyn Queue>>) -> Self {
        Self { clock, targets }
    }
}

#[async_trait]
impl Bus for LocalBus {
    async fn publish(&self, detail: &str) -> Result<()> {
        let now = self.clock.now();
        // Keep the text as it is, so that its bytes do not change on the way.
        let detail: &RawValue = serde_json::from_str(detail).map_err(Error::internal)?;
        let head = json!({
            "version": "0",
            "id": ids::new_id(now),
            "detail-type": DETAIL_TYPE,
            "source": SOURCE,
            "account": "000000000000",
            "time": now,
            "region": "us-east-1",
            "resources": [],
        });
        let head = head.to_string();
        let body = format!(r#"{},"detail":{detail}}}"#, head.trim_end_matches('}'));
        let of: Option<Sender> = serde_json::from_str(detail.get()).ok();
        let account = of.as_ref().map(|of| of.account_id.as_str());
        let delivery = Delivery {
            group: account,
            account,
            ..Delivery::default()
        };
        for target in &self.targets {
            target.send_as(&body, delivery).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Messages(Mutex<Vec<String>>, Mutex<Vec<Option<String>>>);

    #[async_trait]
    impl Queue for Messages {
        async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
            self.1.lock().unwrap().push(delivery.account.map(str::to_owned));
            self.0.lock().unwrap().push(body.to_owned());
            Ok(())
        }
    }

    #[tokio::test]
    async fn every_target_gets_the_event_in_eventbridges_shape() {
        let (first, second) = (Arc::new(Messages::default()), Arc::new(Messages::default()));
        let bus = LocalBus::new(Clock::System, vec![first.clone(), second.clone()]);
        bus.publish(r#"{"event_id":"e1","account_id":"acme"}"#)
            .await
            .unwrap();
        for queue in [first, second] {
            assert_eq!(*queue.1.lock().unwrap(), [Some("acme".to_owned())]);
            let event: Value = serde_json::from_str(&queue.0.lock().unwrap()[0]).unwrap();
            assert_eq!(event["detail-type"], "millrace.event");
            assert_eq!(event["detail"]["event_id"], "e1");
            // Parse the message with the type that cloud events are parsed with.
            let parsed_event: aws_lambda_events::event::eventbridge::EventBridgeEvent<Value> =
                serde_json::from_value(event).unwrap();
            assert_eq!(parsed_event.source, "millrace");
        }
        assert!(bus.publish("not json").await.is_err());
    }
}
