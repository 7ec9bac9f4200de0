//! Tests templates and data built to exceed the limits: each is an error that names its limit, or is rendered
//! on a smaller stack than the worker's threads have.
#![cfg(test)]

use prompts::limits::{MAX_ACTIVE_BLOCKS, MAX_CONTENT_BYTES, MAX_NESTING, MAX_OUTPUT_BYTES, MAX_STEPS};
use prompts::records::prompts::ContentType::{self, Handlebars, Jst, Text};
use prompts::{RenderError, RenderErrorKind, Template};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Half of the default stack of a Rust thread.
const STACK_BYTES: usize = 1_024 * 1_024;

fn render(content_type: ContentType, content: &str, data: &Value) -> Result<String, RenderError> {
    Template::compile(content_type, content)?.render(data)
}

fn rendered(content_type: ContentType, content: String, data: Value) -> Result<String, RenderError> {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let work = move || render(content_type, &content, &data);
    thread.spawn(work).unwrap().join().expect("no panic")
}

#[track_caller]
fn limited(content_type: ContentType, content: impl Into<String>, data: &Value, limit: usize) {
    let error = rendered(content_type, content.into(), data.clone()).unwrap_err();
    let is_told = error.reason.contains(&limit.to_string());
    assert!(is_told && error.kind != RenderErrorKind::Data, "{error}");
}

/// Data of about 350 KB, the maximum size in a stored template.
fn data() -> Value {
    let numbers: Vec<u32> = (0..1_000).collect();
    json!({ "numbers": numbers, "text": "x".repeat(300_000), "object": { "x".repeat(30_000): 1 } })
}

#[test]
fn blocks_within_blocks_over_arrays_end() {
    let empty = "{{#each numbers}}{{#each ../numbers}}{{#each ../../numbers}}{{/each}}{{/each}}{{/each}}";
    limited(Handlebars, empty, &data(), MAX_STEPS);
    let sections =
        "{{#numbers}}{{#@root.numbers}}{{#@root.numbers}}{{/@root.numbers}}{{/@root.numbers}}{{/numbers}}";
    limited(Handlebars, sections, &data(), MAX_STEPS);
}

#[test]
fn partials_that_include_themselves_end() {
    for content in [
        "{{#*inline 'p'}}{{> p}}{{/inline}}{{> p}}",
        "{{#*inline 'p'}}{{> p}}{{> p}}{{/inline}}{{> p}}",
        "{{#*inline 'p'}}{{> q}}{{/inline}}{{#*inline 'q'}}{{> p a=1}}{{/inline}}{{> q}}",
        "{{#*inline 'p'}}{{#> p}}{{> @partial-block}}{{/p}}{{/inline}}{{> p}}",
        "{{#*inline 'p'}}{{#each numbers}}{{> p ..}}{{/each}}{{/inline}}{{> p}}",
        "{{#*inline 'p'}}{{#if true}}{{> (lookup @root 'name')}}{{/if}}{{/inline}}{{> p}}",
    ] {
        let mut data = data();
        data["name"] = "p".into();
        limited(Handlebars, content, &data, MAX_ACTIVE_BLOCKS);
    }
    // Thirty doublings without deep nesting.
    let doublings: String = (1..=30)
        .map(|number| {
            format!(
                "{{{{#*inline 'p{number}'}}}}{{{{> p{0}}}}}{{{{> p{0}}}}}{{{{/inline}}}}",
                number - 1
            )
        })
        .collect();
    let content = format!("{{{{#*inline 'p0'}}}}{{{{/inline}}}}{doublings}{{{{> p30}}}}");
    limited(Handlebars, content, &data(), MAX_STEPS);
}

#[test]
fn results_end() {
    limited(
        Handlebars,
        "{{text}}{{text}}{{text}}{{text}}",
        &data(),
        MAX_OUTPUT_BYTES,
    );
    limited(
        Handlebars,
        "{{#each numbers}}{{@root.text}}{{/each}}",
        &data(),
        MAX_OUTPUT_BYTES,
    );
    limited(
        Handlebars,
        "{{lookup object list}}",
        &json!({ "object": { "a": 1 }, "list": ["x".repeat(2_000_000)] }),
        MAX_OUTPUT_BYTES,
    );
    limited(Jst, "${text + text + text + text}", &data(), MAX_OUTPUT_BYTES);
    limited(
        Jst,
        "${`${text}${text}` + `${text}${text}` ? 'x' : 'y'}",
        &data(),
        MAX_OUTPUT_BYTES,
    );
    limited(
        Text,
        "x".repeat(MAX_OUTPUT_BYTES + 1),
        &Value::Null,
        MAX_OUTPUT_BYTES,
    );
    let whole = "x".repeat(MAX_OUTPUT_BYTES);
    assert_eq!(
        render(Handlebars, "{{a}}", &json!({ "a": whole })).unwrap(),
        whole
    );
}

