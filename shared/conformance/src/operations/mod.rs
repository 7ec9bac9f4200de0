//! Executes random operations on two adapters, which must answer alike.

mod run;
mod strategy;

use std::sync::Arc;

use platform::records::store::RecordStore;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::Tables;
use crate::subject::fresh;

/// An operation on a few partitions, whose names are unique to each case.
#[derive(Clone, Debug)]
enum Operation {
    Find(Vec<At>),
    Write(Change),
    Transact(Vec<Change>),
    /// Adds to a number that no other operation changes.
    Add(At, u64),
    Read(Range, usize),
    Count(Range),
}

/// A table, a partition, and a sort key.
#[derive(Clone, Copy, Debug)]
struct At {
    table: usize,
    pk: u8,
    sk: &'static str,
}

/// A place in an index, which the table may lack.
#[derive(Clone, Copy, Debug)]
struct InIndex {
    index: &'static str,
    pk: u8,
    sk: &'static str,
}

#[derive(Clone, Debug)]
struct Change {
    at: At,
    action: Act,
    condition: Option<platform::records::Condition>,
}

#[derive(Clone, Debug)]
enum Act {
    Put(Vec<(&'static str, Value)>, Vec<InIndex>),
    Update(Vec<Part>),
    Delete,
    Check,
}

/// A change of one attribute, or of a place.
#[derive(Clone, Debug)]
enum Part {
    Set(&'static str, Value),
    Append(&'static str, Vec<Value>),
    Add(&'static str, i64),
    Remove(&'static str),
    Place(InIndex),
    Leave(&'static str),
}

#[derive(Clone, Debug)]
struct Range {
    table: usize,
    pk: u8,
    index: Option<&'static str>,
    is_descending: bool,
    sort: Sort,
}

#[derive(Clone, Copy, Debug)]
enum Sort {
    All,
    Prefix(&'static str),
    Between(&'static str, &'static str),
}

/// Executes random operations on two adapters whose indexes do not lag, and fails at the first different
/// answer.
pub fn answer_alike(runtime: &Runtime, tables: [&Tables; 2], stores: [&Arc<dyn RecordStore>; 2], cases: u32) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let operations = prop::collection::vec(strategy::operation(), 1..25);
    let result = TestRunner::new(config).run(&operations, |operations| {
        runtime.block_on(async {
            let prefix = fresh("operations");
            for operation in &operations {
                let one = run::run(&**stores[0], tables[0], &prefix, operation).await;
                let other = run::run(&**stores[1], tables[1], &prefix, operation).await;
                prop_assert_eq!(one, other, "{:?}", operation);
            }
            Ok(())
        })
    });
    if let Err(failure) = result {
        different(&failure);
    }
}

#[expect(clippy::panic, reason = "adapters that differ fail the test")]
fn different(failure: &dyn std::fmt::Display) {
    panic!("{failure}");
}
