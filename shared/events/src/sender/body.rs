//! Reads the body of a sender's request: JSON, an array of events, a form, CloudEvents, text.
//!
//! The form follows from the content type. What is sent stays byte for byte where it is JSON.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use http::header;
use platform::http::{parse, strict};
use platform::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::request::Request;
use crate::envelope::raw;

/// Deepest nesting of a body. The event nests it two levels deeper, and many JSON parsers stop at 128.
const MAX_DEPTH: usize = 100;
/// Most events of a body.
pub const MAX_EVENTS: usize = 500;
/// Byte order mark of UTF-8, which some programs write.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Field of a form that GitHub's and Slack's JSON is in.
const FORM_PAYLOAD: &str = "payload";
/// Prefix of the headers of a CloudEvent in binary mode.
const CLOUD_EVENT: &str = "ce-";

/// What an array in a body means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrays {
    /// An event for each element; all of them or none.
    #[default]
    Split,
    /// One event with the whole array.
    Whole,
}

/// Body of one event.
#[derive(Debug)]
pub struct Item {
    /// JSON as the sender wrote it.
    pub raw: Box<RawValue>,
    pub value: Value,
    pub cloud_event: Option<Map<String, Value>>,
}

#[derive(Debug)]
pub struct Body {
    /// The whole body as JSON.
    pub whole: Value,
    /// Whether it is an array whose elements are events.
    pub is_divided: bool,
    pub items: Vec<Item>,
}

impl Body {
    /// Reads the body of a request, at most `limit` bytes when it is decompressed. Fails with 400, 413 or 415
    /// for one that cannot be read.
    pub fn read(request: Request<'_>, limit: usize, arrays: Arrays) -> Result<Self> {
        let bytes = decompress(request, limit)?;
        let bytes = &*bytes;
        let kind = request.content_type();
        if kind.starts_with("application/cloudevents") {
            return Self::of_json(bytes, Arrays::Split)?.cloud_events();
        }
        let attributes = binary_attributes(request)?;
        let mut body = match kind.as_str() {
            "application/x-www-form-urlencoded" if !looks_like_json(bytes) => Self::of_form(bytes, arrays)?,
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/json-lines" => Self::of_lines(bytes, arrays)?,
            kind if is_text(kind) && !looks_like_json(bytes) => Self::of_text(bytes)?,
            _ if bytes.is_empty() && attributes.is_some() => Self::of_one(Value::Null)?,
            _ => Self::of_json(bytes, arrays)?,
        };
        if let (Some(attributes), [item]) = (attributes, body.items.as_mut_slice()) {
            item.cloud_event = Some(attributes);
        }
        Ok(body)
    }

    fn of_one(value: Value) -> Result<Self> {
        Ok(Self {
            items: vec![Item {
                raw: raw(&value)?,
                value: value.clone(),
                cloud_event: None,
            }],
            whole: value,
            is_divided: false,
        })
    }

    fn of_json(bytes: &[u8], arrays: Arrays) -> Result<Self> {
        // Some senders give lines of JSON the content type of one document. No document has lines like these.
        match are_lines(bytes) {
            true => Self::of_lines(bytes, arrays),
            false => Self::of_document(bytes, arrays),
        }
    }

    fn of_document(bytes: &[u8], arrays: Arrays) -> Result<Self> {
        check_depth(bytes)?;
        let strict::Json(whole) = parse(bytes)?;
        let is_divided = whole.is_array() && arrays == Arrays::Split;
        let items = match &whole {
            Value::Array(values) if is_divided => {
                check_count(values)?;
                let raws: Vec<Box<RawValue>> = serde_json::from_slice(strip_mark(bytes)).map_err(not_text)?;
                let items = raws.into_iter().zip(values).map(|(raw, value)| Item {
                    raw,
                    value: value.clone(),
                    cloud_event: None,
                });
                items.collect()
            }
            Value::Object(_) | Value::Array(_) => vec![Item {
                raw: serde_json::from_slice(strip_mark(bytes)).map_err(not_text)?,
                value: whole.clone(),
                cloud_event: None,
            }],
            _ => {
                return Err(Error::invalid(
                    "The body must be a JSON object or an array of objects.",
                ));
            }
        };
        Ok(Self {
            whole,
            is_divided,
            items,
        })
    }

    fn of_lines(bytes: &[u8], arrays: Arrays) -> Result<Self> {
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
        let text = [b"[".as_slice(), &lines.join(&b","[..]), b"]"].concat();
        Self::of_document(&text, arrays)
    }

    fn of_text(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(strip_mark(bytes))
            .map_err(|_| Error::invalid("The body is not valid UTF-8."))?;
        match text.is_empty() {
            true => Err(Error::invalid("The body is empty.")),
            false => Self::of_one(Value::String(text.to_owned())),
        }
    }

