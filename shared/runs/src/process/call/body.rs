//! Writes the body of a request in the form of its content type.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use process::Data;
use url::form_urlencoded::Serializer;

use super::content::ContentType;
use super::error::{CallError, ErrorKind};
use super::fields::{object, scalar};

fn wrong(detail: impl Into<String>) -> CallError {
    CallError::new(ErrorKind::Expression, detail)
}

/// Returns the bytes of a body.
///
/// | content type | what is sent |
/// |---|---|
/// | JSON | the value; a text that is a JSON object or list already is sent as it is |
/// | a form | the fields of an object; a list is a field for each item, and null is left out |
/// | bytes, such as an image | the bytes of a text in Base64, which is what such an answer gives |
/// | any other | a text as it is, and any other value as JSON |
pub(super) fn encoded(body: &Data, content_type: &str) -> Result<Vec<u8>, CallError> {
    let kind = ContentType::of(content_type);
    let text = body.as_text();
    if kind.kind.starts_with("multipart/") && text.is_none() {
        return Err(wrong(format!(
            "A call sends no '{}'; send a form, JSON or a text.",
            kind.kind
        )));
    }
    let json = || body.get().as_bytes().to_vec();
    if kind.is_json() {
        let is_written =
            |text: &String| text.trim_start().starts_with(['{', '[']) && Data::parse(text).is_ok();
        return Ok(text.filter(is_written).map_or_else(json, String::into_bytes));
    }
    if kind.is_form() && text.is_none() {
        return form(body);
    }
    if kind.is_bytes() {
        let bytes = text.and_then(|text| STANDARD.decode(text.trim()).ok());
        return bytes.ok_or_else(|| {
            wrong(format!(
                "The body of the call has the content type '{}', so it is a text in Base64.",
                kind.kind
            ))
        });
    }
    Ok(text.map_or_else(json, String::into_bytes))
}

fn form(body: &Data) -> Result<Vec<u8>, CallError> {
    let mut form = Serializer::new(String::new());
    for (name, value) in object(body, "body")? {
        if value == Data::null() {
            continue;
        }
        for item in value.items().unwrap_or_else(|| vec![value]) {
            form.append_pair(&name, &scalar(&item, &name)?);
        }
    }
    Ok(form.finish().into_bytes())
}
