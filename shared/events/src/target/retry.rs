//! Defines when a delivery to a webhook is retried.

use platform::{Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// Pauses after the first attempt, the second, and so on, in milliseconds, where a target sets none. One more
/// attempt follows the last pause.
pub const RETRY_SCHEDULE_MS: [u64; 9] = [
    5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000,
];
const MAX_ATTEMPTS: u32 = 50;
/// Longest pause, in seconds: a day.
const MAX_PAUSE_SECONDS: u64 = 86_400;
/// Longest time of all pauses, in seconds: a week, in which the event is kept.
const MAX_TOTAL_SECONDS: u64 = 7 * 86_400;
const FACTOR: std::ops::RangeInclusive<f64> = 1.0..=10.0;
const DEFAULT_FACTOR: f64 = 2.0;
const MAX_STATUSES: usize = 50;

/// How often a delivery is attempted, after which pauses, and after which answers. Every pause varies by up
/// to a fifth, and a `Retry-After` of the receiver extends it up to its double. A connection that fails and
/// an answer that comes too late are always retried; 2xx delivers, and 410 disables the subscription.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Maximum number of attempts. Default: one more than `schedule_seconds` has pauses, else 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_ATTEMPTS))]
    pub max_attempts: Option<u32>,
    /// Pauses after the first attempt, the second, and so on, in seconds, each of 1 to 86,400; the last one
    /// repeats. All pauses together take a week at most. Default: 5, 30, 120, 600, 1,800, 3,600, 7,200,
    /// 14,400 and 28,800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_ATTEMPTS - 1))]
    pub schedule_seconds: Option<Vec<u64>>,
    /// First pause in seconds, of pauses that grow by `factor`; excludes `schedule_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_PAUSE_SECONDS))]
    pub initial_seconds: Option<u64>,
    /// Longest pause in seconds, with `initial_seconds`. Default: 86,400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_PAUSE_SECONDS))]
    pub maximum_seconds: Option<u64>,
    /// Factor of each pause to the one before, with `initial_seconds`. Default: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10))]
    pub factor: Option<f64>,
    /// Statuses that are retried, such as `503`, and classes of them, such as `"5xx"`, from 300 to 599
    /// without 410. Any other fails the delivery. Default: 408, 425, 429 and 5xx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_STATUSES))]
    pub statuses: Option<Vec<StatusRule>>,
}

impl Retry {
    pub(super) fn check(&self) -> Result<()> {
        let refuse =
            |field: &str, why: String| Err(Error::invalid_field(&format!("target.retry.{field}"), why));
        if self
            .max_attempts
            .is_some_and(|most| !(1..=MAX_ATTEMPTS).contains(&most))
        {
            return refuse("max_attempts", format!("must be from 1 to {MAX_ATTEMPTS}."));
        }
        let pauses = 1..=MAX_PAUSE_SECONDS;
        if let Some(schedule) = &self.schedule_seconds {
            let is_short = (1..MAX_ATTEMPTS as usize).contains(&schedule.len());
            if !is_short || !schedule.iter().all(|pause| pauses.contains(pause)) {
                return refuse(
                    "schedule_seconds",
                    format!(
                        "has 1 to {} pauses, each of 1 to {MAX_PAUSE_SECONDS} seconds.",
                        MAX_ATTEMPTS - 1
                    ),
                );
            }
            if self.initial_seconds.is_some() {
                return refuse(
                    "initial_seconds",
                    "excludes 'target.retry.schedule_seconds'; leave one of them out.".to_owned(),
                );
            }
        }
        for (field, pause) in [
            ("initial_seconds", self.initial_seconds),
            ("maximum_seconds", self.maximum_seconds),
        ] {
            if pause.is_some_and(|pause| !pauses.contains(&pause)) {
                return refuse(field, format!("must be from 1 to {MAX_PAUSE_SECONDS}."));
            }
        }
        if self.factor.is_some_and(|factor| !FACTOR.contains(&factor)) {
            return refuse(
                "factor",
                format!("must be from {} to {}.", FACTOR.start(), FACTOR.end()),
            );
        }
        match self.initial_seconds {
            None if self.maximum_seconds.is_some() || self.factor.is_some() => {
                return refuse(
                    "initial_seconds",
                    "is missing; 'maximum_seconds' and 'factor' are for pauses that grow from it.".to_owned(),
                );
            }
            Some(initial) if self.maximum_seconds.is_some_and(|most| most < initial) => {
                return refuse(
                    "maximum_seconds",
                    "must not be less than 'target.retry.initial_seconds'.".to_owned(),
                );
            }
            _ => {}
        }
        if self
            .statuses
            .as_ref()
            .is_some_and(|rules| rules.len() > MAX_STATUSES)
        {
            return refuse("statuses", format!("has at most {MAX_STATUSES} statuses."));
        }
        let total: u64 = (0..MAX_ATTEMPTS as usize)
            .map_while(|tried| self.pause_ms(tried))
            .sum();
        if total > MAX_TOTAL_SECONDS * 1_000 {
            return Err(Error::invalid_field(
                "target.retry",
                format!(
                    "waits for {} seconds in all, and {MAX_TOTAL_SECONDS} are the most; set fewer attempts or shorter pauses.",
                    total / 1_000
                ),
            ));
        }
        Ok(())
    }