    /// Reads a form as an object; a repeated name has an array. The JSON of a lone field `payload` is the
    /// body itself.
    fn of_form(bytes: &[u8], arrays: Arrays) -> Result<Self> {
        let refusal = || {
            Error::invalid(
                "The body is no form of names and values, as its content type says; send JSON with 'content-type: application/json'.",
            )
        };
        if !bytes.contains(&b'=') || bytes.trim_ascii_start().first() == Some(&b'<') {
            return Err(refusal());
        }
        let pairs: Vec<_> = url::form_urlencoded::parse(bytes.trim_ascii()).collect();
        if let [(name, text)] = pairs.as_slice()
            && name == FORM_PAYLOAD
            && looks_like_json(text.as_bytes())
        {
            return Self::of_json(text.as_bytes(), arrays);
        }
        let mut fields = Map::new();
        for (name, value) in pairs {
            let value = Value::String(value.into_owned());
            match fields.get_mut(name.as_ref()) {
                None => {
                    fields.insert(name.into_owned(), value);
                }
                Some(Value::Array(values)) => values.push(value),
                Some(first) => *first = json!([first.take(), value]),
            }
        }
        Self::of_one(Value::Object(fields))
    }

    /// Reads the attributes of CloudEvents in structured mode.
    fn cloud_events(mut self) -> Result<Self> {
        for item in &mut self.items {
            let Value::Object(fields) = &item.value else {
                return Err(Error::invalid("Each CloudEvent must be a JSON object."));
            };
            let attributes = fields
                .iter()
                .filter(|(name, _)| !["data", "data_base64"].contains(&name.as_str()));
            let attributes: Map<_, _> = attributes
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            check_attributes(&attributes)?;
            item.cloud_event = Some(attributes);
        }
        Ok(self)
    }
}

/// Reads the attributes of a CloudEvent in binary mode; None for another request.
fn binary_attributes(request: Request<'_>) -> Result<Option<Map<String, Value>>> {
    if request.header("ce-specversion").is_none() {
        return Ok(None);
    }
    let attributes = request.headers.keys().filter_map(|name| {
        let attribute = name.as_str().strip_prefix(CLOUD_EVENT)?;
        let text = request.header(name.as_str())?;
        let text = percent_encoding::percent_decode_str(text).decode_utf8_lossy();
        Some((attribute.to_owned(), Value::String(text.into_owned())))
    });
    let mut attributes: Map<_, _> = attributes.collect();
    if let Some(kind) = request.header(header::CONTENT_TYPE.as_str()) {
        attributes.insert("datacontenttype".to_owned(), json!(kind));
    }
    check_attributes(&attributes)?;
    Ok(Some(attributes))
}

/// Fails with 400 unless the attributes have each one that the specification of CloudEvents requires.
fn check_attributes(attributes: &Map<String, Value>) -> Result<()> {
    for name in ["specversion", "type", "source", "id"] {
        let is_there = attributes
            .get(name)
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty());
        if !is_there {
            return Err(Error::invalid(format!("A CloudEvent needs the text '{name}'.")));
        }
    }
    Ok(())
}

fn decompress<'a>(request: Request<'a>, limit: usize) -> Result<Cow<'a, [u8]>> {
    let encoding = request
        .header(header::CONTENT_ENCODING.as_str())
        .unwrap_or_default();
    match encoding.to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(Cow::Borrowed(request.body)),
        "gzip" | "x-gzip" => {
            let mut bytes = Vec::new();
            let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
            MultiGzDecoder::new(request.body)
                .take(most)
                .read_to_end(&mut bytes)
                .map_err(|_| {
                    Error::invalid("The body is not compressed with gzip, as its content encoding says.")
                })?;
            match bytes.len() > limit {
                true => Err(too_large(limit)),
                false => Ok(Cow::Owned(bytes)),
            }
        }
        other => Err(Error::new(
            ErrorKind::UnsupportedMediaType,
            format!(
                "The content encoding '{other}' is not taken; send the body as it is, or compressed with gzip."
            ),
        )),
    }
}

/// The refusal of a body of more than `limit` bytes.
pub fn too_large(limit: usize) -> Error {
    Error::new(
        ErrorKind::PayloadTooLarge,
        format!("The body is larger than the {limit} bytes that this operation takes."),
    )
}

/// Returns bytes without a byte order mark at their beginning.
fn strip_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

fn not_text(_: serde_json::Error) -> Error {
    Error::invalid("The body is not valid UTF-8.")
}

fn is_text(kind: &str) -> bool {
    kind.starts_with("text/") || kind == "application/xml" || kind.ends_with("+xml")
}

/// Whether a body is several lines, each an object.
fn are_lines(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty()).peekable();
    let is_object = |line: &[u8]| line.starts_with(b"{") && line.ends_with(b"}");
    lines.next().is_some_and(is_object) && lines.peek().is_some() && lines.all(is_object)
}

