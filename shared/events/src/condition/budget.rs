//! Counts the steps of conditions.

/// Maximum number of steps of one condition on one event, which takes some hundredths of a second.
pub(super) const MAX_STEPS: u64 = 5_000_000;
/// Maximum number of steps of all conditions on one event.
pub(super) const MAX_STEPS_OF_EVENT: u64 = 50_000_000;
/// Number of UTF-16 units that are compared or copied in a step.
const UNITS_OF_STEP: usize = 8;
/// Steps of an item of a new list, which takes 24 bytes.
const STEPS_OF_ITEM: u64 = 4;

pub(super) type Result<T> = std::result::Result<T, Stop>;

/// Why an evaluation ends without a result.
#[derive(Debug)]
pub(super) enum Stop {
    Spent,
    /// The evaluation has no result.
    Failed(String),
}

#[derive(Debug)]
pub(super) struct Budget {
    pub(super) left: u64,
}

impl Budget {
    pub fn spend(&mut self, steps: u64) -> Result<()> {
        match self.left.checked_sub(steps) {
            Some(left) => self.left = left,
            None => {
                self.left = 0;
                return Err(Stop::Spent);
            }
        }
        Ok(())
    }

    pub fn spend_units(&mut self, units: usize) -> Result<()> {
        self.spend((units / UNITS_OF_STEP) as u64)
    }

    pub fn spend_items(&mut self, items: usize) -> Result<()> {
        self.spend(items as u64 * STEPS_OF_ITEM)
    }
}
