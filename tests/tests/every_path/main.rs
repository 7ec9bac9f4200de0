//! Tests rules that hold for every path of the API.
#![cfg(test)]

mod access;
mod authentication;
mod clients;
mod contract;
mod descriptions;
mod examples;
mod fuzz;
mod http;
mod ids;
mod list_pages;
mod parameters;
mod providers;
mod reference;
mod robustness;
