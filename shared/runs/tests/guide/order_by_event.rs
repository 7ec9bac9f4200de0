//! `Order`, started with an order, or by an event that has one in its payload.

use serde_json::Value;
use workflow::{Context, Failure};

use super::order::{Order, Shipped, run};

/// Takes the place of `run`.
pub async fn by_event(context: Context, input: Value) -> Result<Shipped, Failure> {
    let order = input.pointer("/event/details/payload").unwrap_or(&input);
    let order: Order = serde_json::from_value(order.clone()).map_err(|error| {
        Failure::permanent("InvalidInput", format!("The input is not an order: {error}."))
    })?;
    run(context, order).await
}
