//! `Order` with a step that runs which began before it do not have.

use workflow::{ActivityType, Context, Failure};

use super::order::{Order, Shipped, run};

const CHECK: ActivityType<Order, ()> = ActivityType::new("order_check");

/// Takes the place of `run`.
pub async fn checked(context: Context, order: Order) -> Result<Shipped, Failure> {
    if context.patched("check-first") {
        context.run(CHECK, &order).await?;
    }
    run(context, order).await
}
