//! The function `subscriptions`: the endpoints of event subscriptions.

use lambda_http::Error;
use platform::Platform;
use platform::deployment::Deployment;
use subscriptions_function::{SubscriptionServices, routes};
use workflow::Registry;

use crate::http::serve;

/// Runs the function with these workflow types until Lambda ends it.
pub async fn run(deployment: &Deployment, registry: Registry) -> Result<(), Error> {
    let platform = Platform::from_deployment(deployment)?;
    let subscriptions = SubscriptionServices::from_deployment(deployment, &registry)?;
    serve(&platform, routes(platform.clone(), subscriptions)).await
}
