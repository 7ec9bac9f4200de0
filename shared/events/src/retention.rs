//! Configures how long ended records are kept.
//!
//! A record's expiry is set with its last write, so a changed setting applies only to records that end later.

use platform::UtcTime;
use platform::config::variables::{
    RETAIN_AUDIT_DAYS as AUDIT, RETAIN_DELIVERIES_DAYS as DELIVERIES, RETAIN_EVENTS_DAYS as EVENTS,
    RETAIN_RUNS_DAYS as RUNS, Variable,
};
use platform::config::{ConfigError, Environment};

const DAY_MS: u64 = 24 * 3_600_000;
/// Default for every setting.
const DEFAULT_DAYS: u64 = 90;
/// Minimum for runs, deliveries and audit records: the run of a webhook's delivery ends within this time, and
/// an archiver that was down for a weekend has caught up.
const MIN_DAYS: u64 = 7;
/// Minimum for events: an idempotency key stays valid for this long.
pub const MIN_EVENT_DAYS: u64 = 30;
const MAX_DAYS: u64 = 3_650;

/// Retention of ended records, in days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Runs after their end, with history and payloads. Not shorter than for deliveries, which refer to their
    /// run.
    pub runs_days: u64,
    /// Deliveries after their end.
    pub deliveries_days: u64,
    /// Events after they are archived. Not shorter than for deliveries, which refer to their event.
    pub events_days: u64,
    /// Audit records after they are archived.
    pub audit_days: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            runs_days: DEFAULT_DAYS,
            deliveries_days: DEFAULT_DAYS,
            events_days: DEFAULT_DAYS,
            audit_days: DEFAULT_DAYS,
        }
    }
}

impl Retention {
    /// Reads the variables `MILLRACE_RETAIN_…_DAYS`; a missing one means 90 days.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let retention = Self {
            runs_days: days(environment, RUNS, MIN_DAYS)?,
            deliveries_days: days(environment, DELIVERIES, MIN_DAYS)?,
            events_days: days(environment, EVENTS, MIN_EVENT_DAYS)?,
            audit_days: days(environment, AUDIT, MIN_DAYS)?,
        };
        let of_deliveries = retention.deliveries_days;
        for (name, days, what) in [
            (RUNS, retention.runs_days, "run"),
            (EVENTS, retention.events_days, "event"),
        ] {
            if days < of_deliveries {
                return Err(ConfigError::new(format!(
                    "Deliveries are kept for {of_deliveries} days and name their {what}, which {name} keeps for {days}. Set {name} \
                     to at least {of_deliveries}, or {DELIVERIES} to at most {days}."
                )));
            }
        }
        Ok(retention)
    }

    /// Returns when a run expires that ended at this time.
    pub fn run_until(&self, ended: UtcTime) -> UtcTime {
        after_days(ended, self.runs_days)
    }

    /// Returns when a delivery expires that ended at this time.
    pub fn delivery_until(&self, ended: UtcTime) -> UtcTime {
        after_days(ended, self.deliveries_days)
    }

    /// Returns when an event expires that was archived at this time.
    pub fn event_until(&self, archived: UtcTime) -> UtcTime {
        after_days(archived, self.events_days)
    }

    /// Returns when an audit record expires that was archived at this time.
    pub fn audit_until(&self, archived: UtcTime) -> UtcTime {
        after_days(archived, self.audit_days)
    }
}

fn after_days(time: UtcTime, days: u64) -> UtcTime {
    time.plus_ms(days.saturating_mul(DAY_MS))
}

fn days(environment: &Environment, name: Variable, least: u64) -> Result<u64, ConfigError> {
    let Some(text) = environment.optional(name) else {
        return Ok(DEFAULT_DAYS);
    };
    match text.parse() {
        Ok(days) if (least..=MAX_DAYS).contains(&days) => Ok(days),
        _ => Err(ConfigError::new(format!(
            "The variable {name} is '{text}'. Set it to a whole number of days from {least} to {MAX_DAYS}."
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(Variable, &str)]) -> Result<Retention, String> {
        let variables = variables
            .iter()
            .map(|(variable, value)| (variable.name.into(), (*value).into()));
        let environment = Environment::from_variables(variables).unwrap();
        Retention::from_environment(&environment).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn each_kind_has_a_setting_and_90_days_without_it() {
        assert_eq!(read(&[]).unwrap(), Retention::default());
        let set = read(&[(RUNS, "30"), (DELIVERIES, "7"), (EVENTS, "3650"), (AUDIT, "400")]).unwrap();
        let expected = Retention {
            runs_days: 30,
            deliveries_days: 7,
            events_days: 3_650,
            audit_days: 400,
        };
        assert_eq!(set, expected);
        let time: UtcTime = "2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(set.run_until(time).to_string(), "2026-01-31T00:00:00.000Z");
        assert_eq!(set.delivery_until(time).to_string(), "2026-01-08T00:00:00.000Z");
    }

    #[test]
    fn a_bad_value_is_refused_with_what_to_do() {
        for (name, value) in [
            (RUNS, "0"),
            (RUNS, "ninety"),
            (DELIVERIES, "6"),
            (EVENTS, "29"),
            (AUDIT, "3651"),
            (AUDIT, "-1"),
        ] {
            let refusal = read(&[(name, value)]).unwrap_err();
            assert!(
                refusal.starts_with(&format!("The variable {name} is '{value}'. Set it to")),
                "{refusal}"
            );
        }
        insta::assert_snapshot!(read(&[(EVENTS, "29")]).unwrap_err(), @"The variable MILLRACE_RETAIN_EVENTS_DAYS is '29'. Set it to a whole number of days from 30 to 3650.");
    }

    #[test]
    fn what_a_delivery_names_is_kept_as_long_as_the_delivery() {
        insta::assert_snapshot!(read(&[(RUNS, "30")]).unwrap_err(), @"Deliveries are kept for 90 days and name their run, which MILLRACE_RETAIN_RUNS_DAYS keeps for 30. Set MILLRACE_RETAIN_RUNS_DAYS to at least 90, or MILLRACE_RETAIN_DELIVERIES_DAYS to at most 30.");
        assert!(read(&[(EVENTS, "30")]).unwrap_err().contains("name their event"));
        assert!(read(&[(EVENTS, "30"), (DELIVERIES, "30")]).is_ok());
    }
}
