//! Reads the text of the content object that an event is about.

use events::envelope::Envelope;
use platform::objects::Objects;
use platform::{Result, Tenant};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Excerpt {
    /// The event is about something else, or the object has no text.
    Missing(&'static str),
    /// `is_cut` says whether the text continues.
    Text { text: String, is_cut: bool },
}

/// Reads a part of the text of the event's content object, starting at a byte offset.
pub(super) async fn excerpt(
    objects: &Objects,
    tenant: &Tenant,
    event: &Envelope,
    (offset, most): (usize, usize),
) -> Result<Excerpt> {
    let Some(key) = event.document_id().and_then(|id| key(tenant, id)) else {
        return Ok(Excerpt::Missing("The event is not about a content object."));
    };
    let end = offset.saturating_add(most);
    // Reading one more byte shows whether the text continues.
    let Some(bytes) = objects.find_beginning(&key, end.saturating_add(1)).await? else {
        return Ok(Excerpt::Missing("The content object has no text."));
    };
    let is_cut = bytes.len() > end;
    let part = bytes.get(offset..end.min(bytes.len())).unwrap_or_default();
    Ok(Excerpt::Text {
        // Both ends of the part may split a character.
        text: String::from_utf8_lossy(part).trim_matches('\u{fffd}').to_owned(),
        is_cut,
    })
}

/// Returns the key of a content object's text; None for an id that could escape to another object, because
/// outsiders choose the id.
fn key(tenant: &Tenant, id: &str) -> Option<String> {
    let is_safe = !id.contains(['/', '\\']) && id != "." && id != "..";
    is_safe.then(|| format!("content/{}/{}/{id}/text", tenant.account(), tenant.project()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_no_object_of_another_project() {
        let tenant = Tenant::new("acme", "demo").unwrap();
        let of = |id| key(&tenant, id);
        assert_eq!(of("doc-1").as_deref(), Some("content/acme/demo/doc-1/text"));
        assert_eq!(of("a..b").as_deref(), Some("content/acme/demo/a..b/text"));
        for id in ["..", ".", "../../other/demo/doc-1", "a/b", "..\\x"] {
            assert_eq!(of(id), None, "{id}");
        }
    }
}
