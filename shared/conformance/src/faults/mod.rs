//! Wraps a record store, an object store, queues and a clock with faults, by a seed and on demand.

mod lag;
mod messages;
mod objects;
mod rates;
mod store;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lag::Lag;
pub use messages::{FaultyBus, FaultyQueue};
pub use objects::FaultyObjects;
use parking_lot::{Mutex, MutexGuard};
use platform::{Clock, Error, Result};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
pub use rates::{Counts, MessageCounts, MessageRates, ObjectCounts, ObjectRates, Rates};
pub use store::Faulty;

/// Maximum number of index reads that a write is hidden from.
pub const LONGEST_LAG: u32 = 8;
/// Duration of a call that times out.
pub const TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum delay of a slow call.
pub const SLOWEST: Duration = Duration::from_millis(50);

/// Switches faults on and off, and counts them.
#[derive(Clone)]
pub struct Faults(Arc<Mutex<State>>);

struct State {
    /// Each kind has its own random sequence, so that calls of one do not change the faults of another.
    records: StdRng,
    objects: StdRng,
    messages: StdRng,
    clock: StdRng,
    rates: Rates,
    counts: Counts,
    lag: Lag,
    /// Difference between a clock and the machine's.
    shift_ms: i64,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.counts())
    }
}

impl Faults {
    /// Starts with all faults off.
    pub fn seeded(seed: u64) -> Self {
        let random = |kind: u64| StdRng::seed_from_u64(seed.wrapping_add(kind << 48));
        Self(Arc::new(Mutex::new(State {
            records: random(0),
            objects: random(1),
            messages: random(2),
            clock: random(3),
            rates: Rates::default(),
            counts: Counts::default(),
            lag: Lag::default(),
            shift_ms: 0,
        })))
    }

    /// Sets how often faults happen from now on.
    pub fn on(&self, rates: Rates) {
        self.lock().rates = rates;
    }

    /// Stops all faults. Indexes still lag for earlier writes.
    pub fn off(&self) {
        self.lock().rates = Rates::default();
    }

    /// Makes all writes visible in indexes.
    pub fn settle(&self) {
        self.lock().lag.settle();
    }

    /// Returns how often each fault has happened.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Moves a clock forwards or backwards, to at most `most_ms` from its undisturbed time.
    pub fn jump(&self, clock: &Clock, most_ms: i64) {
        let mut state = self.lock();
        let shift_ms = state.clock.random_range(-most_ms..=most_ms);
        clock.advance_ms(shift_ms - state.shift_ms);
        state.shift_ms = shift_ms;
        state.counts.jumps += 1;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

fn unavailable(what: &'static str) -> Error {
    Error::unavailable(what)
}

/// Returns true in `percent` of a hundred calls.
fn chance(random: &mut StdRng, percent: u32) -> bool {
    // A disabled fault draws no number, so that each fault alone has its own sequence.
    percent > 0 && random.random_range(0..100) < percent
}

/// Returns the delay of a slow call.
fn slowness(random: &mut StdRng) -> Duration {
    SLOWEST.mul_f64(random.random_range(0.02..=1.0))
}

/// Replaces a lost answer by an error.
fn lose<T>(answer: Result<T>, is_lost: impl FnOnce() -> bool) -> Result<T> {
    match answer.is_ok() && is_lost() {
        true => Err(unavailable("a lost answer, by a test")),
        false => answer,
    }
}
