//! Fuzzes definitions of processes: a definition is refused with faults that name a place in it, or its
//! canonical form passes too. The input is a definition, in JSON or YAML.
#![no_main]

use libfuzzer_sys::fuzz_target;
use process::check;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    match check(text) {
        Ok(_) => {
            // A JSON definition passes as a value as well, whose numbers may be rounded.
            if let Ok(value) = serde_json::from_str::<Value>(text) {
                assert!(check(&value).is_ok(), "{text:?} passes as a text, and not as a value");
            }
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "{text:?} is refused without a fault");
            for fault in faults {
                assert!(!fault.message.is_empty());
                assert!(fault.pointer.is_empty() || fault.pointer.starts_with('/'), "{fault:?}");
            }
        }
    }
});
