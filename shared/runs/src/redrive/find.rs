//! Finds the deliveries of a redrive, and makes another attempt of each.

use events::records::deliveries::{Deliveries, DeliveryRecord};
use events::search::{DeliverySelection, Place};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::auth::Viewer;
use platform::{Clock, Result, Tenant, ids};
use workflow::{ActivityContext, Failure, Registry};

use super::{FIND, Find, FoundPart, REDRIVE, Refused};
use crate::redelivery::{Redelivery, RedeliveryParts};

/// Number of deliveries read at a time.
const PART: usize = 200;
/// Number of deliveries redriven concurrently.
const REDRIVEN_AT_ONCE: usize = 8;

/// Deliveries of a selection.
#[derive(Debug)]
pub struct Selected {
    pub deliveries: Vec<DeliveryRecord>,
    /// Position after which the rest begins; None where the selection has no more.
    pub next: Option<Place>,
}

/// Returns up to `limit` deliveries of a selection, newest first, found until a time. Private ones are left
/// out, because those who read the result of a redrive may not see them.
pub async fn matching(
    (deliveries, clock): (&Deliveries, &Clock),
    tenant: &Tenant,
    selection: &DeliverySelection,
    (mut next, limit): (Option<Place>, usize),
    until: platform::UtcTime,
) -> Result<Selected> {
    let viewer = Viewer::of_project();
    let mut found = Vec::new();
    loop {
        let missing = limit.saturating_sub(found.len()).min(PART);
        let part = deliveries
            .select((tenant, &viewer), selection, missing, next, clock)
            .await?;
        found.extend(part.deliveries);
        next = part.next;
        if next.is_none() || found.len() >= limit || clock.now() >= until {
            return Ok(Selected {
                deliveries: found,
                next,
            });
        }
    }
}

pub fn with_activities(registry: Registry, parts: &RedeliveryParts) -> Registry {
    let (finding, redriving) = (parts.clone(), parts.clone());
    let registry = registry.activity(FIND, move |context, input| find(finding.clone(), context, input));
    registry.activity(REDRIVE, move |context, ids| {
        redrive_all(redriving.clone(), context, ids)
    })
}

async fn find(parts: RedeliveryParts, context: ActivityContext, input: Find) -> Result<FoundPart, Failure> {
    let limit = usize::try_from(input.limit).unwrap_or(PART);
    let selected = matching(
        (&parts.deliveries, &parts.clock),
        &context.tenant,
        &input.selection,
        (input.after, limit),
        parts.clock.now(),
    )
    .await?;
    Ok(FoundPart {
        ids: selected
            .deliveries
            .into_iter()
            .map(|delivery| delivery.id)
            .collect(),
        next: selected.next,
    })
}

/// Redrives deliveries; returns those of which no other attempt was started.
async fn redrive_all(
    parts: RedeliveryParts,
    context: ActivityContext,
    deliveries: Vec<String>,
) -> Result<Vec<Refused>, Failure> {
    let redelivery = Redelivery {
        engine: context.engine()?.clone(),
        parts,
        caller: format!("run:{}", context.run_id),
    };
    let mut attempts = Vec::new();
    for id in deliveries {
        attempts.push(redrive_one(&redelivery, &context, id));
    }
    let outcomes = stream::iter(attempts).buffered(REDRIVEN_AT_ONCE);
    let outcomes: Vec<Option<Refused>> = outcomes.try_collect().await?;
    Ok(outcomes.into_iter().flatten().collect())
}

async fn redrive_one(
    redelivery: &Redelivery,
    context: &ActivityContext,
    delivery_id: String,
) -> Result<Option<Refused>> {
    // The activity id alone would repeat in the runs that continue this one.
    let seed = format!("redrive#{}#{delivery_id}", context.run_id);
    let run_id = ids::derived_id(context.scheduled_at, &seed);
    match redelivery.redrive(&context.tenant, &delivery_id, &run_id).await {
        Ok(()) => Ok(None),
        Err(refusal) if !refusal.is_transient() => Ok(Some(Refused {
            delivery_id,
            reason: refusal.message().to_owned(),
        })),
        Err(cause) => Err(cause),
    }
}
