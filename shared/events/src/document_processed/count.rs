//! Parses counts in JSON: whole numbers from 0, also as `3.0`, which some languages write for 3.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Maximum count: up to it, JSON and the quantity of a meter represent each whole number exactly.
pub const MAX_COUNT: u64 = (1 << 53) - 1;

struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(CountVisitor)
    }
}

pub fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Count::deserialize(deserializer).map(|count| count.0)
}

/// Reads a count that may be null.
pub fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let count = Option::<Count>::deserialize(deserializer)?;
    Ok(count.map(|count| count.0))
}

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = Count;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a whole number from 0 to {MAX_COUNT}")
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<Count, E> {
        match count <= MAX_COUNT {
            true => Ok(Count(count)),
            false => Err(E::invalid_value(serde::de::Unexpected::Unsigned(count), &self)),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Count, E> {
        if number.fract() == 0.0 && (0.0..=MAX_COUNT as f64).contains(&number) {
            return Ok(Count(number as u64));
        }
        Err(E::invalid_value(serde::de::Unexpected::Float(number), &self))
    }
}
