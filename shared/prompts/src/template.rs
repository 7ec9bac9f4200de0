//! Holds a template that is parsed once and rendered often.

use platform::records::prompts::ContentType;
use serde_json::Value;

use crate::error::RenderError;
use crate::limits::MAX_CONTENT_BYTES;
use crate::output::Output;
use crate::{handlebars, jst};

#[derive(Debug)]
pub struct Template(Parsed);

#[derive(Debug)]
enum Parsed {
    Handlebars(handlebars::Program),
    Jst(jst::Template),
    Text(String),
}

impl Template {
    /// Parses a content, in time that grows linearly with its size.
    pub fn compile(content_type: ContentType, content: &str) -> Result<Self, RenderError> {
        if content_type != ContentType::Text && content.len() > MAX_CONTENT_BYTES {
            let reason = format!("a template that is parsed has at most {MAX_CONTENT_BYTES} bytes");
            return Err(RenderError::limit(reason));
        }
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

/// Parses a content and renders it once. [`Templates`](crate::Templates) caches parsed templates.
pub fn render(content_type: ContentType, content: &str, data: &Value) -> Result<String, RenderError> {
    Template::compile(content_type, content)?.render(data)
}
