//! How much a run may hold, and how long the engine waits for what. The limits of a history are Temporal's.

/// Most events of a run.
pub const MAX_EVENTS: u64 = 51_200;
/// Events from which on a warning is logged.
pub const WARN_EVENTS: u64 = 4_096;
/// Most bytes of a run's history.
pub const MAX_HISTORY_BYTES: u64 = 50 * 1_024 * 1_024;
/// Most signals of a run.
pub const MAX_SIGNALS: u64 = 10_000;
/// Most activities, timers or child runs, each, that a run waits for at a time.
pub const MAX_PENDING: usize = 2_000;

/// Characters of a failure's message that a history keeps.
pub const MAX_FAILURE_CHARACTERS: usize = 10_000;

/// A state holds its last events up to so many bytes of JSON; then they get a record of their own. Writing them with the state
/// saves a transaction for each step of a run, and a short run is one record.
pub const MAX_TAIL_BYTES: usize = 4_096;
/// Most bytes of one record of events: an item of the table has at most 400 KB.
pub const MAX_CHUNK_BYTES: usize = 250_000;
/// Most bytes of the events of one commit before their payloads are kept elsewhere, however small these are.
pub const MAX_COMMIT_BYTES: usize = 1_000_000;

/// Most bytes of the events and update messages that one write takes, without large payloads: a transaction of the table takes 4 MB.
pub const MAX_WRITE_BYTES: usize = 3_000_000;
/// Most bytes of a payload that stays in its record where those of one write are many.
pub const SMALL_PAYLOAD_BYTES: usize = 1_024;

/// Most bytes of what an attempt says of itself that stay in the state.
pub const MAX_HEARTBEAT_BYTES: usize = 16_384;

/// How long an attempt's end is waited for after its limit, in milliseconds: whoever carries it out notices first.
pub const ATTEMPT_GRACE_MS: u64 = 2_000;
/// After how long a message that says 'go on' counts as lost, in milliseconds.
pub const HINT_GRACE_MS: u64 = 60_000;
/// Times that a lost message or a lost attempt is found by are multiples of so many milliseconds: most steps
/// of a run leave its place in the index `due` then, and moving it costs two writes.
pub const DUE_STEP_MS: u64 = 30_000;
/// After how long a delayed message counts as lost, in milliseconds.
pub const WAKE_GRACE_MS: u64 = 10_000;
/// After how long what had to be done outside of a run counts as not done, in milliseconds.
pub const EFFECT_GRACE_MS: u64 = 30_000;
/// How long an activity may take before what is known of it so far is written, in milliseconds.
pub const EAGER_MS: u64 = 300;
/// How long one invocation begins attempts, in milliseconds: what it has begun then must end within the 15 minutes of a function.
pub const DRIVE_MS: u64 = 240_000;
/// Most attempts that one invocation carries out at a time.
pub const MAX_ATTEMPTS_AT_ONCE: usize = 16;

/// The pause after a turn came to nothing for the time of this number, in milliseconds: one second, doubled up to a minute.
pub fn task_pause_ms(attempt: u32) -> u64 {
    let doublings = attempt.saturating_sub(1).min(6);
    (1_000 << doublings).min(60_000)
}
