//! The text of a rendering, which counts the steps that it takes.

use crate::error::RenderError;
use crate::limits::{MAX_OUTPUT_BYTES, MAX_STEPS};

/// Bytes that cost a step.
const BYTES_PER_STEP: usize = 64;

/// The text that is rendered so far, and what may still be spent.
pub struct Output {
    text: String,
    steps_left: usize,
}

impl Output {
    pub fn new() -> Self {
        Self {
            text: String::new(),
            steps_left: MAX_STEPS,
        }
    }

    /// Spends steps.
    pub fn spend(&mut self, steps: usize) -> Result<(), RenderError> {
        match self.steps_left.checked_sub(steps) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(RenderError::limit(format!(
                "it takes more than {MAX_STEPS} steps; give it less data, or fewer blocks within blocks"
            ))),
        }
    }

    /// Spends a step, and more for many bytes.
    pub fn spend_bytes(&mut self, bytes: usize) -> Result<(), RenderError> {
        self.spend(1 + bytes / BYTES_PER_STEP)
    }

    /// Adds text.
    pub fn push(&mut self, text: &str) -> Result<(), RenderError> {
        self.spend_bytes(text.len())?;
        if self.text.len() + text.len() > MAX_OUTPUT_BYTES {
            return Err(RenderError::limit(format!(
                "its result has more than {MAX_OUTPUT_BYTES} bytes"
            )));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Length of the text so far, in bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Takes away the text from `at` on.
    pub fn take_from(&mut self, at: usize) -> String {
        self.text.split_off(at.min(self.text.len()))
    }

    pub fn into_text(self) -> String {
        self.text
    }
}
