//! Limits of a run, and deadlines of the engine. The limits of a history are Temporal's.

pub const MAX_EVENTS: u64 = 51_200;
/// Number of events from which a warning is logged.
pub const WARN_EVENTS: u64 = 4_096;
pub const MAX_HISTORY_BYTES: u64 = 50 * 1_024 * 1_024;
pub const MAX_SIGNALS: u64 = 10_000;
/// Pending activities of a run; the same limit holds for timers and for child runs.
pub const MAX_PENDING: usize = 2_000;

/// Longer messages of a failure are cut in the history.
pub const MAX_FAILURE_CHARACTERS: usize = 10_000;

/// JSON bytes of recent events that a state holds before they get a record of their own. Writing them with
/// the state saves a transaction for each step, and a short run is one record.
pub const MAX_TAIL_BYTES: usize = 4_096;
/// Upper limit of one record of events: an item of the table has at most 400 KB.
pub const MAX_CHUNK_BYTES: usize = 250_000;
/// Bytes of the events of one commit from which all but small payloads are stored elsewhere.
pub const MAX_COMMIT_BYTES: usize = 1_000_000;

/// Bytes of events and updates of one commit, without large payloads: a transaction of the table has at most
/// 4 MB.
pub const MAX_WRITE_BYTES: usize = 3_000_000;
/// Upper limit of a payload that stays in its record when the payloads of a commit are large together.
pub const SMALL_PAYLOAD_BYTES: usize = 1_024;

/// Upper limit of a heartbeat's details in the state.
pub const MAX_HEARTBEAT_BYTES: usize = 16_384;

/// Time after an attempt's deadline in which its worker may still report, in milliseconds.
pub const ATTEMPT_GRACE_MS: u64 = 2_000;
/// Time after which a hint counts as lost, in milliseconds.
pub const HINT_GRACE_MS: u64 = 60_000;
/// Due times for lost hints and lost attempts are multiples of this, in milliseconds. Most steps of a run
/// then keep its entry in the index `due`; moving the entry costs two writes.
pub const DUE_STEP_MS: u64 = 30_000;
/// Time after which a delayed message counts as lost, in milliseconds.
pub const WAKE_GRACE_MS: u64 = 10_000;
/// Time after which an effect counts as not executed, in milliseconds.
pub const EFFECT_GRACE_MS: u64 = 30_000;
/// Time that a quick activity gets before the run is written without its result, in milliseconds.
pub const EAGER_MS: u64 = 300;
/// Time in which one invocation starts attempts, in milliseconds. They must end within the 15 minutes of a
/// function.
pub const DRIVE_MS: u64 = 240_000;
pub const MAX_ATTEMPTS_AT_ONCE: usize = 16;

/// Returns the pause after a failed turn, in milliseconds: one second, doubled each time up to a minute.
pub fn turn_pause_ms(attempt: u32) -> u64 {
    let doublings = attempt.saturating_sub(1).min(6);
    (1_000 << doublings).min(60_000)
}
