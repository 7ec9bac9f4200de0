//! Holds a template that is parsed once and rendered often.

use platform::Error;
use serde_json::Value;

use crate::error::RenderError;
use crate::output::Output;
use crate::records::prompts::ContentType;
use crate::{check, handlebars, jst};

#[derive(Debug)]
pub struct Template(pub(crate) Parsed);

#[derive(Debug)]
pub(crate) enum Parsed {
    Handlebars(handlebars::Program),
    Jst(jst::Template),
    Text(String),
}

impl Template {
    /// Parses a content, in time that grows linearly with its size.
    pub fn compile(content_type: ContentType, content: &str) -> Result<Self, RenderError> {
        check::check_size(content_type, content)?;
        Ok(Self(match content_type {
            ContentType::Handlebars => Parsed::Handlebars(handlebars::parse(content)?),
            ContentType::Jst => Parsed::Jst(jst::parse(content)?),
            ContentType::Text => Parsed::Text(content.to_owned()),
        }))
    }

    /// Renders the template with data, within the [limits](crate::limits).
    pub fn render(&self, data: &Value) -> Result<String, RenderError> {
        match &self.0 {
            Parsed::Handlebars(program) => handlebars::render(program, data),
            Parsed::Jst(template) => jst::render(template, data),
            Parsed::Text(text) => {
                let mut output = Output::new();
                output.push(text)?;
                Ok(output.into_text())
            }
        }
    }
}

/// Checks a content as a write does, and renders it once; fails with 400, for a content that a write refuses
/// in the words of the write.
pub fn render_unstored(content_type: ContentType, content: &str, data: &Value) -> Result<String, Error> {
    Ok(check(content_type, content)?.render(data)?)
}
