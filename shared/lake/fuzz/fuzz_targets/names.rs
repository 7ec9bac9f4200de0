//! Checks that the checker of statements and DuckDB agree on whether two names are the same name.
//!
//! The input is two names, separated by a line break.
#![no_main]

use std::cell::RefCell;

use lake::fuzzing::Names;
use libfuzzer_sys::{Corpus, fuzz_target};

thread_local! {
    static NAMES: RefCell<Names> = RefCell::new(Names::open().expect("a connection"));
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let text = str::from_utf8(data).unwrap_or_default();
    let Some((defined, used)) = text.split_once('\n') else {
        return Corpus::Reject;
    };
    NAMES.with_borrow(|names| match names.compare(defined, used) {
        Some((to_checker, to_duckdb)) => {
            assert_eq!(to_checker, to_duckdb, "{defined:?} and {used:?}");
            Corpus::Keep
        }
        None => Corpus::Reject,
    })
});
