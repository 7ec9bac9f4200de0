//! Collects the text of a rendering, and counts its steps.

use crate::error::RenderError;
use crate::limits::{MAX_OUTPUT_BYTES, MAX_STEPS};

const BYTES_PER_STEP: usize = 64;

/// Text rendered so far, with the remaining budget.
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

    /// Returns the length of the text so far, in bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Removes and returns the text from `at` on.
    pub fn take_from(&mut self, at: usize) -> String {
        self.text.split_off(at.min(self.text.len()))
    }

    pub fn into_text(self) -> String {
        self.text
    }
}
