//! Executes `DeliveryRedrive`: makes another attempt of each delivery of a selection, oldest first, at a
//! limited rate.
//!
//! One activity finds the next deliveries, so that the history keeps which ones; another redrives a few of
//! them. Each attempt has a run id derived from this run and the delivery, so a repeated activity redrives
//! nothing twice. The search only moves on to newer deliveries, so a delivery that fails again is not met
//! again either.
//!
//! Only the service starts these runs: the permission was checked there, and no run may start this type.

mod find;

use std::time::Duration;

use events::search::{DeliverySelection, Place};
use platform::UtcTime;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workflow::{ActivityType, Context, Failure, Registry, RetryPolicy};

pub use find::{Limits, Selected, matching, with_activities};

pub const WORKFLOW_TYPE: &str = "DeliveryRedrive";
/// Prefix of the workflow ids, which no workflow id from an event may have.
pub const ID_PREFIX: &str = "delivery-redrive-";
/// Rate of a redrive where its caller chooses none, in deliveries a second.
pub const DEFAULT_RATE: u32 = 10;
pub const MAX_RATE: u32 = 100;
/// Number of deliveries of a redrive where its caller chooses none.
pub const DEFAULT_LIMIT: u64 = 1_000;
pub const MAX_LIMIT: u64 = 100_000;
/// Maximum number of failures that the result lists.
pub const MAX_FAILURES: usize = 100;

const FIND: ActivityType<Find, FoundPart> = ActivityType::new("redrive_find");
const REDRIVE: ActivityType<Vec<String>, Vec<Refused>> = ActivityType::new("redrive_deliveries");

/// Number of deliveries found at a time.
const FOUND_AT_ONCE: u64 = 200;
/// Maximum number of deliveries redriven at a time.
const REDRIVEN_AT_ONCE: u32 = 25;
/// Minimum pause between two updates about the progress, in milliseconds.
const PROGRESS_MS: u64 = 5_000;
/// Number of events from which a new run continues.
const MAX_HISTORY: u64 = 2_000;
/// Time limit of an attempt of an activity.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(60);
/// Time limit for the retries of an activity that fails because the platform is unavailable.
const ALL_LIMIT: Duration = Duration::from_secs(24 * 3_600);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RedriveInput {
    pub selection: DeliverySelection,
    /// Maximum number of deliveries.
    pub limit: u64,
    pub rate_per_second: u32,
    /// Position of the runs before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Place>,
    #[serde(default)]
    pub progress: Progress,
}

/// Progress of a redrive, and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Deliveries that were found so far.
    pub matched: u64,
    /// Deliveries of which another attempt was started.
    pub redriven: u64,
    /// Deliveries of which none could be started.
    pub failed: u64,
    /// The first of these.
    pub failures: Vec<Refused>,
    /// Whether there are deliveries beyond the limit.
    pub more: bool,
}

/// A delivery of which no other attempt was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub delivery_id: String,
    pub reason: String,
}

/// The next deliveries to find.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Find {
    selection: DeliverySelection,
    after: Option<Place>,
    limit: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FoundPart {
    ids: Vec<String>,
    next: Option<Place>,
}

/// Adds the type to a registry, without its activities.
pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, run).unannounced(WORKFLOW_TYPE)
}

pub async fn run(context: Context, mut input: RedriveInput) -> Result<Value, Failure> {
    let mut published = context.now();
    loop {
        let left = input.limit.saturating_sub(input.progress.matched);
        let part = context
            .run(
                FIND,
                &Find {
                    selection: input.selection.clone(),
                    after: input.after.take(),
                    limit: left.min(FOUND_AT_ONCE),
                },
            )
            .start_to_close(ATTEMPT_LIMIT)
            .schedule_to_close(ALL_LIMIT)
            .retry(RetryPolicy::default())
            .await?;
        input.progress.matched += part.ids.len() as u64;
        for ids in part
            .ids
            .chunks(input.rate_per_second.clamp(1, REDRIVEN_AT_ONCE) as usize)
        {
            redrive(&context, ids, &mut input).await?;
            publish(&context, &input.progress, &mut published);
        }
        let is_full = input.progress.matched >= input.limit;
        input.progress.more = is_full && part.next.is_some();
        if is_full || part.next.is_none() {
            published = UtcTime::EPOCH;
            publish(&context, &input.progress, &mut published);
            return Ok(json!(input.progress));
        }
        input.after = part.next;
        if context.history_length() > MAX_HISTORY {
            return Err(context.continue_as_new(&input));
        }
    }
}

/// Redrives some deliveries, and waits as long as they take at the rate.
async fn redrive(context: &Context, ids: &[String], input: &mut RedriveInput) -> Result<(), Failure> {
    let begun = context.now();
    let refused = context
        .run(REDRIVE, &ids.to_vec())
        .start_to_close(ATTEMPT_LIMIT)
        .schedule_to_close(ALL_LIMIT)
        .retry(RetryPolicy::default())
        .await?;
    let progress = &mut input.progress;
    progress.failed += refused.len() as u64;
    progress.redriven += ids.len().saturating_sub(refused.len()) as u64;
    progress.failures.extend(refused);
    progress.failures.truncate(MAX_FAILURES);
    let due = begun.plus_ms(ids.len() as u64 * 1_000 / u64::from(input.rate_per_second.max(1)));
    match due.millis_since(context.now()) {
        0 => Ok(()),
        pause_ms => context.timer(Duration::from_millis(pause_ms)).await,
    }
}

/// Publishes the progress, unless it was published a moment ago.
fn publish(context: &Context, progress: &Progress, published: &mut UtcTime) {
    if context.now().millis_since(*published) < PROGRESS_MS {
        return;
    }
    *published = context.now();
    let Progress {
        matched,
        redriven,
        failed,
        ..
    } = progress;
    let message = format!("{redriven} of {matched} deliveries are redriven.");
    let details = json!({ "matched": matched, "redriven": redriven, "failed": failed });
    context.publish("PROGRESS", &message, details);
}
