//! Reads a JSON value from the command line: as text, from a file, or as fields that need no quoting.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use platform::{Error, Result};
use serde_json::{Map, Value};

/// Input of a run.
#[derive(Args)]
#[group(multiple = false)]
pub struct InputArguments {
    /// Fields of the input, an object: `key=value` is a text, `key:=json` any JSON.
    #[arg(value_name = "FIELD")]
    fields: Vec<String>,
    /// The input as JSON.
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// File with the input as JSON; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    input_file: Option<PathBuf>,
}

impl InputArguments {
    /// Returns the input; null where none is given.
    pub fn value(&self) -> Result<Value> {
        if let Some(file) = &self.input_file {
            let text = read(file)?;
            return serde_json::from_str(&text)
                .map_err(|error| Error::invalid(format!("{} is not valid JSON: {error}.", file.display())));
        }
        if let Some(text) = &self.input {
            return serde_json::from_str(text).map_err(|error| {
                Error::invalid(format!(
                    "--input is not valid JSON: {error}. Quotes are easily lost on a command line: give fields as key=value, \
                     or the JSON by --input-file."
                ))
            });
        }
        if self.fields.is_empty() {
            return Ok(Value::Null);
        }
        let mut object = Map::new();
        for field in &self.fields {
            let (key, value) = parsed(field)?;
            if object.insert(key.to_owned(), value).is_some() {
                return Err(Error::invalid(format!("The field '{key}' is given twice.")));
            }
        }
        Ok(Value::Object(object))
    }
}

fn parsed(field: &str) -> Result<(&str, Value)> {
    let (name, value) = field.split_once('=').ok_or_else(|| {
        Error::invalid(format!(
            "'{field}' is no field of the input: write key=value for a text, or key:=json for other JSON."
        ))
    })?;
    let (key, value) = match name.strip_suffix(':') {
        Some(key) => {
            let json = serde_json::from_str(value).map_err(|error| {
                Error::invalid(format!(
                    "The value of the field '{key}' is not valid JSON: {error}. Write {key}={value} for a text."
                ))
            })?;
            (key, json)
        }
        None => (name, Value::from(value)),
    };
    if key.is_empty() {
        return Err(Error::invalid(format!(
            "The field '{field}' has no name before the '='."
        )));
    }
    Ok((key, value))
}

/// Reads a text file, or standard input for `-`.
pub fn read(file: &Path) -> Result<String> {
    let mut text = String::new();
    let result = match file == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text).map(drop),
        false => std::fs::read_to_string(file).map(|contents| text = contents),
    };
    result.map_err(|error| Error::invalid(format!("{} cannot be read: {error}.", file.display())))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn input(fields: &[&str]) -> std::result::Result<Value, String> {
        let arguments = InputArguments {
            fields: fields.iter().map(ToString::to_string).collect(),
            input: None,
            input_file: None,
        };
        arguments.value().map_err(|error| error.message().to_owned())
    }

    #[test]
    fn fields_are_texts_unless_they_are_said_to_be_json() {
        assert_eq!(input(&[]), Ok(Value::Null));
        assert_eq!(
            input(&[
                "zip=01234",
                "title=Buy a horse",
                "steps:=3",
                "tags:=[\"a\"]",
                "sum=a=b",
                "url=http://a:=b"
            ]),
            Ok(
                json!({ "zip": "01234", "title": "Buy a horse", "steps": 3, "tags": ["a"], "sum": "a=b", "url": "http://a:=b" })
            )
        );
    }

    #[test]
    fn an_invalid_field_is_refused_with_the_right_form() {
        for (field, words) in [
            ("steps", "write key=value for a text"),
            ("=3", "has no name"),
            ("steps:=three", "Write steps=three for a text."),
        ] {
            let refusal = input(&[field]).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
        assert_eq!(
            input(&["a=1", "a=2"]),
            Err("The field 'a' is given twice.".to_owned())
        );
    }
}
