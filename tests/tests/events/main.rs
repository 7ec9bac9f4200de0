//! Tests `/api/v1/events` and `/ingest`: channels, subscriptions, matching and delivery.
#![cfg(test)]

mod channels;
mod chaos;
mod conditions {
    mod evaluators;
    mod verdicts;
}
mod delivery;
mod document_processed;
mod filter_test;
mod hostile;
mod https;
mod ingest;
mod jobs;
mod matching;
mod peers;
mod run_listing;
mod search;
mod senders {
    mod bodies;
    mod handshakes;
    mod presets;
    mod refusals;
    pub mod signing;
}
mod subscriptions;
mod targets {
    mod agents;
    mod templates;
    mod workflows;
}
mod tenants;
mod webhooks {
    mod examples;
    mod guide;
}
