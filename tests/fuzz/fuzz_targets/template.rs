//! Fuzzes templates: no content crashes a parser or a renderer, and what is refused when it is rendered for
//! the content alone is refused when it is written. The input is a content; its first byte selects the
//! language.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prompts::records::prompts::ContentType;
use prompts::fuzzing::check_template;
use serde_json::json;

fuzz_target!(|data: &[u8]| {
    let Some((language, content)) = data.split_first() else { return };
    let Ok(content) = str::from_utf8(content) else { return };
    let content_type = match language % 2 {
        0 => ContentType::Handlebars,
        _ => ContentType::Jst,
    };
    let parsed = prompts::Template::compile(content_type, content);
    let result = check_template(content_type, content);
    assert!(parsed.is_ok() || result.is_err(), "{content:?}");
    if let Ok(template) = result {
        let _ = template.render(&json!({ "a": [1, { "b": "x" }], "items": ["x", null], "name": "y" }));
    }
});
