//! Stores events, deliveries, subscriptions, channels and listeners.

pub mod channels;
pub mod deliveries;
mod delivery_status;
pub mod entries;
pub mod event_batches;
pub mod events;
pub mod ingest_counts;
mod kept_events;
pub mod lanes;
pub mod listeners;
pub mod listing_shards;
pub mod rates;
pub mod refusals;
pub mod subscriptions;
