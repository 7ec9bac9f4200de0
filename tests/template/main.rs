//! What `template.yaml` must keep of AWS's rules, and of what the functions rely on.
//!
//! These tests read the template after the SAM transform, as CloudFormation gets it: routes, permissions and
//! roles are there as AWS sees them.
#![cfg(test)]

mod dashboard;
mod environments;
mod functions;
mod gateway_responses;
mod openapi;
mod queues;
mod resource_policies;
mod retention;
mod roles;
mod routes;
mod runbook;
mod translated;
