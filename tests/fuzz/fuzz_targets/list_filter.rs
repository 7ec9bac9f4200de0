//! Fuzzes list filters: a filter is refused with a position inside it, or can be evaluated for any run. The
//! input is a filter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workflow::list_filter::{Filter, RunFields};

const RUNS: [RunFields<'_>; 2] = [
    RunFields {
        workflow_id: "order-1",
        run_id: "01a1fb5d-6adc-75f3-a231-17d3e269c1fd",
        workflow_type: "Steps",
        status: "RUNNING",
        start_time: 1_795_315_526_898,
        close_time: None,
        initiated_by: None,
        document_id: None,
        event_name: None,
        rule_id: None,
    },
    RunFields {
        workflow_id: "",
        run_id: "x",
        workflow_type: "é'\"\\",
        status: "COMPLETED",
        start_time: i64::MIN,
        close_time: Some(i64::MAX),
        initiated_by: Some("user:ada"),
        document_id: Some("doc"),
        event_name: Some("update"),
        rule_id: Some("rule"),
    },
];

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    match Filter::parse(text) {
        Ok(filter) => {
            for run in &RUNS {
                assert_eq!(filter.matches(run), filter.matches(run));
            }
            let _ = filter.narrowed();
        }
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.column), "{error:?} of {text:?}");
            assert!(!error.message.is_empty());
        }
    }
});
