//! Tests that no input makes the check panic.
#![cfg(test)]

use process::check;
use proptest::prelude::*;
use serde_json::json;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_panics(text in any::<String>(), yaml in "[-a-c:{}\\[\\],'\"&*!?|>#%@ \n0-9.$]{0,80}") {
        let _ = check(&text);
        let _ = check(&yaml);
    }

    #[test]
    fn no_jq_text_panics(source in "[-.|,()\\[\\]{}$a-c:;?\"\\\\@ +*/=<>0-9]{0,60}|(def|reduce|foreach|if|then|else|end|as|try|catch|label|break|\\.| |\\$x|\\||\\(|\\)|;|:){0,20}") {
        let text = json!({
            "document": { "dsl": "1.0.0", "namespace": "n", "name": "n", "version": "1.0.0" },
            "do": [{ "a": { "set": { "v": format!("${{ {source} }}") } } }],
        });
        if let Err(found) = check(&text) {
            prop_assert!(!found[0].message.contains("could not be checked"), "{}", source);
        }
    }

    /// A valid definition with an arbitrary value in one place.
    #[test]
    fn no_value_panics(place in 0_usize..12, value in prop_oneof![
        Just(json!(null)), Just(json!(1)), Just(json!("x")), Just(json!([])), Just(json!({})), Just(json!({ "a": 1 })),
        Just(json!([{ "a": { "set": {} } }])), Just(json!("${ . }")), Just(json!([1])), Just(json!(true)),
    ]) {
        let mut document = json!({
            "document": { "dsl": "1.0.0", "namespace": "n", "name": "n", "version": "1.0.0" },
            "use": { "secrets": [], "errors": {}, "functions": {} },
            "do": [
                { "a": { "for": { "in": "." }, "do": [] } },
                { "b": { "switch": [{ "c": { "then": "end" } }] } },
                { "c": { "try": [], "catch": {} } },
                { "d": { "listen": { "to": { "any": [] } }, "foreach": {} } },
                { "e": { "call": "http", "with": { "method": "get", "endpoint": "https://a.example" } } },
            ],
        });
        let pointer = [
            "/document", "/use", "/use/secrets", "/use/functions", "/do", "/do/0/a/for", "/do/1/b/switch",
            "/do/1/b/switch/0", "/do/2/c/catch", "/do/3/d/listen/to", "/do/3/d/foreach", "/do/4/e/with/endpoint",
        ][place];
        *document.pointer_mut(pointer).unwrap() = value;
        if let Err(found) = check(&document) {
            prop_assert!(!found.is_empty());
            prop_assert!(found.iter().all(|fault| !fault.message.contains("could not be checked")));
        }
    }
}
