//! Caches parsed templates.

use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use serde_json::Value;

use crate::error::RenderError;
use crate::records::prompts::ContentType;
use crate::template::Template;

/// Parsed templates, keyed by content, so that a changed template is never rendered in its old form.
pub struct Templates {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

struct Kept {
    templates: LruCache<(ContentType, String), Arc<Template>>,
    /// Size of all contents.
    bytes: usize,
}

impl Templates {
    /// Keeps templates whose contents have at most this total size. A parsed template takes about ten times
    /// the memory of its content.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            kept: Mutex::new(Kept {
                templates: LruCache::unbounded(),
                bytes: 0,
            }),
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
        let key = (content_type, content.to_owned());
        if let Some(template) = self.kept.lock().templates.get(&key) {
            return Ok(Arc::clone(template));
        }
        let template = Arc::new(Template::compile(content_type, content)?);
        if content.len() > self.max_bytes {
            return Ok(template);
        }
        let mut kept = self.kept.lock();
        if kept.templates.put(key, Arc::clone(&template)).is_none() {
            kept.bytes += content.len();
        }
        while kept.bytes > self.max_bytes
            && let Some(((_, oldest), _)) = kept.templates.pop_lru()
        {
            kept.bytes -= oldest.len();
        }
        Ok(template)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
