//! Fuzzes conditions (JSONLogic): a condition is refused, or has the same result on an event each time,
//! within its budget. The input is a condition, a line break, and an event.
#![no_main]

use events::condition::{Condition, Subject};
use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::{Map, Value};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((rule, event)) = str::from_utf8(data).ok().and_then(|text| text.split_once('\n')) else {
        return Corpus::Reject;
    };
    let Ok(rule) = serde_json::from_str::<Map<String, Value>>(rule) else {
        return Corpus::Reject;
    };
    let Ok(condition) = Condition::compile(&rule) else { return Corpus::Keep };
    if serde_json::from_str::<Map<String, Value>>(event).is_err() {
        return Corpus::Keep;
    }
    let result = || {
        let mut subject = Subject::new(event).expect("an event is JSON");
        condition.holds(&mut subject).map_err(|reason| reason.to_string())
    };
    assert_eq!(result(), result(), "{rule:?} on {event}");
    Corpus::Keep
});