    fn attempts(&self) -> usize {
        let schedule = self.schedule_seconds.as_ref().map(Vec::len);
        let default = schedule.unwrap_or(RETRY_SCHEDULE_MS.len()) + 1;
        self.max_attempts
            .map_or(default, |most| usize::try_from(most).unwrap_or(usize::MAX))
    }

    /// Returns the pause after an attempt that `tried` attempts preceded, in milliseconds, before it varies;
    /// None after the last.
    pub fn pause_ms(&self, tried: usize) -> Option<u64> {
        if tried + 1 >= self.attempts() {
            return None;
        }
        if let Some(initial) = self.initial_seconds {
            let most = self.maximum_seconds.unwrap_or(MAX_PAUSE_SECONDS);
            let mut pause = initial as f64;
            for _ in 0..tried {
                pause = (pause * self.factor.unwrap_or(DEFAULT_FACTOR)).min(most as f64);
            }
            return u64::try_from(std::time::Duration::from_secs_f64(pause).as_millis()).ok();
        }
        match &self.schedule_seconds {
            Some(schedule) => {
                let pause = schedule.get(tried).or(schedule.last());
                pause.map(|seconds| seconds * 1_000)
            }
            None => RETRY_SCHEDULE_MS.get(tried).or(RETRY_SCHEDULE_MS.last()).copied(),
        }
    }

    /// Whether a delivery is retried after this status, which is no success.
    pub fn retries(&self, status: u16) -> bool {
        match &self.statuses {
            Some(rules) => status != 410 && rules.iter().any(|rule| rule.covers(status)),
            None => matches!(status, 408 | 425 | 429) || status >= 500,
        }
    }
}

/// A status, or a class of statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusRule {
    Status(u16),
    /// First digit of the statuses.
    Class(u16),
}

impl StatusRule {
    const fn covers(self, status: u16) -> bool {
        match self {
            Self::Status(own) => own == status,
            Self::Class(digit) => status / 100 == digit,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let rule = match text.strip_suffix("xx") {
            Some(digit) => Self::Class(digit.parse().ok()?),
            None => Self::Status(text.parse().ok()?),
        };
        let is_valid = match rule {
            Self::Status(status) => (300..600).contains(&status) && status != 410,
            Self::Class(digit) => (3..6).contains(&digit),
        };
        is_valid.then_some(rule)
    }
}

impl Serialize for StatusRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Status(status) => serializer.serialize_u16(*status),
            Self::Class(digit) => serializer.serialize_str(&format!("{digit}xx")),
        }
    }
}

impl<'de> Deserialize<'de> for StatusRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self::parse(&text).ok_or_else(|| {
            let shown: String = text.chars().take(20).collect();
            D::Error::custom(format!(
                "'{shown}' is no status to retry; there are 300 to 599 without 410, and the classes \"3xx\", \"4xx\" and \"5xx\""
            ))
        })
    }
}

