//! Defines the rates of faults, and their counts.

use std::fmt;
use std::str::FromStr;

/// Rate of each fault of a record store, in percent of calls, and the rates of the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// A call fails as unavailable, without effect.
    pub throttled: u32,
    /// A write is [`Contended`](platform::records::Written::Contended) by another one, without effect.
    pub contended: u32,
    /// A write fails as unavailable after it completes: it has happened unless its condition did not hold.
    pub lost: u32,
    /// Indexes keep the old state of a written item until [`Faults::settle`](super::Faults::settle), or for
    /// up to [`LONGEST_LAG`](super::LONGEST_LAG) further reads of indexes.
    pub late: u32,
    /// A call takes [`TIMEOUT`](super::TIMEOUT) and fails as unavailable; half of the writes have happened.
    pub timed_out: u32,
    /// A write of one item is executed twice, as by a client that lost the first answer. The first attempt
    /// may cause a refusal.
    pub repeated: u32,
    /// A call takes up to [`SLOWEST`](super::SLOWEST) longer.
    pub slow: u32,
    pub objects: ObjectRates,
    pub messages: MessageRates,
}

/// Rate of each fault of an object store, in percent of calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectRates {
    /// A call fails as unavailable, without effect.
    pub failed: u32,
    /// A write or a removal fails as unavailable after it happened.
    pub lost: u32,
    /// A new object is refused because of its own first attempt, whose answer was lost.
    pub repeated: u32,
    /// A listing fails after its first part, and a read into a file after half of the object.
    pub cut: u32,
    /// A call takes up to [`SLOWEST`](super::SLOWEST) longer.
    pub slow: u32,
}

/// Rate of each fault of a queue, in percent of messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageRates {
    /// The sender gets an error, and the message is not sent.
    pub failed: u32,
    /// The sender gets an error, but the message is sent.
    pub lost: u32,
    /// The sender gets no error, but the message is not sent.
    pub dropped: u32,
    /// The message is sent twice.
    pub doubled: u32,
}

/// How often each fault has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub throttled: u64,
    pub contended: u64,
    /// Writes whose answer was lost.
    pub lost: u64,
    /// Items with a write that was hidden from indexes.
    pub late: u64,
    /// Index reads with an answer that differs from the table.
    pub stale_reads: u64,
    /// Calls that timed out without effect.
    pub timed_out: u64,
    /// Writes that timed out after they had happened.
    pub timed_out_written: u64,
    pub repeated: u64,
    pub slow: u64,
    pub objects: ObjectCounts,
    pub messages: MessageCounts,
    pub jumps: u64,
}

/// How often each fault of an object store has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectCounts {
    /// Calls that failed without effect.
    pub failed: u64,
    /// Writes and removals whose answer was lost.
    pub lost: u64,
    /// New objects that were refused because of their own first attempt.
    pub repeated: u64,
    /// Listings and reads that ended early.
    pub cut: u64,
    pub slow: u64,
}

/// How often each fault of a queue has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// Failed sends without a message.
    pub failed: u64,
    /// Failed sends with a message.
    pub lost: u64,
    /// Messages that were lost without an error.
    pub dropped: u64,
    /// Messages that were sent twice.
    pub doubled: u64,
}

impl Rates {
    fn named(&mut self, name: &str) -> Option<&mut u32> {
        Some(match name {
            "throttled" => &mut self.throttled,
            "contended" => &mut self.contended,
            "lost" => &mut self.lost,
            "late" => &mut self.late,
            "timed_out" => &mut self.timed_out,
            "repeated" => &mut self.repeated,
            "slow" => &mut self.slow,
            "objects.failed" => &mut self.objects.failed,
            "objects.lost" => &mut self.objects.lost,
            "objects.repeated" => &mut self.objects.repeated,
            "objects.cut" => &mut self.objects.cut,
            "objects.slow" => &mut self.objects.slow,
            "messages.failed" => &mut self.messages.failed,
            "messages.lost" => &mut self.messages.lost,
            "messages.dropped" => &mut self.messages.dropped,
            "messages.doubled" => &mut self.messages.doubled,
            _ => return None,
        })
    }
}

/// Parses `throttled=2,objects.failed=1`.
impl FromStr for Rates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rates = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, percent) = part.split_once('=').unwrap_or((part, ""));
            let percent = percent.parse().ok().filter(|percent| *percent <= 100);
            match (rates.named(name), percent) {
                (Some(rate), Some(percent)) => *rate = percent,
                (Some(_), None) => return Err(format!("'{part}' has no percentage; write {name}=2")),
                (None, _) => return Err(format!("there is no fault '{name}'")),
            }
        }
        Ok(rates)
    }
}

/// Prints every fault that has happened: `throttled=3 objects.failed=1`.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectCounts {
            failed,
            lost,
            repeated,
            cut,
            slow,
        } = self.objects;
        let messages = self.messages;
        let all = [
            ("throttled", self.throttled),
            ("contended", self.contended),
            ("lost", self.lost),
            ("late", self.late),
            ("stale_reads", self.stale_reads),
            ("timed_out", self.timed_out),
            ("timed_out_written", self.timed_out_written),
            ("repeated", self.repeated),
            ("slow", self.slow),
            ("objects.failed", failed),
            ("objects.lost", lost),
            ("objects.repeated", repeated),
            ("objects.cut", cut),
            ("objects.slow", slow),
            ("messages.failed", messages.failed),
            ("messages.lost", messages.lost),
            ("messages.dropped", messages.dropped),
            ("messages.doubled", messages.doubled),
            ("jumps", self.jumps),
        ];
        let mut space = "";
        for (name, count) in all.into_iter().filter(|(_, count)| *count > 0) {
            write!(f, "{space}{name}={count}")?;
            space = " ";
        }
        Ok(())
    }
}
