//! Serializes times of stored records.

/// Milliseconds since the Unix epoch: short, and quick to parse.
pub(crate) mod millis {
    use platform::UtcTime;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(time: &UtcTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(time.as_millis())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UtcTime, D::Error> {
        let millis = i64::deserialize(deserializer)?;
        UtcTime::from_millis(millis).ok_or_else(|| D::Error::custom("a time out of range"))
    }
}

/// The same for an optional time.
pub(crate) mod optional_millis {
    use platform::UtcTime;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Option<UtcTime>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(UtcTime::as_millis).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<UtcTime>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.and_then(UtcTime::from_millis))
    }
}
