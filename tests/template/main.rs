//! Tests `template.yaml` against AWS's rules, and against what the functions rely on.
//!
//! The tests read the template after the SAM transform, as CloudFormation gets it, with its routes,
//! permissions and roles.
#![cfg(test)]

mod alarms;
mod dashboard;
mod data_key;
mod environments;
mod functions;
mod gateway_responses;
mod log_role;
mod openapi;
mod queues;
mod resource_policies;
mod restore;
mod retention;
mod roles;
mod routes;
mod runbook;
mod signing_keys;
mod translated;
mod web_acl;
