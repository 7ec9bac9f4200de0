//! A record store that makes faults: around another one, by a seed, on demand.

mod lag;
mod store;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use platform::{Error, Result};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use lag::Lag;
pub use store::Faulty;

/// How often each fault happens, in calls of a hundred.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// A call fails as unavailable, and nothing happened.
    pub throttled: u32,
    /// A write meets another one: it is [`Contended`](platform::records::Written::Contended), and nothing
    /// happened.
    pub contended: u32,
    /// A write fails as unavailable after it came to its end: it has happened unless its condition did not
    /// hold.
    pub lost: u32,
    /// Indexes keep their view of an item that is written, until [`Faults::settle`] or for up to
    /// [`LONGEST_LAG`] further reads of indexes.
    pub late: u32,
}

/// Most reads of indexes that a write is hidden from.
pub const LONGEST_LAG: u32 = 8;

/// How often each fault has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that were throttled.
    pub throttled: u64,
    /// Writes that were contended.
    pub contended: u64,
    /// Writes whose answer was lost.
    pub lost: u64,
    /// Items whose write was hidden from indexes.
    pub late: u64,
    /// Reads of indexes that were answered otherwise than the table is.
    pub stale_reads: u64,
}

/// Switches faults, and counts them.
#[derive(Clone)]
pub struct Faults(Arc<Mutex<State>>);

struct State {
    random: StdRng,
    rates: Rates,
    counts: Counts,
    lag: Lag,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.counts())
    }
}

impl Faults {
    fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            random: StdRng::seed_from_u64(seed),
            rates: Rates::default(),
            counts: Counts::default(),
            lag: Lag::default(),
        })))
    }

    /// From now on faults happen this often.
    pub fn on(&self, rates: Rates) {
        self.lock().rates = rates;
    }

    /// From now on no fault happens. Indexes still lag behind for what was written before.
    pub fn off(&self) {
        self.lock().rates = Rates::default();
    }

    /// Lets indexes show what has been written.
    pub fn settle(&self) {
        self.lock().lag.settle();
    }

    /// How often each fault has happened.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn throttle(&self) -> Result<()> {
        let mut state = self.lock();
        let rate = state.rates.throttled;
        if !state.chance(rate) {
            return Ok(());
        }
        state.counts.throttled += 1;
        Err(Error::unavailable("a throttled call, by a test"))
    }

    fn contends(&self) -> bool {
        let mut state = self.lock();
        let rate = state.rates.contended;
        let contends = state.chance(rate);
        state.counts.contended += u64::from(contends);
        contends
    }

    /// The answer of a write, or none of it.
    fn lose<T>(&self, answer: Result<T>) -> Result<T> {
        let mut state = self.lock();
        let rate = state.rates.lost;
        if answer.is_err() || !state.chance(rate) {
            return answer;
        }
        state.counts.lost += 1;
        Err(Error::unavailable("a lost answer, by a test"))
    }
}

impl State {
    fn chance(&mut self, percent: u32) -> bool {
        // Nothing is drawn for a fault that is off, so that each fault alone has its own sequence.
        percent > 0 && self.random.random_range(0..100) < percent
    }
}
