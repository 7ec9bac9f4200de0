#![cfg(test)]

use base64::engine::general_purpose::URL_SAFE;
use serde_json::json;

use super::*;

fn redaction(secrets: &[Value]) -> Redaction {
    let mut redaction = Redaction::default();
    secrets.iter().for_each(|secret| redaction.add_secret(secret));
    redaction
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn html(text: &str) -> String {
    let escaped = text
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;");
    escaped.replace('=', "&#61;").replace('2', "&#x32;")
}

fn unicode(text: &str) -> String {
    let mut units = [0; 2];
    let escaped = |c: char| -> String {
        let units = c.encode_utf16(&mut units).iter();
        units.map(|unit| format!("\\u{unit:04x}")).collect()
    };
    text.chars().map(escaped).collect()
}

#[test]
fn secret_in_any_form_is_struck_and_the_rest_stays() {
    for secret in [
        "hunter",
        "hunter2-key",
        "a b&c=d/e+f",
        "quo\"te\\back\n1",
        "Grüße 😀 an alle",
        "100%25 sure",
    ] {
        let redaction = redaction(&[json!(secret)]);
        let json = json!({ "k": secret }).to_string();
        let form = percent(secret).replace("%20", "+");
        for text in [
            secret.to_owned(),
            secret.to_ascii_uppercase(),
            json.clone(),
            json!(json).to_string(),
            percent(secret),
            percent(secret).to_uppercase(),
            format!("\"https://a.example/?k={form}\""),
            percent(&percent(secret)),
            html(secret),
            json!(html(secret)).to_string(),
            unicode(secret),
            json!(percent(secret)).to_string(),
            STANDARD.encode(secret),
            URL_SAFE.encode(secret),
            percent(&STANDARD.encode(secret)),
            hex::encode(secret),
            hex::encode_upper(secret),
        ] {
            let whole = format!("before {text} after");
            let struck = redaction.text(whole.clone());
            assert!(struck.contains(PLACEHOLDER), "{secret}: {whole}: {struck}");
            assert!(
                struck.starts_with("before ") && struck.ends_with(" after"),
                "{struck}"
            );
            assert!(struck.len() < whole.len() + PLACEHOLDER.len(), "{struck}");
        }
    }
}

#[test]
fn secret_within_a_longer_text_in_base64_is_struck_to_its_last_byte() {
    let secret = "hunter2-key";
    let redaction = redaction(&[json!(secret)]);
    for before in ["", "a", "ab", "abc", "ada:"] {
        for after in ["", "z", "yz", "xyz"] {
            let text = STANDARD.encode(format!("{before}{secret}{after}"));
            let struck = redaction.text(format!("Basic {text}"));
            let kept = struck.replace("Basic ", "").replace(PLACEHOLDER, " ");
            let decoded: Vec<u8> = kept.split(' ').flat_map(lenient).collect();
            let decoded = String::from_utf8_lossy(&decoded).into_owned();
            assert!(struck.contains(PLACEHOLDER), "{before} {after}: {struck}");
            assert!(
                !decoded.contains("hunt") && !decoded.contains("key"),
                "{text} {struck} {decoded}"
            );
        }
    }
}

/// Decodes what can be of digits that were cut.
fn lenient(digits: &str) -> Vec<u8> {
    let digits = digits.trim_end_matches('=');
    let whole = &digits[..digits.len() / 4 * 4];
    STANDARD.decode(whole).unwrap_or_default()
}

#[test]
fn secret_in_lines_of_base64_and_password_of_a_basic_header_are_struck() {
    let long = "abcdefghijklmnopqrstuvwxyz".repeat(4);
    let basic = format!("Basic {}", STANDARD.encode("ada:hunter2-password"));
    let redaction = redaction(&[json!(long), json!(basic)]);
    let lines = |end: &str| {
        let digits = STANDARD.encode(&long).into_bytes();
        let lines: Vec<_> = digits
            .chunks(76)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        lines.join(end)
    };
    for text in [
        lines("\n"),
        lines("\r\n"),
        lines("\\n"),
        "hunter2-password".to_owned(),
    ] {
        assert_eq!(
            redaction.text(text.clone()).trim_end_matches('='),
            PLACEHOLDER,
            "{text}"
        );
    }
}

#[test]
fn texts_without_a_secret_and_json_around_one_stay_whole() {
    let redaction = redaction(&[
        json!({ "username": "orders", "password": "hunter2-key", "list": [["nested-1"]], "pin": 12_345_678 }),
        json!("Bearer token-of-many"),
        json!("-----BEGIN KEY-----\nMIIBVgIBADANBgkqhkiG9w0B\n-----END KEY-----"),
        json!("short"),
        json!(true),
    ]);
    for text in [
        "",
        "orders short true",
        "100 % \\ \\u12 %zz",
        "token of many",
        "MIIB",
    ] {
        assert_eq!(redaction.text(text.to_owned()), text);
    }
    for text in [
        "hunter2-key",
        "nested-1",
        "12345678",
        "token-of-many",
        "MIIBVgIBADANBgkqhkiG9w0B",
    ] {
        assert_eq!(redaction.text(format!("<{text}>")), "<[secret]>");
    }
    let answer = r#"{"a":"hunter2-key","b":["\u0068unter2-key", "nested\u002d1"],"c":7}"#;
    let struck: Value = serde_json::from_str(&redaction.text(answer.to_owned())).unwrap();
    assert_eq!(
        struck,
        json!({ "a": PLACEHOLDER, "b": [PLACEHOLDER, PLACEHOLDER], "c": 7 })
    );
    assert_eq!(
        redaction.bytes(b"\xffhunter2-key\xfe".to_vec()),
        b"\xff[secret]\xfe"
    );
    assert_eq!(Redaction::default().text("hunter2-key".to_owned()), "hunter2-key");
}
