//! Finds the deliveries of a redrive, and makes another attempt of each.

use events::records::deliveries::{Deliveries, DeliveryRecord};
use events::search::{DeliverySelection, Place};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::auth::Viewer;
use platform::records::Order;
use platform::{Clock, Result, Tenant, UtcTime, ids};
use workflow::{ActivityContext, Failure, Registry};

use super::{FIND, Find, FoundPart, REDRIVE, Refused};
use crate::redelivery::{Redelivery, RedeliveryParts};

/// Number of deliveries read at a time.
const PART: usize = 200;
/// Number of deliveries redriven concurrently.
const REDRIVEN_AT_ONCE: usize = 8;

/// How many deliveries are looked for, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub most: usize,
    /// Most deliveries that are returned; the others are counted.
    pub shown: usize,
    pub until: UtcTime,
}

#[derive(Debug)]
pub struct Selected {
    pub matched: usize,
    pub deliveries: Vec<DeliveryRecord>,
    /// Position after which the rest begins; None where the selection has no more.
    pub next: Option<Place>,
}

/// Returns deliveries of a selection, oldest first, after a position. Private ones are left out, because
/// those who read the result of a redrive may not see them.
pub async fn matching(
    (deliveries, clock): (&Deliveries, &Clock),
    tenant: &Tenant,
    selection: &DeliverySelection,
    mut next: Option<Place>,
    limits: Limits,
) -> Result<Selected> {
    let viewer = Viewer::of_project();
    let (mut matched, mut deliveries_shown) = (0, Vec::new());
    loop {
        let missing = limits.most.saturating_sub(matched).min(PART);
        let part = deliveries
            .select(
                (tenant, &viewer),
                selection,
                (Order::Ascending, missing),
                next,
                clock,
            )
            .await?;
        matched += part.deliveries.len();
        let free = limits.shown.saturating_sub(deliveries_shown.len());
        deliveries_shown.extend(part.deliveries.into_iter().take(free));
        next = part.next;
        if next.is_none() || matched >= limits.most || clock.now() >= limits.until {
            return Ok(Selected {
                matched,
                deliveries: deliveries_shown,
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
        input.after,
        Limits {
            most: limit,
            shown: limit,
            until: parts.clock.now(),
        },
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
