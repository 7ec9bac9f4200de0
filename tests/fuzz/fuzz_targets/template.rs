//! Fuzzes Handlebars templates: checking a template in pieces gives the same result as checking it whole, and
//! no content crashes a parser. The input is a content; its first byte selects the language.
#![no_main]

use libfuzzer_sys::fuzz_target;
use platform::records::prompts::ContentType;
use prompts::fuzzing::{check_template, handlebars_verdicts};

fuzz_target!(|data: &[u8]| {
    let Some((language, content)) = data.split_first() else { return };
    let Ok(content) = str::from_utf8(content) else { return };
    if language % 2 == 0 {
        let (in_pieces, whole) = handlebars_verdicts(content);
        assert_eq!(in_pieces, whole, "{content:?}");
    } else {
        let _ = check_template(ContentType::Jst, content);
    }
});
