//! The function `matcher`: reads the queue of events.

use lambda_runtime::Error;
use matcher_function::{Matcher, handle};
use platform::config::variables;
use workflow::Registry;
use workflow::wiring::Wiring;

use crate::{Function, queue};

/// Runs the Lambda function with these workflow types, until Lambda ends it.
pub async fn run(function: &Function, registry: Registry) -> Result<(), Error> {
    let engine = Wiring::from_deployment(&function.deployment)?.engine(registry)?;
    let matcher = Matcher::from_deployment(&function.deployment, engine)?;
    let inbox = function.inbox(&[variables::EVENT_QUEUE])?;
    queue::receive(&inbox, &matcher.clock, async |batch| {
        handle(&matcher, batch).await
    })
    .await
}