impl JsonSchema for StatusRule {
    fn schema_name() -> Cow<'static, str> {
        "RetriedStatus".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A status from 300 to 599 without 410, or a class of statuses.",
            "oneOf": [
                { "type": "integer", "minimum": 300, "maximum": 599, "not": { "const": 410 } },
                { "type": "string", "pattern": "^([345]xx|[345][0-9]{2})$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn retry(json: Value) -> Retry {
        serde_json::from_value(json).unwrap()
    }

    fn pauses(json: Value) -> Vec<u64> {
        let retry = retry(json);
        (0..60)
            .map_while(|tried| retry.pause_ms(tried))
            .map(|ms| ms / 1_000)
            .collect()
    }

    #[test]
    fn pauses_follow_the_schedule_and_the_number_of_attempts() {
        assert_eq!(pauses(json!({})).len(), 9);
        assert_eq!(pauses(json!({ "max_attempts": 1 })), [] as [u64; 0]);
        assert_eq!(pauses(json!({ "max_attempts": 3 })), [5, 30]);
        assert_eq!(pauses(json!({ "schedule_seconds": [1, 2] })), [1, 2]);
        assert_eq!(
            pauses(json!({ "schedule_seconds": [1, 2], "max_attempts": 5 })),
            [1, 2, 2, 2]
        );
        assert_eq!(
            pauses(json!({ "schedule_seconds": [1, 2], "max_attempts": 2 })),
            [1]
        );
        let growing = json!({ "initial_seconds": 2, "factor": 3, "maximum_seconds": 20, "max_attempts": 5 });
        assert_eq!(pauses(growing), [2, 6, 18, 20]);
    }

    #[test]
    fn statuses_are_numbers_and_classes() {
        let rules = retry(json!({ "statuses": ["404", 409, "5xx"] }));
        for (status, is_retried) in [
            (404, true),
            (409, true),
            (503, true),
            (429, false),
            (400, false),
            (410, false),
        ] {
            assert_eq!(rules.retries(status), is_retried, "{status}");
        }
        assert!(!retry(json!({ "statuses": ["4xx"] })).retries(410));
        assert!(!retry(json!({ "statuses": [] })).retries(503));
        let stored = serde_json::to_value(&rules).unwrap();
        assert_eq!(stored, json!({ "statuses": [404, 409, "5xx"] }));
        for fault in [
            json!("2xx"),
            json!(200),
            json!(410),
            json!("6xx"),
            json!(true),
            json!("5x"),
            json!(null),
        ] {
            let refusal = serde_json::from_value::<Retry>(json!({ "statuses": [fault] })).unwrap_err();
            assert!(refusal.to_string().contains("is no status to retry"), "{refusal}");
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_refused_with_its_field() {
        for (fault, field) in [
            (json!({ "max_attempts": 0 }), "max_attempts"),
            (json!({ "max_attempts": 51 }), "max_attempts"),
            (json!({ "schedule_seconds": [] }), "schedule_seconds"),
            (json!({ "schedule_seconds": [0] }), "schedule_seconds"),
            (json!({ "schedule_seconds": [86_401] }), "schedule_seconds"),
            (
                json!({ "schedule_seconds": [1], "initial_seconds": 1 }),
                "initial_seconds",
            ),
            (json!({ "factor": 2 }), "initial_seconds"),
            (json!({ "initial_seconds": 0 }), "initial_seconds"),
            (
                json!({ "initial_seconds": 5, "maximum_seconds": 4 }),
                "maximum_seconds",
            ),
            (json!({ "initial_seconds": 5, "factor": 0.5 }), "factor"),
            (
                json!({ "schedule_seconds": [86_400], "max_attempts": 50 }),
                "target.retry'",
            ),
        ] {
            let refusal = retry(fault.clone()).check().unwrap_err();
            assert!(
                refusal.message().contains(field),
                "{fault}: {}",
                refusal.message()
            );
        }
        retry(json!({ "initial_seconds": 10, "max_attempts": 10 }))
            .check()
            .unwrap();
    }
}
