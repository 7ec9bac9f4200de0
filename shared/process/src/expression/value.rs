//! The values that expressions compute with: those of the library, with the operators of jq.

use std::cmp::Ordering;
use std::fmt;

use jaq_core::box_iter::{BoxIter, box_once};
use jaq_core::path::Opt;
use jaq_core::val::Range;
use jaq_core::{ValR, ValX};
use jaq_json::{Map, Num, Rc, Val};
use jaq_std::ValT as _;

use super::compare::{compare, compare_by_operator};
use super::json;
use super::places::{indices, place, slice};

pub(super) type Error = jaq_core::Error<Value>;

/// A JSON value.
#[derive(Clone, Debug, Default)]
pub(super) struct Value(pub Val);

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        compare_by_operator(&self.0, &other.0) == Ordering::Equal
    }
}

impl Eq for Value {}

#[expect(
    clippy::non_canonical_partial_ord_impl,
    reason = "by jq's operators, what is no number is less than itself, and no order can be so"
)]
impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(compare_by_operator(&self.0, &other.0))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

/// Returns an error with this text.
pub(super) fn failure(text: impl fmt::Display) -> Error {
    Error::str(text)
}

impl Value {
    pub fn text(text: impl Into<String>) -> Self {
        Self(Val::from(text.into()))
    }

    pub fn number(number: f64) -> Self {
        Self(Val::Num(Num::Float(number)))
    }

    pub fn null() -> Self {
        Self(Val::Null)
    }

    pub fn as_text(&self) -> Option<std::borrow::Cow<'_, str>> {
        match &self.0 {
            Val::TStr(bytes) => Some(String::from_utf8_lossy(bytes)),
            _ => None,
        }
    }

    pub fn as_number(&self) -> Option<f64> {
        self.0.as_f64()
    }

    pub fn kind(&self) -> &'static str {
        match &self.0 {
            Val::Null => "null",
            Val::Bool(_) => "boolean",
            Val::Num(_) => "number",
            Val::TStr(_) | Val::BStr(_) => "string",
            Val::Arr(_) => "array",
            Val::Obj(_) => "object",
        }
    }

    /// The value with its kind, shortened, for messages.
    pub fn described(&self) -> String {
        /// Maximum length of a quoted value, in characters.
        const MAX_QUOTED: usize = 40;
        let text = self.to_string();
        match text.char_indices().nth(MAX_QUOTED) {
            Some((end, _)) => format!("{} ({}…)", self.kind(), text.get(..end).unwrap_or_default()),
            None => format!("{} ({text})", self.kind()),
        }
    }

    fn cannot_iterate<T>(&self) -> Result<T, Error> {
        Err(failure(format_args!("cannot iterate over {}", self.described())))
    }

    pub(super) fn cannot_index<T>(&self, index: &Self) -> Result<T, Error> {
        Err(failure(format_args!(
            "cannot index {} with {}",
            self.described(),
            index.described()
        )))
    }

    /// Start and end of a slice as an object, as a path has them.
    pub fn bounds(&self) -> Option<(Self, Self)> {
        let Val::Obj(fields) = &self.0 else { return None };
        let field = |name: &str| {
            let value = fields.get(&Val::from(name.to_owned()));
            Self(value.cloned().unwrap_or_default())
        };
        Some((field("start"), field("end")))
    }
}

fn sliced(text: &str, start: usize, end: usize) -> String {
    text.chars().skip(start).take(end - start).collect()
}

impl jaq_core::ValT for Value {
    fn from_num(number: &str) -> ValR<Self> {
        Ok(Self(<Val as jaq_core::ValT>::from_num(number).map_err(|_| {
            failure(format_args!("'{number}' is not a number"))
        })?))
    }

    fn from_map<I: IntoIterator<Item = (Self, Self)>>(entries: I) -> ValR<Self> {
        let mut fields = Map::default();
        for (name, value) in entries {
            match name.0 {
                Val::TStr(_) => drop(fields.insert(name.0, value.0)),
                _ => {
                    return Err(failure(format_args!(
                        "object keys must be strings, not {}",
                        name.described()
                    )));
                }
            }
        }
        Ok(Self(Val::obj(fields)))
    }

