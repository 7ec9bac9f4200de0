//! Parses the reference to the definition that a run executes.

use std::fmt;

/// Suffix of the reference where tasks that act outside wait for an approval.
const SUPERVISED: &str = ";supervised";
/// Prefix of the reference.
const ALGORITHM: &str = "sha256:";

/// Parsed `program` of a run of the type `Process`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// SHA-256 of the definition's text, in hexadecimal.
    pub digest: String,
    /// Whether each task that acts outside waits for the signal `Approve`.
    pub is_supervised: bool,
}

impl Program {
    /// Parses a reference; None where it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let (reference, is_supervised) = match text.strip_suffix(SUPERVISED) {
            Some(reference) => (reference, true),
            None => (text, false),
        };
        let digest = reference.strip_prefix(ALGORITHM)?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| Self {
            digest: digest.to_ascii_lowercase(),
            is_supervised,
        })
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.is_supervised { SUPERVISED } else { "" };
        write!(f, "{ALGORITHM}{}{end}", self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        let digest = "0123456789abcdef".repeat(4);
        for end in ["", ";supervised"] {
            let text = format!("sha256:{digest}{end}");
            let program = Program::parse(&text).unwrap();
            assert_eq!(program.is_supervised, !end.is_empty());
            assert_eq!(program.to_string(), text);
        }
        for text in ["", "sha256:", "sha256:12", "md5:12;supervised", &digest] {
            assert_eq!(Program::parse(text), None, "{text}");
        }
    }
}
