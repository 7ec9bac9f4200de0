//! Reads JSON bodies; rejections name the JSON path.

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::Operation;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::inexact::Digits;
use super::numbers::{Numbers, Rules};
use super::sent_size::{MAX_SENT_BYTES, sent_bytes};
use super::strict::Object;
use crate::error::{Error, ErrorKind};

/// Maximum body size of a function, in bytes; a request extension that its router sets.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit(pub usize);

impl Default for BodyLimit {
    /// 256 KiB.
    fn default() -> Self {
        Self(256 * 1_024)
    }
}

#[derive(Debug)]
pub struct Json<T>(pub T);

/// JSON body that may be missing, together with its content type.
#[derive(Debug)]
pub struct OptionalJson<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        check_content_type(request.headers())?;
        parse_exact::<Object<T>>(&body(request).await?).map(|Object(value)| Self(value))
    }
}

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let headers = request.headers().clone();
        let bytes = body(request).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_content_type(&headers)?;
        parse_exact::<Object<T>>(&bytes).map(|Object(value)| Self(value))
    }
}

impl<T: JsonSchema> OperationInput for Json<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        axum::Json::<T>::operation_input(context, operation);
    }
}

impl<T: JsonSchema> OperationInput for OptionalJson<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        axum::Json::<T>::operation_input(context, operation);
        if let Some(aide::openapi::ReferenceOr::Item(body)) = &mut operation.request_body {
            body.required = false;
        }
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Error> {
    let text = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = text
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::UnsupportedMediaType,
        "Send the body as JSON, with 'content-type: application/json'.",
    ))
}

/// Reads a whole body, up to the function's size limit.
pub async fn body(request: Request<Body>) -> Result<bytes::Bytes, Error> {
    let BodyLimit(limit) = request
        .extensions()
        .get::<BodyLimit>()
        .copied()
        .unwrap_or_default();
    match Limited::new(request.into_body(), limit).collect().await {
        Ok(collected) => {
            let body = collected.to_bytes();
            if body.len() > MAX_SENT_BYTES / 6 && sent_bytes(&body) > MAX_SENT_BYTES {
                return Err(Error::new(
                    ErrorKind::PayloadTooLarge,
                    format!(
                        "The body takes more than the {MAX_SENT_BYTES} bytes that can be sent, in which a quote, a backslash \
                         and a line break count twice; send it in parts."
                    ),
                ));
            }
            Ok(body)
        }
        Err(error) if error.is::<LengthLimitError>() => Err(Error::new(
            ErrorKind::PayloadTooLarge,
            format!("The body is larger than the {limit} bytes that this operation takes."),
        )),
        Err(error) if is_late(error.as_ref()) => Err(Error::timeout(
            "The body did not come in time; send it whole and without pauses.",
        )),
        Err(error) => Err(Error::invalid("The body ended before it was complete.").with_source(error)),
    }
}

/// Whether the server timed out waiting for the rest of a body.
fn is_late(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.any(|cause| {
        let cause = cause.downcast_ref::<std::io::Error>();
        cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::TimedOut)
    })
}

/// Parses JSON; a rejection names the JSON path, the line and the column. Numbers may be rounded, so callers
/// keep the text where they count.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    parse_by(Rules::default(), bytes)
}

/// Parses JSON like [`parse`], and rejects a number that would be rounded.
fn parse_exact<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let digits = Digits::new(bytes);
    let rules = Rules {
        exact: Some(&digits),
        ..Rules::default()
    };
    parse_by(rules, bytes)
}

fn parse_by<T: DeserializeOwned>(rules: Rules<'_>, bytes: &[u8]) -> Result<T, Error> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::invalid("The body is empty; send a JSON object."));
    }
    // RFC 8259 lets a reader ignore the mark, which some programs write.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(other) = other_than_json(bytes) {
        return Err(Error::invalid(format!(
            "The body is {other}, and must be JSON in UTF-8."
        )));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let numbers = Numbers {
        inner: &mut deserializer,
        rules,
    };
    let value = serde_path_to_error::deserialize(numbers).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        if cause.is_data() && path != "." {
            let dot = if path.starts_with('[') { "" } else { "." };
            let message = format!("The body is not as it must be at ${dot}{path}: {cause}.");
            Error::invalid(message).about(path).quoting_data()
        } else if cause.is_data() {
            Error::invalid(format!("The body is not as it must be: {cause}.")).quoting_data()
        } else {
            Error::invalid(format!("The body is not valid JSON: {cause}."))
        }
    })?;
    deserializer
        .end()
        .map_err(|error| Error::invalid(format!("The body is not valid JSON: {error}.")))?;
    Ok(value)
}

/// Returns what a body is that begins as no JSON does.
fn other_than_json(bytes: &[u8]) -> Option<&'static str> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-%+[]".contains(byte);
    match bytes.trim_ascii_start() {
        [0x1f, 0x8b, ..] => Some("compressed with gzip"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("text in UTF-16"),
        [b'<', ..] => Some("XML or HTML"),
        [b'-', b'-', ..] => Some("a form of the type multipart/form-data"),
        [b'a'..=b'z' | b'A'..=b'Z', ..] => {
            let name = bytes.iter().position(|byte| !is_name(byte))?;
            (bytes.get(name) == Some(&b'=')).then_some("a form of the type application/x-www-form-urlencoded")
        }
        _ => None,
    }
}