    fn key_values(self) -> BoxIter<'static, ValR<(Self, Self), Self>> {
        match self.0 {
            Val::Arr(items) => {
                let items = Rc::unwrap_or_clone(items).into_iter().enumerate();
                Box::new(items.map(|(index, item)| Ok((Self(Val::from(index)), Self(item)))))
            }
            Val::Obj(fields) => {
                let fields = Rc::unwrap_or_clone(fields).into_iter();
                Box::new(fields.map(|(name, value)| Ok((Self(name), Self(value)))))
            }
            _ => box_once(self.cannot_iterate()),
        }
    }

    fn values(self) -> Box<dyn Iterator<Item = ValR<Self>>> {
        match self.0 {
            Val::Arr(items) => Box::new(Rc::unwrap_or_clone(items).into_iter().map(|item| Ok(Self(item)))),
            Val::Obj(fields) => Box::new(
                Rc::unwrap_or_clone(fields)
                    .into_iter()
                    .map(|(_, value)| Ok(Self(value))),
            ),
            _ => box_once(self.cannot_iterate()),
        }
    }

    fn index(self, index: &Self) -> ValR<Self> {
        match (&self.0, &index.0) {
            (Val::Null, Val::TStr(_) | Val::Num(_) | Val::Obj(_)) => Ok(Self::null()),
            (Val::Obj(fields), Val::TStr(_)) => Ok(Self(fields.get(&index.0).cloned().unwrap_or_default())),
            (Val::Arr(items), Val::Num(_)) => {
                let place = index.as_number().and_then(|index| place(index, items.len()));
                Ok(Self(
                    place
                        .and_then(|place| items.get(place))
                        .cloned()
                        .unwrap_or_default(),
                ))
            }
            (Val::Arr(_) | Val::TStr(_), Val::Obj(_)) => match index.bounds() {
                Some((start, end)) => self.range(Some(&start)..Some(&end)),
                None => self.cannot_index(index),
            },
            (Val::Arr(items), Val::Arr(part)) => Ok(indices(items, part)),
            _ => self.cannot_index(index),
        }
    }

    fn range(self, range: Range<&Self>) -> ValR<Self> {
        let missing = Self::null();
        let (start, end) = (range.start.unwrap_or(&missing), range.end.unwrap_or(&missing));
        match &self.0 {
            Val::Null => Ok(Self::null()),
            Val::Arr(items) => {
                let (start, end) = slice(items.len(), start, end)?;
                Ok(Self(
                    items.iter().skip(start).take(end - start).cloned().collect(),
                ))
            }
            Val::TStr(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let (start, end) = slice(text.chars().count(), start, end)?;
                Ok(Self::text(sliced(&text, start, end)))
            }
            _ => Err(failure(format_args!(
                "cannot take a slice of {}",
                self.described()
            ))),
        }
    }

    // The rewriting leaves no update to the library.
    fn map_values<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        _: Opt,
        _: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        Err(Error::path_expr(self).into())
    }

    fn map_index<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        _: &Self,
        _: Opt,
        _: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        Err(Error::path_expr(self).into())
    }

    fn map_range<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        _: Range<&Self>,
        _: Opt,
        _: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        Err(Error::path_expr(self).into())
    }

    fn as_bool(&self) -> bool {
        !matches!(self.0, Val::Null | Val::Bool(false))
    }

    fn into_string(self) -> Self {
        match self.0 {
            Val::TStr(_) => self,
            _ => Self::text(self.to_string()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        json::append(&self.0, &mut text);
        f.write_str(&text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self(Val::Bool(value))
    }
}

impl From<isize> for Value {
    fn from(number: isize) -> Self {
        Self(Val::from(number))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self(Val::from(number))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Range<Self>> for Value {
    fn from(range: Range<Self>) -> Self {
        let field =
            |name: &str, value: Option<Self>| (Val::from(name.to_owned()), value.unwrap_or_default().0);
        let fields = [field("start", range.start), field("end", range.end)];
        Self(Val::obj(fields.into_iter().collect()))
    }
}

impl FromIterator<Self> for Value {
    fn from_iter<I: IntoIterator<Item = Self>>(items: I) -> Self {
        Self(items.into_iter().map(|item| item.0).collect())
    }
}

impl jaq_std::ValT for Value {
    fn into_seq<S: FromIterator<Self>>(self) -> Result<S, Self> {
        match self.0 {
            Val::Arr(items) => Ok(Rc::unwrap_or_clone(items).into_iter().map(Self).collect()),
            _ => Err(self),
        }
    }

    fn is_int(&self) -> bool {
        self.0.is_int()
    }

    fn as_isize(&self) -> Option<isize> {
        match &self.0 {
            Val::Num(Num::Float(number)) if number.is_finite() => Some(*number as isize),
            _ => self.0.as_isize(),
        }
    }

    fn as_f64(&self) -> Option<f64> {
        self.0.as_f64()
    }

    fn is_utf8_str(&self) -> bool {
        self.0.is_utf8_str()
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        self.0.as_bytes()
    }

    fn as_sub_str(&self, part: &[u8]) -> Self {
        Self(self.0.as_sub_str(part))
    }

    fn from_utf8_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Self::text(String::from_utf8_lossy(bytes.as_ref()).into_owned())
    }
}
