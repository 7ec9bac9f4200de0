//! The formats of texts, such as `@csv`.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jaq_json::Val;

use super::value::{Error, Value, failure};

/// Takes Base64 with and without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Formats a value. The name has no `@`.
pub(super) fn format(name: &Value, value: &Value) -> Result<Value, Error> {
    let Some(name) = name.as_text() else {
        return Err(failure(format_args!(
            "{} is not a valid format",
            name.described()
        )));
    };
    let text = || {
        value
            .as_text()
            .map_or_else(|| value.to_string(), |text| text.into_owned())
    };
    let text = match &*name {
        "text" => text(),
        "json" => value.to_string(),
        "csv" => row(value, ",", csv)?,
        "tsv" => row(value, "\t", tsv)?,
        "html" => replaced(&text(), |character| match character {
            '<' => Some("&lt;"),
            '>' => Some("&gt;"),
            '&' => Some("&amp;"),
            '\'' => Some("&apos;"),
            '"' => Some("&quot;"),
            _ => None,
        }),
        "uri" => uri(&text()),
        "urid" => from_uri(&text())?,
        "sh" => match &value.0 {
            Val::Arr(items) => {
                let items: Result<Vec<_>, _> = items.iter().map(|item| sh(&Value(item.clone()))).collect();
                items?.join(" ")
            }
            _ => sh(value)?,
        },
        "base64" => BASE64.encode(text()),
        "base64d" => from_base64(&text())?,
        "base32" => base32(text().as_bytes()),
        "base32d" => from_base32(&text())?,
        _ => return Err(failure(format_args!("{name} is not a valid format"))),
    };
    Ok(Value::text(text))
}

fn row(value: &Value, separator: &str, cell: fn(&Value) -> Result<String, Error>) -> Result<String, Error> {
    let Val::Arr(items) = &value.0 else {
        return Err(failure(format_args!(
            "{} cannot be formatted as a row, only an array can",
            value.described()
        )));
    };
    let cells: Result<Vec<String>, Error> = items.iter().map(|item| cell(&Value(item.clone()))).collect();
    Ok(cells?.join(separator))
}

/// A cell without quotes: null is empty.
fn plain(value: &Value) -> Result<String, Error> {
    match &value.0 {
        Val::Null => Ok(String::new()),
        Val::Bool(_) | Val::Num(_) => Ok(value.to_string()),
        _ => Err(failure(format_args!(
            "{} is not valid in a row",
            value.described()
        ))),
    }
}

fn csv(value: &Value) -> Result<String, Error> {
    match value.as_text() {
        Some(text) => Ok(format!("\"{}\"", text.replace('"', "\"\""))),
        None => plain(value),
    }
}

fn tsv(value: &Value) -> Result<String, Error> {
    let escape = |character| match character {
        '\t' => Some("\\t"),
        '\n' => Some("\\n"),
        '\r' => Some("\\r"),
        '\\' => Some("\\\\"),
        _ => None,
    };
    match value.as_text() {
        Some(text) => Ok(replaced(&text, escape)),
        None => plain(value),
    }
}

fn replaced(text: &str, with: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match with(character) {
            Some(text) => out.push_str(text),
            None => out.push(character),
        }
    }
    out
}

fn sh(value: &Value) -> Result<String, Error> {
    match (&value.0, value.as_text()) {
        (_, Some(text)) => Ok(format!("'{}'", text.replace('\'', "'\\''"))),
        (Val::Arr(_) | Val::Obj(_), _) => Err(failure(format_args!(
            "{} cannot be escaped for a shell",
            value.described()
        ))),
        _ => Ok(value.to_string()),
    }
}

fn uri(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn from_uri(text: &str) -> Result<String, Error> {
    let wrong = || failure(format_args!("'{text}' is not a valid uri encoding"));
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.bytes());
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(wrong());
        };
        bytes.push((high * 16 + low) as u8);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn from_base64(text: &str) -> Result<String, Error> {
    let bytes = BASE64.decode(text.trim_end_matches('='));
    let bytes = bytes.map_err(|_| failure(format_args!("'{text}' is not valid base64 data")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn base32(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for chunk in bytes.chunks(5) {
        let mut bits = [0_u8; 8];
        for (place, byte) in chunk.iter().enumerate() {
            if let Some(bits) = bits.get_mut(place) {
                *bits = *byte;
            }
        }
        let number = u64::from_be_bytes(bits) >> 24;
        let digits = (chunk.len() * 8).div_ceil(5);
        for place in 0..8 {
            let digit = (number >> (35 - 5 * place)) & 31;
            match BASE32.get(digit as usize) {
                Some(digit) if place < digits => out.push(char::from(*digit)),
                _ => out.push('='),
            }
        }
    }
    out
}

fn from_base32(text: &str) -> Result<String, Error> {
    let wrong = || failure(format_args!("'{text}' is not valid base32 data"));
    let (mut bytes, mut number, mut bits) = (Vec::new(), 0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let digit = BASE32.iter().position(|digit| *digit == byte).ok_or_else(wrong)?;
        number = (number << 5 | digit as u32) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((number >> bits) as u8);
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
