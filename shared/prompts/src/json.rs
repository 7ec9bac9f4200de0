//! Writes values as JSON, as `JSON.stringify` does.

use platform::javascript::number_text;

use crate::error::RenderError;
use crate::limits::MAX_NESTING;
use crate::output::Output;
use crate::value::Item;

/// Writes a value; with an indent, each element and property in a line of its own.
pub fn print(item: &Item<'_>, indent: &str, output: &mut Output) -> Result<(), RenderError> {
    write(item, indent, 0, output)
}

/// Writes an array as `Array.prototype.join` does, and as JSON if an object is in it: the text of an object
/// in JavaScript says nothing of it.
pub fn print_array(item: &Item<'_>, output: &mut Output) -> Result<(), RenderError> {
    match has_object(item, 0, output)? {
        true => print(item, "", output),
        false => print_joined(item, ",", output),
    }
}

/// Writes the elements of an array with a separator between them; nothing for `null` and `undefined`.
pub fn print_joined(item: &Item<'_>, separator: &str, output: &mut Output) -> Result<(), RenderError> {
    for index in 0..item.count() {
        if index > 0 {
            output.push(separator)?;
        }
        match item.element(index) {
            // Deeper arrays are joined by commas, whatever the separator; `has_object` limits their depth.
            inner if inner.is_array() => print_array(&inner, output)?,
            inner => inner.print(output)?,
        }
    }
    Ok(())
}

fn has_object(item: &Item<'_>, nesting: usize, output: &mut Output) -> Result<bool, RenderError> {
    limited(nesting)?;
    for index in 0..item.count() {
        output.spend(1)?;
        let inner = item.element(index);
        let is_found = match inner.is_array() {
            true => has_object(&inner, nesting + 1, output)?,
            false => inner.is_object(),
        };
        if is_found {
            return Ok(true);
        }
    }
    Ok(false)
}

fn limited(nesting: usize) -> Result<(), RenderError> {
    match nesting > MAX_NESTING {
        true => Err(RenderError::limit(format!(
            "it prints values within one another, more than {MAX_NESTING} deep"
        ))),
        false => Ok(()),
    }
}

fn write(item: &Item<'_>, indent: &str, nesting: usize, output: &mut Output) -> Result<(), RenderError> {
    limited(nesting)?;
    match item {
        Item::Undefined | Item::Null => output.push("null"),
        Item::Number(number) if !number.is_finite() => output.push("null"),
        Item::Number(number) => output.push(&number_text(*number)),
        Item::Bool(_) | Item::Integer(_) => item.print(output),
        Item::Text(_) | Item::Made(_) => write_text(item.text().unwrap_or_default(), output),
        Item::Array(_) | Item::List(_) => {
            let count = item.count();
            output.push("[")?;
            for index in 0..count {
                begin_line(index, indent, nesting + 1, output)?;
                write(&item.element(index), indent, nesting + 1, output)?;
            }
            end_lines(count, indent, nesting, "]", output)
        }
        Item::Object(_) | Item::Merged(_) | Item::Empty => {
            output.push("{")?;
            let mut count = 0;
            for (name, value) in item.entries(output)? {
                if matches!(value, Item::Undefined) {
                    continue;
                }
                begin_line(count, indent, nesting + 1, output)?;
                write_text(name.text().unwrap_or_default(), output)?;
                output.push(if indent.is_empty() { ":" } else { ": " })?;
                write(&value, indent, nesting + 1, output)?;
                count += 1;
            }
            end_lines(count, indent, nesting, "}", output)
        }
    }
}

fn write_text(text: &str, output: &mut Output) -> Result<(), RenderError> {
    // The budget is spent before the text is copied.
    output.spend_bytes(text.len())?;
    output.push(&serde_json::Value::from(text).to_string())
}

fn begin_line(index: usize, indent: &str, nesting: usize, output: &mut Output) -> Result<(), RenderError> {
    if index > 0 {
        output.push(",")?;
    }
    new_line(indent, nesting, output)
}

fn end_lines(
    count: usize,
    indent: &str,
    nesting: usize,
    end: &str,
    output: &mut Output,
) -> Result<(), RenderError> {
    if count > 0 {
        new_line(indent, nesting, output)?;
    }
    output.push(end)
}

fn new_line(indent: &str, nesting: usize, output: &mut Output) -> Result<(), RenderError> {
    if indent.is_empty() {
        return Ok(());
    }
    output.push("\n")?;
    for _ in 0..nesting {
        output.push(indent)?;
    }
    Ok(())
}
