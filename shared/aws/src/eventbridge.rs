//! Publishes to an EventBridge bus.

use std::sync::Arc;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use platform::bus::{Bus, DETAIL_TYPE, SOURCE};
use platform::{Error, Result};

pub struct EventBridgeBus {
    client: aws_sdk_eventbridge::Client,
    name: Arc<str>,
}

impl EventBridgeBus {
    pub fn connect(sdk: &SdkConfig, name: &str) -> Self {
        Self {
            client: aws_sdk_eventbridge::Client::new(sdk),
            name: name.into(),
        }
    }
}

#[async_trait]
impl Bus for EventBridgeBus {
    async fn publish(&self, detail: &str) -> Result<()> {
        let entry = PutEventsRequestEntry::builder()
            .event_bus_name(&*self.name)
            .source(SOURCE)
            .detail_type(DETAIL_TYPE)
            .detail(detail)
            .build();
        let answer = self
            .client
            .put_events()
            .entries(entry)
            .send()
            .await
            .map_err(|error| {
                Error::unavailable(aws_sdk_eventbridge::error::DisplayErrorContext(error).to_string())
            })?;
        match answer.entries().first().and_then(|entry| entry.error_code()) {
            Some(code) => Err(Error::unavailable(format!("the bus refused the event: {code}"))),
            None => Ok(()),
        }
    }
}
