//! `Order`: reserves stock, charges a card and ships; undoes that where a step fails or the run is cancelled.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use workflow::future::{Either, select};
use workflow::{ActivityContext, ActivityType, Context, Failure, Registry, RetryPolicy, WorkflowType};

/// The workflow type: its input, its result, and what callers may send and ask.
pub const WORKFLOW_TYPE: WorkflowType<Order, Shipped> = WorkflowType::new("Order")
    .signals(&["Approve"])
    .queries(&["State"]);

const RESERVE: ActivityType<Order, ()> = ActivityType::new("order_reserve");
const RELEASE: ActivityType<Order, ()> = ActivityType::new("order_release");
const CHARGE: ActivityType<Order, String> = ActivityType::new("order_charge");
const REFUND: ActivityType<Order, ()> = ActivityType::new("order_refund");
const SHIP: ActivityType<Order, u32> = ActivityType::new("order_ship");

/// An order above this is charged only once a person has approved it, in cents.
const APPROVAL_ABOVE: u64 = 100_000;

/// What a run begins with.
#[derive(Clone, Deserialize, Serialize)]
pub struct Order {
    order_id: String,
    cents: u64,
    parcels: u32,
}

/// What a run returns.
#[derive(Deserialize, Serialize)]
pub struct Shipped {
    receipt: String,
    parcels: u32,
}

/// Body of the signal `Approve`.
#[derive(Deserialize)]
struct Approval {
    message: String,
}

/// Adds the type and its activities to a registry.
pub fn add(registry: Registry) -> Registry {
    registry
        .workflow(WORKFLOW_TYPE, run)
        .activity(RESERVE, reserve)
        .activity(RELEASE, release)
        .activity(CHARGE, charge)
        .activity(REFUND, refund)
        .activity(SHIP, ship)
}

/// The code of the type.
pub async fn run(context: Context, order: Order) -> Result<Shipped, Failure> {
    let state = Rc::new(Cell::new("begun"));
    let shown = Rc::clone(&state);
    context.answer("State", move || shown.get());
    let mut undo = Vec::new();
    let outcome = steps(&context, &order, &state, &mut undo).await;
    if outcome.is_err() {
        state.set("undoing");
        // A cancelled `context` ends at once what is begun with it, so the way back has its own scope.
        let shielded = context.shielded();
        for compensation in undo.into_iter().rev() {
            shielded.run(compensation, &order).await?;
        }
    }
    outcome
}

async fn steps(
    context: &Context,
    order: &Order,
    state: &Cell<&'static str>,
    undo: &mut Vec<ActivityType<Order, ()>>,
) -> Result<Shipped, Failure> {
    // Noted before the step: a run that is cancelled during an attempt cannot tell whether it was done.
    undo.push(RELEASE);
    context
        .run(RESERVE, order)
        .retry(RetryPolicy::attempts(5))
        .await?;
    if order.cents > APPROVAL_ABOVE {
        state.set("waiting for an approval");
        approved(context).await?;
    }
    state.set("charging");
    undo.push(REFUND);
    let policy = RetryPolicy {
        maximum_attempts: 4,
        non_retryable_error_types: vec!["CardDeclined".to_owned()],
        ..RetryPolicy::default()
    };
    let charge = context.run(CHARGE, order).start_to_close(Duration::from_secs(20));
    let receipt = charge.retry(policy).await?;
    state.set("shipping");
    context.publish("PROGRESS", "The order is paid.", receipt.as_str().into());
    let ship = context.run(SHIP, order).start_to_close(Duration::from_secs(600));
    let parcels = ship.heartbeat(Duration::from_secs(30)).await?;
    Ok(Shipped { receipt, parcels })
}

/// Waits for the signal `Approve`, a day at most.
async fn approved(context: &Context) -> Result<(), Failure> {
    // The timer gets a scope of its own, because an approval has to end the timer but not the run.
    let scope = context.scope();
    let signals = context.signals("Approve");
    let day = scope.timer(Duration::from_secs(24 * 3_600));
    match select(signals.receive::<Approval>(), day).await {
        Either::Left((approval, _)) => {
            scope.cancel();
            let approval = approval?;
            context.publish("PROGRESS", "The order is approved.", approval.message.into());
            Ok(())
        }
        Either::Right((fired, _)) => {
            fired?;
            Err(Failure::new(
                "NotApproved",
                "The order was not approved within a day.",
            ))
        }
    }
}

async fn reserve(_: ActivityContext, _: Order) -> Result<(), Failure> {
    Ok(())
}

async fn release(_: ActivityContext, _: Order) -> Result<(), Failure> {
    Ok(())
}

/// Here a request to the payment provider would have its place, with `order_id` as its idempotency key.
async fn charge(_: ActivityContext, order: Order) -> Result<String, Failure> {
    if order.cents == 0 {
        return Err(Failure::new("CardDeclined", "The card was declined."));
    }
    Ok(format!("receipt of {}", order.order_id))
}

/// Refunds the charge of the order, and does nothing where there was none.
async fn refund(_: ActivityContext, _: Order) -> Result<(), Failure> {
    Ok(())
}

/// Continues where the attempt before it stopped, and ends when the run is cancelled.
async fn ship(context: ActivityContext, order: Order) -> Result<u32, Failure> {
    let sent = match &context.last_heartbeat {
        Some(sent) => sent.read::<u32>()?,
        None => 0,
    };
    for parcel in sent..order.parcels {
        // Here a parcel would be sent.
        context.heartbeat(&(parcel + 1)).await?;
    }
    Ok(order.parcels)
}
