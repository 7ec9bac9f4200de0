//! Writes JSON without blanks.

/// Adds valid JSON to `out` without the blanks between its parts; every value stays as it is written.
pub fn compact_json(json: &str, out: &mut String) {
    let (mut in_text, mut escaped) = (false, false);
    for character in json.chars() {
        if !in_text && character.is_ascii_whitespace() {
            continue;
        }
        out.push(character);
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_text = !in_text,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_of_texts_and_digits_stay() {
        let mut out = String::new();
        compact_json("{ \"a b\" :\n[ 1.10 , \" \\\" \\\\\" ,\ttrue ] }", &mut out);
        assert_eq!(out, r#"{"a b":[1.10," \" \\",true]}"#);
    }
}
