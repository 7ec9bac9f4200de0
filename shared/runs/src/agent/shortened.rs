//! Cuts texts to the size that a conversation allows.

/// Returns the text, or its beginning with a note that says how much is missing and what to do.
pub fn shortened(text: String, most_bytes: usize, advice: &str) -> String {
    if text.len() <= most_bytes {
        return text;
    }
    let bytes = text.len();
    let mut beginning = text;
    beginning.truncate(beginning.floor_char_boundary(most_bytes));
    beginning.push_str(&format!(
        "\n[cut: the first {most_bytes} of {bytes} bytes; {advice}]"
    ));
    beginning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        assert_eq!(shortened("abc".to_owned(), 3, "x"), "abc");
        let cut = shortened("é".repeat(10), 5, "ask for less");
        assert_eq!(cut, "éé\n[cut: the first 5 of 20 bytes; ask for less]");
    }
}
