//! Fuzzes schemas: a schema is refused or accepted, and data satisfies it or not, without a crash. The input
//! is JSON with the fields `schema` and `data`. In the service, the sandbox stops work that takes too long or
//! too much stack; here the work runs on a stack of the same size.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use prompts::fuzzing::check_schema;
use serde_json::Value;

/// Stack size of a sandboxed child.
const STACK_BYTES: usize = 64 * 1_024 * 1_024;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(input) = serde_json::from_slice::<Value>(data) else {
        return Corpus::Reject;
    };
    if !input["schema"].is_object() {
        return Corpus::Reject;
    }
    let check = move || {
        let first = check_schema(&input["schema"], input.get("data"));
        let again = check_schema(&input["schema"], input.get("data"));
        assert_eq!(first, again, "the verdict changes");
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(check);
    thread.expect("a thread").join().expect("no panic");
    Corpus::Keep
});
