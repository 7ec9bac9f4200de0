//! Checks texts that people write.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Error, Result};

/// Maximum length of a name, in characters.
pub const MAX_NAME_LENGTH: usize = 200;

/// Checks a name: 1 to 200 characters, not only white space, no control characters. Errors name the field.
pub fn check_name(field: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid_field(field, "must not be empty."));
    }
    if text.chars().count() > MAX_NAME_LENGTH {
        return Err(Error::invalid_field(
            field,
            format!("is longer than {MAX_NAME_LENGTH} characters."),
        ));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::invalid_field(
            field,
            "holds a control character; remove it.",
        ));
    }
    Ok(())
}

/// Maximum length of a message, reason or default, in characters.
pub const MAX_TEXT_LENGTH: usize = 2_000;

/// Maximum length of a description, in characters.
pub const MAX_DESCRIPTION_LENGTH: usize = 10_000;

/// Checks an optional text of a few sentences, such as a message or a reason.
pub fn check_text(field: &str, text: Option<&str>) -> Result<()> {
    check_length(field, text, MAX_TEXT_LENGTH)
}

/// Why a run or a delivery is stopped. The body may be left out.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Act {
    /// Reason for the history of the run or the `last_error` of the delivery; at most 2,000 characters.
    pub reason: Option<String>,
}

impl Act {
    /// Returns the checked reason; None for an empty one.
    pub fn reason(&self) -> Result<Option<&str>> {
        let reason = self.reason.as_deref();
        check_text("reason", reason)?;
        Ok(reason.filter(|reason| !reason.is_empty()))
    }
}

/// Checks an optional description.
pub fn check_description(field: &str, text: Option<&str>) -> Result<()> {
    check_length(field, text, MAX_DESCRIPTION_LENGTH)
}

fn check_length(field: &str, text: Option<&str>, most: usize) -> Result<()> {
    match text.map_or(0, |text| text.chars().count()) {
        count if count > most => Err(Error::invalid_field(
            field,
            format!("has {count} characters and is longer than {most}; shorten it."),
        )),
        _ => Ok(()),
    }
}

/// Maximum length of an external resource id, in bytes: two of them fit into the 1,024 bytes of a sort key.
const MAX_ID_BYTES: usize = 400;

/// Checks the id of an external resource: 1 to 200 characters, without control characters and `#`, which
/// separates the parts of record keys.
pub fn check_resource_id(field: &str, id: &str) -> Result<()> {
    check_name(field, id)?;
    if id.len() > MAX_ID_BYTES {
        return Err(Error::invalid_field(
            field,
            format!("is longer than {MAX_ID_BYTES} bytes."),
        ));
    }
    if id.contains('#') {
        return Err(Error::invalid_field(
            field,
            format!("is '{id}'; an id holds no '#'."),
        ));
    }
    Ok(())
}

/// Checks tags: at most 50, each a name.
pub fn check_tags(tags: &[String]) -> Result<()> {
    if tags.len() > 50 {
        return Err(Error::invalid_field("tags", "has more than 50 entries."));
    }
    tags.iter()
        .enumerate()
        .try_for_each(|(index, tag)| check_name(&format!("tags[{index}]"), tag))
}
