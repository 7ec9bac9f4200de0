//! The function `subscriptions`: the endpoints of event subscriptions.

use lambda_http::Error;
use subscriptions_function::{SubscriptionServices, routes};
use workflow::Registry;

use crate::Function;
use crate::http::serve;

/// Runs the function with these workflow types until Lambda ends it.
pub async fn run(function: &Function, registry: Registry) -> Result<(), Error> {
    let platform = crate::platform(&function.deployment)?;
    let subscriptions = SubscriptionServices::from_deployment(&function.deployment, &registry)?;
    serve(&platform, routes(platform.clone(), subscriptions)).await
}
