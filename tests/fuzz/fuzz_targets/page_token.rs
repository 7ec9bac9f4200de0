//! Fuzzes page tokens: only the issued token is accepted. The first byte of the input selects how the rest
//! changes that token.
#![no_main]

use libfuzzer_sys::fuzz_target;
use platform::config::Secret;
use platform::page_token::PageTokens;

const LISTING: &str = "runs of acme/demo";
const PLACE: &str = "place 7";

fuzz_target!(|data: &[u8]| {
    let Some((how, rest)) = data.split_first() else { return };
    let Ok(text) = str::from_utf8(rest) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(check(*how, text));
});

async fn check(how: u8, text: &str) {
    let tokens = PageTokens::new(Secret::new("a key"));
    let issued = tokens.issue(&LISTING, &PLACE).await.expect("a token");
    let changed = match how % 4 {
        0 => text.to_owned(),
        1 => format!("{issued}{text}"),
        2 => format!("{text}{issued}"),
        _ => issued
            .char_indices()
            .map(|(at, c)| text.chars().nth(at).filter(char::is_ascii_graphic).unwrap_or(c))
            .collect(),
    };
    if let Ok(place) = tokens.read::<String>(&LISTING, ("cursor", &changed)).await {
        assert_eq!((place.as_str(), &changed), (PLACE, &issued));
    }
    assert!(tokens.read::<String>(&"another listing", ("cursor", &changed)).await.is_err());
}
