//! Tests addresses whose variables are data of others: no value leads an address elsewhere.

use process::Data;
use process::flow::{expand, expand_path, has_dot_segment};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Values that make a segment empty, `.` or `..`, as they are, encoded or for a lenient server.
const ELSEWHERE: [&str; 24] = [
    "",
    ".",
    "..",
    "/",
    "\\",
    "//",
    "../",
    "/..",
    "a/..",
    "../7",
    "a/../b",
    "a/./b",
    "..\\7",
    "a\\..\\b",
    "%2e",
    "%2E%2e",
    ".%2e",
    "%252e%252e",
    "..%2f7",
    "%2e%2e%5c7",
    "..;a=1",
    ".. ",
    " .",
    "..\t",
];

fn expanded(template: &str, variables: Value) -> Result<String, String> {
    expand(template, &Data::from(variables))
}

#[test]
fn value_that_makes_a_segment_empty_or_dots_is_an_error() {
    for value in ELSEWHERE {
        for template in [
            "https://a.example/customers/7/cards/{x}",
            "https://a.example/customers/{x}/cards",
            "https://a.example/{+x}/cards",
            "https://a.example/cards{/x}",
            "https://a.example/cards/{x}?q=1",
            "https://a.example/cards/{x}{?q}",
            "{+base}/cards/{x}",
        ] {
            let refusal = expanded(template, json!({ "x": value, "base": "https://a.example" }));
            let refusal = refusal.expect_err(&format!("{template} with {value:?}"));
            assert!(refusal.contains("variable 'x'"), "{refusal}");
        }
        let path = expand_path("/customers/7/cards/{x y}", &Data::from(json!({ "x y": value })));
        assert!(path.unwrap_err().contains("variable 'x y'"), "{value:?}");
    }
}

#[test]
fn segment_of_several_values_is_judged_whole() {
    for (template, variables) in [
        ("https://a.example/{x}{y}", json!({ "x": ".", "y": "." })),
        ("https://a.example/{x}.", json!({ "x": "." })),
        ("https://a.example/.{x}/b", json!({ "x": "" })),
        ("https://a.example/{x}{y}/b", json!({ "x": "", "y": "" })),
        ("https://a.example/{x}%2e", json!({ "x": "%2e" })),
        ("https://a.example{/x}{.y}", json!({ "x": ".", "y": "" })),
        ("https://a.example/%2{x}", json!({ "x": "e" })),
        (
            "{+base}{+x}",
            json!({ "base": "https://a.example/b", "x": "/.." }),
        ),
    ] {
        let refusal = expanded(template, variables).expect_err(template);
        assert!(refusal.contains("leads elsewhere"), "{template}: {refusal}");
    }
    let whole = expanded(
        "https://a.example/{x}{y}.{z}",
        json!({ "x": "", "y": "..", "z": "a" }),
    );
    assert_eq!(whole.unwrap(), "https://a.example/...a");
}

#[test]
fn missing_variable_of_a_path_is_an_error_and_of_a_query_is_left_out() {
    for template in [
        "https://a.example/items/{x}",
        "https://a.example/items/{x}/parts",
        "https://a.example/items{/x}",
        "https://a.example/items{;x}",
        "https://a.example/items{.x}",
        "https://a.example/items/{a,x}",
        "https://{x}.example/items",
        "{+x}/items",
        "https://a.example/items{?none}/{x}",
    ] {
        for variables in [json!({ "a": 1 }), json!({ "a": 1, "x": null })] {
            let refusal = expanded(template, variables).unwrap_err();
            assert!(
                refusal.contains("'x' of the address is missing or null"),
                "{refusal}"
            );
        }
    }
    let no_path = expand_path("/items/{x}", &Data::from(json!({})));
    assert!(no_path.unwrap_err().contains("missing"));
    for (template, expected) in [
        ("https://a.example/items{?x,a}", "https://a.example/items?a=1"),
        ("https://a.example/items?a={a}{&x}", "https://a.example/items?a=1"),
        ("https://a.example/items?x={x}", "https://a.example/items?x="),
        ("https://a.example/items{#x}", "https://a.example/items"),
    ] {
        assert_eq!(expanded(template, json!({ "a": 1 })).unwrap(), expected);
    }
}

