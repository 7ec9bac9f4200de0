//! Configures runners whose stores, queues and clock make faults.
//!
//! With `MILLRACE_FAULTS=<seed>`, every test starts such a runner; a test about faults requests one itself. A
//! seed fixes which calls fail, by their number; the order of the calls depends on the threads.

use std::collections::BTreeMap;
use std::path::Path;

use crate::environment;

/// Faults that callers may notice only as a 503; `FAULTS` overrides the rates.
const MODERATE: &str = "throttled=2,contended=2,repeated=2,slow=3,\
    objects.failed=2,objects.lost=2,objects.cut=2,objects.slow=3,\
    messages.failed=1,messages.lost=3,messages.doubled=3";

/// Faults for a test about faults. A change whose answer is lost may have happened.
const HEAVY: &str = "throttled=2,contended=3,lost=2,late=5,timed_out=1,repeated=3,slow=2,\
    objects.failed=3,objects.lost=3,objects.cut=3,objects.slow=3,\
    messages.failed=4,messages.lost=4,messages.dropped=2,messages.doubled=4";
/// Largest jump of the clock from the machine's in such a test, in milliseconds.
const CLOCK_MS: u32 = 2_000;

/// Returns the variables of a runner with faults of every kind; `CHAOS_SEED` sets the seed, which is 1 by
/// default.
pub fn heavy() -> Vec<(String, String)> {
    let seed = environment::variable("CHAOS_SEED").unwrap_or_else(|| "1".to_owned());
    let rates = environment::variable("FAULTS").unwrap_or_else(|| HEAVY.to_owned());
    vec![
        (SEED.to_owned(), seed),
        ("FAULTS".to_owned(), rates),
        ("FAULTS_CLOCK_MS".to_owned(), CLOCK_MS.to_string()),
    ]
}

/// Returns the variables of a runner without faults, whose clock is `hours` ahead of the machine's.
pub fn ahead_by(hours: i64) -> [(String, String); 3] {
    [
        (SEED, 1),
        ("FAULTS_CLOCK_MS", 0),
        ("FAULTS_CLOCK_AHEAD_HOURS", hours),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_string()))
}

/// Variable with the seed of the runner's faults.
pub(crate) const SEED: &str = "FAULTS_SEED";

/// Adds to a runner's variables those of its faults, where every runner makes some.
pub(crate) fn with_those_of_all(mut variables: Vec<(String, String)>) -> Vec<(String, String)> {
    if let Some(seed) = environment::variable("MILLRACE_FAULTS")
        && seed_of(&variables).is_none()
    {
        let rates = environment::variable("FAULTS").unwrap_or_else(|| MODERATE.to_owned());
        variables.extend([(SEED.to_owned(), seed), ("FAULTS".to_owned(), rates)]);
    }
    variables
}

/// Returns the seed of a runner that makes faults; None for one that makes none.
pub(crate) fn seed_of(variables: &[(String, String)]) -> Option<u64> {
    let (_, seed) = variables.iter().find(|(name, _)| name == SEED)?;
    Some(seed.parse().expect("the seed of faults is a number"))
}

/// Increments the seed for the next runner over a data directory, which would otherwise stop at the same
/// fault.
pub(crate) fn advance(variables: &mut [(String, String)]) {
    let next = seed_of(variables).map(|seed| seed + 1);
    let seeds = variables.iter_mut().filter(|(name, _)| name == SEED);
    for ((_, seed), next) in seeds.zip(next) {
        *seed = next.to_string();
    }
}

/// Returns how often each fault has happened in all runners that wrote their counts to the folder. The faults
/// of the last tenth of a second before a kill are missing.
pub(crate) fn counts(folder: &Path) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        for (name, count) in text.split_whitespace().filter_map(|part| part.split_once('=')) {
            *sums.entry(name.to_owned()).or_default() += count.parse::<u64>().unwrap_or_default();
        }
    }
    sums
}