fn looks_like_json(bytes: &[u8]) -> bool {
    matches!(strip_mark(bytes).trim_ascii_start().first(), Some(b'{' | b'['))
}

fn check_count(values: &[Value]) -> Result<()> {
    if values.is_empty() || values.len() > MAX_EVENTS {
        return Err(Error::invalid(format!("An array has 1 to {MAX_EVENTS} events.")));
    }
    match values.iter().position(|value| !value.is_object()) {
        None => Ok(()),
        Some(place) => Err(Error::invalid(format!(
            "Each element of an array must be an object, which that at the place {place} is not."
        ))),
    }
}

/// Refuses with 400 JSON that nests deeper than readers of the event can parse. The result is arbitrary for
/// text that is not JSON; the parser refuses that later.
fn check_depth(bytes: &[u8]) -> Result<()> {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!(
                "The body nests deeper than {MAX_DEPTH} levels."
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName};
    use proptest::prelude::*;

    use super::*;

    fn read(headers: &[(&str, &str)], body: &[u8]) -> Result<Body> {
        let headers = headers.iter().map(|(name, value)| {
            let name: HeaderName = name.parse().unwrap();
            (name, value.parse().unwrap())
        });
        let headers: HeaderMap = headers.collect();
        Body::read(
            Request {
                method: "POST",
                url: "https://x.example/c",
                headers: &headers,
                body,
            },
            10_000,
            Arrays::Split,
        )
    }

    fn values(kind: &str, body: &str) -> Value {
        let body = read(&[("content-type", kind)], body.as_bytes()).unwrap();
        body.items.into_iter().map(|item| item.value).collect()
    }

    #[test]
    fn bodies_are_read_by_their_content_type() {
        const FORM: &str = "application/x-www-form-urlencoded";
        for (kind, body, expected) in [
            ("application/json", r#"{"a":1}"#, json!([{ "a": 1 }])),
            ("", r#"{"a":1}"#, json!([{ "a": 1 }])),
            (FORM, r#"{"a":1}"#, json!([{ "a": 1 }])),
            ("text/plain; charset=UTF-8", r#"{"a":1}"#, json!([{ "a": 1 }])),
            ("application/json", "\u{feff} {\"a\":1}", json!([{ "a": 1 }])),
            (
                "application/json",
                r#"[{"a":1},{"a":2}]"#,
                json!([{ "a": 1 }, { "a": 2 }]),
            ),
            (
                "application/x-ndjson",
                "{\"a\":1}\n\r\n{\"a\":2}\n",
                json!([{ "a": 1 }, { "a": 2 }]),
            ),
            (
                "application/json",
                "{\"a\":1}\n\r\n{\"a\":{}}\n",
                json!([{ "a": 1 }, { "a": {} }]),
            ),
            ("application/json", "{\n\"a\":\n{}\n}\n", json!([{ "a": {} }])),
            (
                FORM,
                "command=%2Fdeploy&text=prod+now",
                json!([{ "command": "/deploy", "text": "prod now" }]),
            ),
            (
                FORM,
                "a=1&b=2&a=3&a=4",
                json!([{ "a": ["1", "3", "4"], "b": "2" }]),
            ),
            (FORM, "payload=%7B%22zen%22%3A%22x%22%7D", json!([{ "zen": "x" }])),
            (FORM, "payload=text", json!([{ "payload": "text" }])),
            (FORM, "payload=%7B%7D&x=1", json!([{ "payload": "{}", "x": "1" }])),
            ("text/plain", "héllo", json!(["héllo"])),
            ("application/xml", "<a b=\"c\"/>", json!(["<a b=\"c\"/>"])),
            ("application/soap+xml", "<a/>", json!(["<a/>"])),
        ] {
            assert_eq!(values(kind, body), expected, "{kind} {body}");
        }
    }

    #[test]
    fn json_stays_as_it_was_sent() {
        for body in [r#"{ "n": 12345678901234567890, "x":1.0}"#, r#"{"a":1e3 }"#] {
            assert_eq!(read(&[], body.as_bytes()).unwrap().items[0].raw.get(), body);
        }
        let body = read(&[], br#"[ {"n": 9007199254740993 } , {"x":1.50}]"#).unwrap();
        let raws: Vec<_> = body.items.iter().map(|item| item.raw.get()).collect();
        assert_eq!(raws, [r#"{"n": 9007199254740993 }"#, r#"{"x":1.50}"#]);
    }

    #[test]
    fn compressed_bodies_are_read_up_to_the_limit() {
        let gzip = |bytes: &[u8]| {
            let mut encoder = flate2::read::GzEncoder::new(bytes, flate2::Compression::fast());
            let mut compressed = Vec::new();
            encoder.read_to_end(&mut compressed).unwrap();
            compressed
        };
        let headers = [("content-encoding", "gzip")];
        assert_eq!(
            read(&headers, &gzip(b"{\"a\":1}")).unwrap().whole,
            json!({ "a": 1 })
        );
        let refusal = read(&headers, &gzip(&vec![b' '; 10_001])).unwrap_err();
        assert_eq!(refusal.status(), 413);
        assert_eq!(read(&headers, b"{}").unwrap_err().status(), 400);
        assert_eq!(
            read(&[("content-encoding", "br")], b"{}").unwrap_err().status(),
            415
        );
    }

    #[test]
    fn cloud_events_are_read_in_each_mode() {
        let event = r#"{"specversion":"1.0","type":"t","source":"/s","id":"1","data":{"a":1}}"#;
        let attributes = json!({ "specversion": "1.0", "type": "t", "source": "/s", "id": "1" });
        let structured = read(
            &[("content-type", "application/cloudevents+json; charset=utf-8")],
            event.as_bytes(),
        );
        let structured = structured.unwrap();
        assert_eq!(
            Value::Object(structured.items[0].cloud_event.clone().unwrap()),
            attributes
        );
        let batch = format!("[{event},{event}]");
        let batch = read(
            &[("content-type", "application/cloudevents-batch+json")],
            batch.as_bytes(),
        )
        .unwrap();
        assert_eq!(batch.items.len(), 2);
        assert_eq!(
            Value::Object(batch.items[1].cloud_event.clone().unwrap()),
            attributes
        );
        let headers = [
            ("ce-specversion", "1.0"),
            ("ce-type", "t"),
            ("ce-source", "/s%20x"),
            ("ce-id", "1"),
        ];
        for (body, whole) in [("{\"a\":1}", json!({ "a": 1 })), ("", Value::Null)] {
            let binary = read(&headers, body.as_bytes()).unwrap();
            assert_eq!(binary.whole, whole);
            let attributes = binary.items[0].cloud_event.clone().unwrap();
            assert_eq!(attributes["source"], "/s x");
        }
    }

    #[test]
    fn cloud_event_without_a_required_attribute_is_refused() {
        let attributes = [
            ("specversion", "1.0"),
            ("type", "t"),
            ("source", "/s"),
            ("id", "1"),
        ];
        for (name, _) in attributes {
            let rest = attributes.iter().filter(|(other, _)| *other != name);
            let event: Map<_, _> = rest
                .clone()
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect();
            let event = Value::Object(event).to_string();
            let structured = [("content-type", "application/cloudevents+json")];
            let mut refusals = vec![read(&structured, event.as_bytes()).unwrap_err()];
            let headers: Vec<_> = rest.map(|(name, value)| (format!("ce-{name}"), *value)).collect();
            let mut headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), *value))
                .collect();
            // Without `ce-specversion` a request is no CloudEvent in binary mode, but an ordinary one.
            if name != "specversion" {
                refusals.push(read(&headers, b"{}").unwrap_err());
                refusals.push(read(&headers, b"").unwrap_err());
            }
            let empty = format!("ce-{name}");
            headers.push((&empty, ""));
            refusals.push(read(&headers, b"{}").unwrap_err());
            for refusal in refusals {
                assert_eq!(refusal.status(), 400);
                assert!(
                    refusal.message().contains(&format!("'{name}'")),
                    "{}",
                    refusal.message()
                );
            }
        }
    }

    #[test]
    fn other_bodies_are_refused() {
        let many = format!("[{}{{}}]", "{},".repeat(500));
        for (kind, body, status) in [
            ("application/json", "not json", 400),
            ("application/json", "", 400),
            ("application/json", "7", 400),
            ("application/json", "[1]", 400),
            ("application/json", "[]", 400),
            ("application/json", &many, 400),
            ("application/json", r#"{"a":1,"a":2}"#, 400),
            ("application/json", &"[".repeat(200), 400),
            ("application/x-www-form-urlencoded", "not a form", 400),
            ("application/x-www-form-urlencoded", "<a b=\"c\"/>", 400),
            ("application/x-www-form-urlencoded", "", 400),
            ("text/plain", "", 400),
        ] {
            assert_eq!(
                read(&[("content-type", kind)], body.as_bytes())
                    .unwrap_err()
                    .status(),
                status,
                "{kind} {body}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_body_is_read_or_refused(
            body in prop::collection::vec(any::<u8>(), 0..40),
            kind in "application/(json|x-ndjson|cloudevents(-batch)?\\+json|x-www-form-urlencoded|xml)|text/plain|",
            encoding in "(gzip)?",
        ) {
            if let Err(refusal) = read(&[("content-type", &kind), ("content-encoding", &encoding)], &body) {
                prop_assert!(refusal.status() < 500);
            }
        }
    }
}