#[test]
fn open_value_neither_cuts_off_the_path_nor_continues_the_host() {
    for (template, value) in [
        ("https://a.example/files/{+x}/meta", "b?"),
        ("https://a.example/files/{+x}/meta", "b#"),
        ("https://a.example/files/{+x}?key=1", "b#"),
        ("https://a.example/files/{+x}{?key}", "b?key=2"),
        ("https://a.example{+x}", ".evil.example/"),
        ("https://a.example{+x}/b", "@evil.example"),
        ("https://a.example{+x}/b", ":8443"),
    ] {
        let refusal = expanded(template, json!({ "x": value, "key": 1 })).unwrap_err();
        assert!(refusal.contains("variable 'x'"), "{template}: {refusal}");
    }
    assert!(
        expanded("https://{x}/{y}", json!({ "x": "", "y": "evil.example" }))
            .unwrap_err()
            .contains("no host")
    );
}

#[test]
fn ordinary_values_are_kept() {
    for (template, value, expected) in [
        ("https://a.example/{x}", "a/b", "https://a.example/a%2Fb"),
        (
            "https://a.example/{x}",
            "https://b.example/c",
            "https://a.example/https%3A%2F%2Fb.example%2Fc",
        ),
        ("https://a.example/{x}", "...", "https://a.example/..."),
        ("https://a.example/{x}", ".a", "https://a.example/.a"),
        ("https://a.example/{x}", "a..b", "https://a.example/a..b"),
        ("https://a.example/{x}", "50%", "https://a.example/50%25"),
        ("https://a.example/{x}", ";", "https://a.example/%3B"),
        (
            "https://a.example/{+x}",
            "a/b/c.txt",
            "https://a.example/a/b/c.txt",
        ),
        ("https://a.example/{+x}", "folder/", "https://a.example/folder/"),
        ("https://a.example{+x}", "/a/b", "https://a.example/a/b"),
        ("{+x}", "https://b.example", "https://b.example"),
        ("{+x}", "https://b.example/", "https://b.example/"),
        ("{+x}", "https://b.example/?q=/../a", "https://b.example/?q=/../a"),
        (
            "{+x}{&key}",
            "https://b.example/c/?q=1",
            "https://b.example/c/?q=1&key=1",
        ),
        ("{+x}/items", "https://b.example/c", "https://b.example/c/items"),
        (
            "https://a.example/?q={x}",
            "../..",
            "https://a.example/?q=..%2F..",
        ),
        ("https://{x}.example/a", "b", "https://b.example/a"),
    ] {
        let address = expanded(template, json!({ "x": value, "key": 1 }));
        assert_eq!(address.as_deref(), Ok(expected), "{template}");
    }
    let path = expand_path("/a/{x}/{b c}{d", &Data::from(json!({ "x": 1.50, "b c": "é/ü" })));
    assert_eq!(path.unwrap(), "/a/1.5/%C3%A9%2F%C3%BC%7Bd");
    assert!(expand_path("a/{x}", &Data::from(json!({ "x": 1 }))).is_err());
}

#[test]
fn dot_segments_of_a_whole_address_are_known() {
    for address in [
        "https://a.example/b/../c",
        "https://a.example/..",
        "https://a.example/./c",
        "https://a.example/b/%2e%2E/c",
        "https://a.example/b\\..\\c",
        "https://a.example\\..\\c",
        "https://a.example/.\t./c",
    ] {
        assert!(has_dot_segment(address), "{address}");
    }
    for address in [
        "https://a.example",
        "https://a.example/",
        "https://a.example//b/",
        "https://a.example/b?c=/../d",
    ] {
        assert!(!has_dot_segment(address), "{address}");
    }
}

#[test]
fn address_that_is_too_long_is_an_error() {
    let refusal = expanded("https://a.example/{x}", json!({ "x": "%25".repeat(100_000) }));
    assert!(refusal.unwrap_err().contains("longer than"));
}

proptest! {
    /// Whatever a value is, the path has the segments of the template.
    #[test]
    fn a_value_is_one_segment(value in "[a./\\\\%25eE;? #@:-]{0,8}") {
        if let Ok(address) = expanded("https://a.example/b/{x}/c?d=1", json!({ "x": value })) {
            let middle = address.strip_prefix("https://a.example/b/").and_then(|rest| rest.strip_suffix("/c?d=1"));
            let middle = middle.expect("what stands around the value stays");
            prop_assert!(!middle.is_empty() && !middle.contains(['/', '?', '#']), "{}", address);
            prop_assert!(!has_dot_segment(&address), "{}", address);
        }
    }
}
