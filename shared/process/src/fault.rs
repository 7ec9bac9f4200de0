//! Describes faults of a definition and their places.

use std::fmt;

/// A fault that prevents a definition from running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer (RFC 6901) to the faulty value; empty for the whole document.
    pub pointer: String,
    /// Sentence for the author: the fault, and how to correct it.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

/// A JSON pointer that grows while the document is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place(String);

impl Place {
    pub fn field(&self, name: &str) -> Self {
        let name = name.replace('~', "~0").replace('/', "~1");
        Self(format!("{}/{name}", self.0))
    }

    pub fn item(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    pub fn pointer(&self) -> &str {
        &self.0
    }
}
