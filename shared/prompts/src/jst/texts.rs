//! Carries out the functions of texts, whose positions count UTF-16 units, and of numbers. A part that would
//! be half a character becomes U+FFFD.

use platform::javascript::number_text;

use super::calls::{relative, too_long};
use super::evaluate::{Renderer, Result};
use super::functions::Method;
use crate::error::{Place, RenderError};
use crate::handlebars::words::is_space;
use crate::limits::MAX_OUTPUT_BYTES;
use crate::value::Item;

/// Maximum number of digits behind the point; JavaScript's own limit.
const MAX_DIGITS: f64 = 100.0;
/// Digits behind the point that any number with a half behind at most 100 of them has at most.
const EXACT_DIGITS: usize = 450;
/// Steps of writing these digits.
const STEPS_OF_DIGITS: usize = 20;

impl<'a> Renderer<'a> {
    /// Returns the result of a function of a text; None where texts have no such function.
    pub fn text_method(
        &mut self,
        place: Place,
        text: &str,
        method: Method,
        values: &[Item<'a>],
    ) -> Result<Option<Item<'a>>> {
        // Converting and searching take longer than copying bytes.
        self.output.spend_bytes(4 * text.len())?;
        let argument = self.argument_text(values, 0)?;
        let wanted = argument.as_ref().and_then(Item::text).unwrap_or_default();
        Ok(Some(match method {
            Method::At => {
                let index = self.argument_integer(values, 0)?.unwrap_or(0.0);
                let units: Vec<u16> = text.encode_utf16().collect();
                let count = units.len() as f64;
                let index = if index < 0.0 { index + count } else { index };
                match index >= 0.0 && index < count {
                    true => {
                        let unit = units.get(index as usize).copied().unwrap_or_default();
                        Item::Made(String::from_utf16_lossy(&[unit]).into())
                    }
                    false => Item::Undefined,
                }
            }
            Method::Concat => {
                let mut parts = vec![Item::Made(text.into())];
                parts.extend(values.iter().cloned());
                self.text(&parts.iter().collect::<Vec<_>>())?
            }
            Method::Includes => Item::Bool(text.contains(wanted)),
            Method::StartsWith => Item::Bool(text.starts_with(wanted)),
            Method::EndsWith => Item::Bool(text.ends_with(wanted)),
            Method::IndexOf => {
                let before = text.find(wanted).and_then(|at| text.get(..at));
                Item::Number(before.map_or(-1.0, |before| before.encode_utf16().count() as f64))
            }
            Method::Slice | Method::Substring => self.part(text, method, values)?,
            Method::PadStart | Method::PadEnd => self.padded(text, method, values)?,
            Method::Repeat => {
                let count = self.argument_integer(values, 0)?.unwrap_or(0.0);
                if count < 0.0 || count.is_infinite() {
                    let reason = "'repeat' takes a number from 0";
                    return Err(RenderError::data(place, reason));
                }
                if text.len() as f64 * count > MAX_OUTPUT_BYTES as f64 {
                    return Err(too_long());
                }
                let count = if text.is_empty() { 0 } else { count as usize };
                self.computed(text.repeat(count))?
            }
            Method::Replace | Method::ReplaceAll => {
                let by = self.argument_text(values, 1)?;
                let by = by.as_ref().and_then(Item::text).unwrap_or_default();
                self.replaced(text, wanted, by, method == Method::ReplaceAll)?
            }
            Method::Split => self.split(text, wanted)?,
            Method::ToLowerCase => self.computed(text.to_lowercase())?,
            Method::ToUpperCase => self.computed(text.to_uppercase())?,
            Method::Trim => self.computed(text.trim_matches(is_space).to_owned())?,
            Method::TrimEnd => self.computed(text.trim_end_matches(is_space).to_owned())?,
            Method::TrimStart => self.computed(text.trim_start_matches(is_space).to_owned())?,
            _ => return Ok(None),
        }))
    }