/// Values that are expensive to read cost steps, even with a short result.
#[test]
fn long_texts_names_and_indents_cost_steps() {
    let each = |inside: &str| format!("{{{{#each numbers}}}}{inside}{{{{/each}}}}");
    let lengths = each(&"{{@root.text.length}}{{@root.text.[299999]}}".repeat(5));
    limited(Handlebars, lengths, &data(), MAX_STEPS);
    let name = "x".repeat(30_000);
    limited(
        Handlebars,
        each(&each(&format!("{{{{@root.object.{name}}}}}")).replace("each numbers", "each ../numbers")),
        &data(),
        MAX_STEPS,
    );
    limited(
        Handlebars,
        each("{{#with @root.text}}{{#with @root.text}}{{/with}}{{/with}}"),
        &data(),
        MAX_STEPS,
    );
    limited(
        Handlebars,
        "{{#*inline 'p'}}{{#each this}}{{/each}}{{/inline}}{{> p text a=1}}",
        &data(),
        MAX_STEPS,
    );
    limited(Jst, "${text < text}".repeat(1_000), &data(), MAX_STEPS);
    let indents: String = (1..=90)
        .map(|number| {
            format!(
                "{{{{#*inline 'p{number}'}}}}\n {{{{> p{}}}}}\n{{{{/inline}}}}",
                number - 1
            )
        })
        .collect();
    let lines = "x\n".repeat(25_000);
    let content = format!("{{{{#*inline 'p0'}}}}{lines}{{{{/inline}}}}{indents}\n  {{{{> p90}}}}\n");
    limited(Handlebars, content, &data(), MAX_STEPS);
}

#[test]
fn nested_templates_end() {
    let blocks = |depth: usize| format!("{}{}", "{{#if true}}".repeat(depth), "{{/if}}".repeat(depth));
    assert_eq!(rendered(Handlebars, blocks(MAX_NESTING), json!({})).unwrap(), "");
    limited(Handlebars, blocks(MAX_NESTING + 1), &data(), MAX_NESTING);
    limited(
        Handlebars,
        format!("{{{{#if {}", "(a ".repeat(20_000)),
        &data(),
        MAX_NESTING,
    );
    limited(
        Handlebars,
        "{{#if a}}{{else if b}}".to_owned() + &"{{else if b}}".repeat(4_000),
        &data(),
        MAX_NESTING,
    );
    for begin in [
        "(",
        "- ",
        "!",
        "`${",
        "a?",
        "a[",
        "a.b[",
        "1+(",
        "a||(",
        "[",
        "{a:",
        "a.map(b=>",
        "a.concat(",
        "String(",
        "typeof ",
        "a.map(({b})=>",
        "[...",
    ] {
        limited(
            Jst,
            format!("${{{}", begin.repeat(MAX_CONTENT_BYTES / begin.len() - 2)),
            &data(),
            MAX_NESTING,
        );
    }
    for (begin, repeated) in [
        ("a", "+a"),
        ("a", ".a"),
        ("a", "[0]"),
        ("a", "||a"),
        ("a", ".at(0)"),
    ] {
        limited(
            Jst,
            format!("${{{begin}{}}}", repeated.repeat(10_000)),
            &data(),
            MAX_NESTING,
        );
    }
    let mut nested = json!([]);
    for _ in 0..500 {
        nested = json!([nested]);
    }
    let data = json!({ "a": nested });
    let error = render(Handlebars, "{{a}}", &data).unwrap_err();
    assert_eq!(error.kind, RenderErrorKind::Limit);
}

#[test]
fn contents_end() {
    for content_type in [Handlebars, Jst] {
        limited(
            content_type,
            "x".repeat(MAX_CONTENT_BYTES + 1),
            &data(),
            MAX_CONTENT_BYTES,
        );
        assert!(render(content_type, &"x".repeat(MAX_CONTENT_BYTES), &Value::Null).is_ok());
    }
}

