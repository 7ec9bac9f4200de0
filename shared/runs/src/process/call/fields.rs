//! Reads the parts of a call that are objects.

use process::Data;

use super::error::{CallError, ErrorKind};

pub(super) fn object(data: &Data, part: &str) -> Result<Vec<(String, Data)>, CallError> {
    match data.fields() {
        Some(fields) => Ok(fields),
        None if *data == Data::null() => Ok(Vec::new()),
        None => Err(CallError::new(
            ErrorKind::Expression,
            format!("The '{part}' of the call is not an object."),
        )),
    }
}

/// Returns the text of a value for an address or a header. Fails for values without such a text.
pub(super) fn scalar(value: &Data, name: &str) -> Result<String, CallError> {
    if let Some(text) = value.as_text() {
        return Ok(text);
    }
    // A number keeps all its digits in its JSON.
    match value.get().starts_with(['[', '{', 'n']) {
        false => Ok(value.get().to_owned()),
        true => Err(CallError::new(
            ErrorKind::Expression,
            format!(
                "The field '{name}' of the call is a list, an object or null; it takes texts, numbers and booleans."
            ),
        )),
    }
}