    fn part(&mut self, text: &str, method: Method, values: &[Item<'a>]) -> Result<Item<'a>> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let count = units.len();
        let begin = self.argument_integer(values, 0)?.unwrap_or(0.0);
        let end = self.argument_integer(values, 1)?.unwrap_or(count as f64);
        let (begin, end) = match method {
            Method::Slice => (relative(begin, count), relative(end, count)),
            _ => {
                let begin = relative(begin.max(0.0), count);
                let end = relative(end.max(0.0), count);
                (begin.min(end), begin.max(end))
            }
        };
        let part = units.get(begin..end).unwrap_or_default();
        self.computed(String::from_utf16_lossy(part))
    }

    fn padded(&mut self, text: &str, method: Method, values: &[Item<'a>]) -> Result<Item<'a>> {
        let length = self.argument_integer(values, 0)?.unwrap_or(0.0);
        let fill = self.argument_text(values, 1)?;
        let fill = fill.as_ref().and_then(Item::text).unwrap_or(" ");
        let missing = length - text.encode_utf16().count() as f64;
        if missing <= 0.0 || fill.is_empty() {
            return self.computed(text.to_owned());
        }
        if missing > MAX_OUTPUT_BYTES as f64 {
            return Err(too_long());
        }
        self.output.spend_bytes(4 * missing as usize)?;
        let units: Vec<u16> = fill.encode_utf16().cycle().take(missing as usize).collect();
        let padding = String::from_utf16_lossy(&units);
        self.computed(match method {
            Method::PadStart => padding + text,
            _ => text.to_owned() + &padding,
        })
    }

    fn replaced(&mut self, text: &str, wanted: &str, by: &str, is_all: bool) -> Result<Item<'a>> {
        let (mut result, mut end) = (String::new(), 0);
        let most = if is_all { usize::MAX } else { 1 };
        for (at, _) in text.match_indices(wanted).take(most) {
            self.output.spend_bytes(by.len())?;
            result.push_str(text.get(end..at).unwrap_or_default());
            end = at + wanted.len();
            let (before, behind) = (text.get(..at), text.get(end..));
            expand(
                &mut result,
                by,
                wanted,
                before.unwrap_or_default(),
                behind.unwrap_or_default(),
            );
            if result.len() > MAX_OUTPUT_BYTES {
                return Err(too_long());
            }
        }
        result.push_str(text.get(end..).unwrap_or_default());
        self.computed(result)
    }

    fn split(&mut self, text: &str, separator: &str) -> Result<Item<'a>> {
        let mut parts = Vec::new();
        if separator.is_empty() {
            self.output.spend(4 * text.len())?;
            let characters = text.chars().map(|part| Item::Made(part.to_string().into()));
            parts.extend(characters);
        } else {
            for part in text.split(separator) {
                self.output.spend(4)?;
                parts.push(Item::Made(part.into()));
            }
        }
        Ok(Item::List(parts.into()))
    }

    /// Writes a number with a fixed number of digits. Of two numbers that are as near, the greater one.
    pub fn fixed_digits(
        &mut self,
        place: Place,
        number: &Item<'a>,
        digits: Option<&Item<'a>>,
    ) -> Result<Item<'a>> {
        self.output.spend(STEPS_OF_DIGITS)?;
        let digits = match digits {
            Some(digits) => self.argument_integer(std::slice::from_ref(digits), 0)?,
            None => None,
        };
        let digits = digits.unwrap_or(0.0);
        if !(0.0..=MAX_DIGITS).contains(&digits) {
            let reason = "'toFixed' takes a number of digits from 0 to 100";
            return Err(RenderError::data(place, reason));
        }
        let digits = digits as usize;
        if let Item::Integer(integer) = number {
            let point = if digits > 0 { "." } else { "" };
            return self.computed(format!("{integer}{point}{}", "0".repeat(digits)));
        }
        let number = number.number();
        if !number.is_finite() || number.abs() >= 1e21 {
            return self.computed(number_text(number));
        }
        self.computed(fixed(number, digits))
    }
}

fn fixed(number: f64, digits: usize) -> String {
    let exact = format!("{:.EXACT_DIGITS$}", number.abs());
    let (whole, part) = exact.split_once('.').unwrap_or((&exact, ""));
    let (kept, rest) = part.split_at_checked(digits).unwrap_or((part, ""));
    let mut figures: Vec<u8> = whole.bytes().chain(kept.bytes()).collect();
    if rest.starts_with(|next: char| next >= '5') {
        let mut carry = true;
        for figure in figures.iter_mut().rev() {
            if !carry {
                break;
            }
            carry = *figure == b'9';
            *figure = if carry { b'0' } else { *figure + 1 };
        }
        if carry {
            figures.insert(0, b'1');
        }
    }
    let mut text = String::from_utf8(figures).unwrap_or_default();
    if digits > 0 {
        text.insert(text.len().saturating_sub(digits), '.');
    }
    match number < 0.0 {
        true => format!("-{text}"),
        false => text,
    }
}

/// Appends a replacement, in which `$$` is a dollar, `$&` the replaced text, `` $` `` the text before it and
/// `$'` the text behind it.
fn expand(result: &mut String, by: &str, replaced: &str, before: &str, behind: &str) {
    let mut rest = by;
    while let Some((text, special)) = rest.split_once('$') {
        result.push_str(text);
        let part = match special.chars().next() {
            Some('$') => "$",
            Some('&') => replaced,
            Some('`') => before,
            Some('\'') => behind,
            _ => {
                result.push('$');
                rest = special;
                continue;
            }
        };
        result.push_str(part);
        rest = special.get(1..).unwrap_or_default();
    }
    result.push_str(rest);
}