/// Functions of functions take many steps, and texts that grow within one another much memory.
#[test]
fn calls_end() {
    let all = "numbers.map(a => numbers.map(b => numbers.map(c => a + b + c)))";
    limited(Jst, format!("${{{all}}}"), &data(), MAX_STEPS);
    limited(
        Jst,
        "${numbers.reduce((all, n) => all.concat(all, numbers), [])}",
        &data(),
        MAX_STEPS,
    );
    limited(
        Jst,
        "${numbers.map(n => text.replaceAll('x', 'yy')).length}",
        &data(),
        MAX_STEPS,
    );
    limited(
        Jst,
        "${numbers.map(n => text.slice(1)).length}",
        &data(),
        MAX_STEPS,
    );
    limited(
        Jst,
        "${numbers.map(n => JSON.stringify([object, object])).length}",
        &data(),
        MAX_STEPS,
    );
    limited(Jst, "${text.repeat(1000000)}", &data(), MAX_OUTPUT_BYTES);
    limited(Jst, "${text.padEnd(1e9)}", &data(), MAX_OUTPUT_BYTES);
    limited(Jst, "${text.replaceAll('', text)}", &data(), MAX_OUTPUT_BYTES);
    limited(
        Jst,
        "${'x'.repeat(1000000).split('').map(x => x).length}",
        &data(),
        MAX_STEPS,
    );
    let deep = "a.map(b => ".repeat(18) + "b" + &")".repeat(18);
    let parameters: Vec<_> = (0..101).map(|number| format!("p{number}")).collect();
    limited(
        Jst,
        format!("${{numbers.map(({}) => 1)}}", parameters.join(",")),
        &data(),
        100,
    );
    let mut nested = json!("x");
    for _ in 0..20 {
        nested = json!([nested]);
    }
    let text = rendered(Jst, format!("${{{deep}}}"), json!({ "a": nested })).unwrap();
    assert_eq!(text, "x");
}

/// The deepest tree that is rendered fits the stack.
#[test]
fn a_tree_of_thirty_levels_is_rendered() {
    let mut tree = json!({ "name": "leaf", "children": [] });
    for _ in 0..30 {
        tree = json!({ "name": "n", "children": [tree] });
    }
    let content = "{{#*inline 'tree'}}{{name}}{{#if children}}{{#each children}}({{> tree}}){{/each}}{{/if}}{{/inline}}{{> tree}}";
    let text = rendered(Handlebars, content.to_owned(), tree).unwrap();
    assert!(text.contains("leaf"), "{text}");
}

#[test]
fn an_error_quotes_no_data() {
    let data = json!({ "secret": "hunter2", "list": ["hunter2"] });
    for (content_type, content) in [
        (Handlebars, "{{secret 1}}"),
        (Handlebars, "{{> (lookup . 'nothing')}}"),
        (Jst, "${secret.a.b}"),
        (Jst, "${list[secret]}"),
    ] {
        let error = render(content_type, content, &data).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

const TOKENS: [&str; 48] = [
    "{{",
    "}}",
    "{{{",
    "}}}",
    "{{{{",
    "}}}}",
    "{{~",
    "~}}",
    "{{#",
    "{{/",
    "{{^",
    "{{else",
    "{{!",
    "{{!--",
    "--}}",
    "{{>",
    "{{#>",
    "{{#*inline 'p'}}",
    "{{/inline}}",
    "#if",
    "each",
    "with ",
    "lookup ",
    "a",
    ".b",
    "[0]",
    "../",
    "this",
    "@index",
    "@root",
    "(",
    ")",
    "=",
    " as |x|",
    "'",
    "\"",
    "\\",
    "\n",
    " ",
    "${",
    "}",
    "`",
    "?",
    ":",
    "+",
    "??",
    "1.5e3",
    "é\u{1f642}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    /// For any content, a renderer returns a text, or an error with a line of the content.
    #[test]
    fn any_content_gives_a_text_or_an_error(tokens in prop::collection::vec(0..TOKENS.len(), 0..24)) {
        let content: String = tokens.iter().map(|token| TOKENS[*token]).collect();
        let data = json!({ "a": [1, { "b": "x" }], "p": { "b": null }, "x": "y", "each": 1 });
        let lines = content.matches('\n').count() + 1;
        for content_type in [Handlebars, Jst] {
            if let Err(error) = render(content_type, &content, &data) {
                prop_assert!(error.place.is_none_or(|place| (1..=lines).contains(&(place.line as usize))), "{content:?}: {error}");
            }
        }
    }
}
