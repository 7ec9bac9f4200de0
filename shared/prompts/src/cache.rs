//! Caches parsed templates.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use platform::records::prompts::ContentType;
use serde_json::Value;

use crate::error::RenderError;
use crate::template::Template;

/// Parsed templates, keyed by content, so that a changed template is never rendered in its old form. The
/// oldest entry is evicted first.
pub struct Templates {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    handlebars: HashMap<Arc<str>, Arc<Template>>,
    jst: HashMap<Arc<str>, Arc<Template>>,
    order: VecDeque<(ContentType, Arc<str>)>,
    bytes: usize,
}

impl Kept {
    fn map(&mut self, content_type: ContentType) -> &mut HashMap<Arc<str>, Arc<Template>> {
        match content_type {
            ContentType::Jst => &mut self.jst,
            ContentType::Handlebars | ContentType::Text => &mut self.handlebars,
        }
    }
}

impl Templates {
    /// Keeps templates whose contents have at most this total size. A parsed template takes about ten times
    /// the memory of its content.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            kept: Mutex::default(),
        }
    }

    /// Renders a content; parses it if it is not in the cache.
    pub fn render(
        &self,
        content_type: ContentType,
        content: &str,
        data: &Value,
    ) -> Result<String, RenderError> {
        self.get(content_type, content)?.render(data)
    }

    /// Returns the parsed template of a content.
    pub fn get(&self, content_type: ContentType, content: &str) -> Result<Arc<Template>, RenderError> {
        // Plain text is not parsed.
        if content_type == ContentType::Text {
            return Template::compile(content_type, content).map(Arc::new);
        }
        let lock = || self.kept.lock();
        if let Some(template) = lock().map(content_type).get(content) {
            return Ok(Arc::clone(template));
        }
        let template = Arc::new(Template::compile(content_type, content)?);
        if content.len() > self.max_bytes {
            return Ok(template);
        }
        let content: Arc<str> = content.into();
        let mut kept = lock();
        let before = kept
            .map(content_type)
            .insert(Arc::clone(&content), Arc::clone(&template));
        if before.is_none() {
            kept.bytes += content.len();
            kept.order.push_back((content_type, content));
        }
        while kept.bytes > self.max_bytes
            && let Some((content_type, oldest)) = kept.order.pop_front()
        {
            kept.bytes -= oldest.len();
            kept.map(content_type).remove(&oldest);
        }
        Ok(template)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_template_is_parsed_once_while_it_is_kept() {
        let templates = Templates::new(20);
        let first = templates.get(ContentType::Handlebars, "{{a}} 1234").unwrap();
        let again = templates.get(ContentType::Handlebars, "{{a}} 1234").unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        templates.get(ContentType::Handlebars, "{{b}} 1234").unwrap();
        templates.get(ContentType::Handlebars, "{{c}} 1234").unwrap();
        let later = templates.get(ContentType::Handlebars, "{{a}} 1234").unwrap();
        assert!(!Arc::ptr_eq(&first, &later));
        assert!(templates.kept.lock().bytes <= 20);
    }

    #[test]
    fn the_same_content_is_another_template_in_another_language() {
        let templates = Templates::new(1_000);
        let data = json!({ "a": 1 });
        let content = "{{a}} ${a}";
        let rendered = |content_type| templates.render(content_type, content, &data).unwrap();
        assert_eq!(rendered(ContentType::Handlebars), "1 ${a}");
        assert_eq!(rendered(ContentType::Jst), "{{a}} 1");
        assert_eq!(rendered(ContentType::Text), content);
    }

    #[test]
    fn a_faulty_template_is_not_kept() {
        let templates = Templates::new(1_000);
        assert!(templates.get(ContentType::Handlebars, "{{").is_err());
        assert_eq!(templates.kept.lock().bytes, 0);
    }
}
