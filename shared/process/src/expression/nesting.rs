//! Measures the nesting of an expression's text without recursion.

use crate::limits::MAX_EXPRESSION_LEVELS;

/// Whether a recursive parser can parse this text safely.
pub(super) fn is_bounded(source: &str) -> bool {
    // Open brackets and strings.
    let mut open: Vec<u8> = Vec::new();
    let mut signs = 0;
    let mut bytes = source.bytes();
    while let Some(byte) = bytes.next() {
        if open.last() == Some(&b'"') {
            match byte {
                b'"' => drop(open.pop()),
                b'\\' if bytes.next() == Some(b'(') => open.push(b'('),
                _ => {}
            }
        } else {
            match byte {
                b'(' | b'[' | b'{' | b'"' => open.push(byte),
                b')' | b']' | b'}' => drop(open.pop()),
                b'#' => drop(bytes.by_ref().find(|byte| *byte == b'\n')),
                _ => {}
            }
            signs = match byte {
                b'-' => signs + 1,
                byte if byte.is_ascii_whitespace() => signs,
                _ => 0,
            };
        }
        if open.len() > MAX_EXPRESSION_LEVELS || signs > MAX_EXPRESSION_LEVELS {
            return false;
        }
    }
    true
}
