//! Tests `/api/v1/audit-trail`, and the event log behind it.
#![cfg(test)]

mod aggregate;
mod crash;
mod export;
mod guide;
mod key_rotation;
mod list;
mod records;
