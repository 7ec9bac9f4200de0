//! Tests `/api/v1/data`: stores, tables, imports, queries, versions and dashboards.
#![cfg(test)]

mod access;
mod alter;
mod alter_types;
mod bad_input;
mod copies;
mod crash;
mod crash_steps;
mod csv;
mod dashboards {
    mod calls;
    mod charts;
    mod requests;
    mod versions;
    mod writers;
}
mod download;
mod formats;
mod hostile;
mod imports {
    mod background;
    mod errors;
    mod requests;
    mod sources;
}
mod parameters;
mod queries;
mod query_forms;
mod scale;
mod schema;
mod stores;
mod strangers;
mod tables;
mod tpch;
mod upkeep;
mod uploads;
mod values;
mod versions;
mod versions_model;