/// Parses a part of a body that was kept unparsed; a rejection names the JSON path from the body's root.
pub fn parse_part<T: DeserializeOwned>(path: &str, part: Value) -> Result<T, Error> {
    let numbers = Numbers {
        inner: part,
        rules: Rules::default(),
    };
    serde_path_to_error::deserialize(numbers).map_err(|error| {
        let below = error.path().to_string();
        let below = match below.as_str() {
            "." => String::new(),
            below if below.starts_with('[') => below.to_owned(),
            below => format!(".{below}"),
        };
        let cause = error.into_inner();
        let message = format!("The body is not as it must be at $.{path}{below}: {cause}.");
        Error::invalid(message)
            .about(format!("{path}{below}"))
            .quoting_data()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[expect(dead_code, reason = "only its reading is tested")]
        columns: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[expect(dead_code, reason = "only its reading is tested")]
        nullable: bool,
    }

    fn rejection(body: &str) -> String {
        parse::<Outer>(body.as_bytes()).unwrap_err().message().to_owned()
    }

    #[test]
    fn bodies_of_other_forms_are_named() {
        let named = |body: &[u8]| parse::<Outer>(body).unwrap_err().message().to_owned();
        for (body, form) in [
            (
                &b"payload=%7B%7D"[..],
                "a form of the type application/x-www-form-urlencoded",
            ),
            (b"--x\r\ncontent-disposition: form-data", "multipart/form-data"),
            (b"\x1f\x8b\x08", "compressed with gzip"),
            (b"\xff\xfe{\0", "text in UTF-16"),
            (b" <!doctype html>", "XML or HTML"),
        ] {
            let named = named(body);
            assert!(
                named.contains(form) && named.contains("must be JSON in UTF-8"),
                "{named}"
            );
        }
        assert!(named(b"columns").contains("not valid JSON"));
        assert!(parse::<Outer>(b"\xef\xbb\xbf{\"columns\":[]}").is_ok());
    }

    #[test]
    fn rejections_name_the_path() {
        insta::assert_snapshot!(
            rejection(r#"{"columns":[{"nullable":true},{"nullable":"yes"}]}"#),
            @r#"The body is not as it must be at $.columns[1].nullable: invalid type: string "yes", expected a boolean at line 1 column 47."#
        );
        insta::assert_snapshot!(rejection("{}"), @"The body is not as it must be: missing field `columns` at line 1 column 2.");
        insta::assert_snapshot!(rejection(r#"{"columns":["#), @"The body is not valid JSON: EOF while parsing a list at line 1 column 12.");
        insta::assert_snapshot!(rejection(r#"{"columns":[]} x"#), @"The body is not valid JSON: trailing characters at line 1 column 16.");
        insta::assert_snapshot!(rejection(" \n"), @"The body is empty; send a JSON object.");
        insta::assert_snapshot!(
            rejection(r#"{"columns":[],"columns":[]}"#),
            @"The body is not as it must be: duplicate field `columns` at line 1 column 23."
        );
    }

    #[derive(Debug, Deserialize)]
    struct Free {
        #[expect(dead_code, reason = "only its reading is tested")]
        value: super::super::strict::Json,
        raw: Option<Box<serde_json::value::RawValue>>,
        ratio: Option<f64>,
    }

    #[test]
    fn a_number_that_would_be_rounded_is_refused_unless_it_stays_text() {
        let number = "12345678901234567.89";
        for (body, path) in [
            (r#"{"value":{"a":[@]}}"#, "$.value.a[0]"),
            (r#"{"value":null,"ratio":@}"#, "$.ratio"),
        ] {
            let body = body.replace('@', number);
            let error = parse_exact::<Free>(body.as_bytes()).unwrap_err();
            let expected = format!(
                "The body is not as it must be at {path}: the number {number} would be rounded to 1.2345678901234568e+16; send it \
                 as a string, which keeps its digits"
            );
            assert!(error.message().starts_with(&expected), "{error}");
            assert!(parse::<Free>(body.as_bytes()).is_ok());
        }
        // Whichever of many it is.
        let many: Vec<_> = (0..1_000)
            .map(|n| format!("{}.{n:03}123456789012345678", 7 * n % 1_000))
            .collect();
        for number in many.iter().step_by(37) {
            let body = format!("{{\"raw\":[{}],\"value\":[{number}]}}", many.join(","));
            let error = parse_exact::<Free>(body.as_bytes()).unwrap_err();
            assert!(error.message().contains(number.as_str()), "{error}");
        }
        let body = r#"{"value":[0.1,1e3],"ratio":0.25,"raw":[@],"unknown":@}"#.replace('@', number);
        let read = parse_exact::<Free>(body.as_bytes()).unwrap();
        assert_eq!(read.raw.unwrap().get(), format!("[{number}]"));
        assert_eq!(read.ratio, Some(0.25));
    }
}
