//! Implements the task `call: http`.

use std::time::Duration;

use process::Data;
use process::definition::HttpCall;
use serde::Serialize;
use workflow::{ActivityType, RetryPolicy};

use crate::process::call::Called;
use crate::process::call::http::{HTTP_CALL, HttpInput};
use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::Worked;
use crate::process::outside;

/// Time limit of an attempt: two requests of a call, and the work between them.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(75);
/// Attempts where the platform is unavailable. Responses of the service are never retried automatically.
const ATTEMPTS: u32 = 5;

pub(super) async fn run(process: &Process, view: &View<'_>, call: &HttpCall, input: Data) -> Worked {
    let request = HttpInput::evaluate(process, view, call, &input).await?;
    let action = format!("calls {}", request.method.to_ascii_uppercase());
    outside::permitted(process, view, &action).await?;
    output(view, HTTP_CALL, &request).await
}

/// Runs the activity of a call and returns its output.
pub(super) async fn output<I: Serialize>(
    view: &View<'_>,
    activity: ActivityType<I, Called>,
    request: &I,
) -> Worked {
    let context = &view.frame.context;
    let call = context.run(activity, request).start_to_close(ATTEMPT_LIMIT);
    let called = call.retry(RetryPolicy::attempts(ATTEMPTS)).await;
    match called.map_err(|failure| Fault::from_failure(&failure, context, view.pointer))? {
        Called::Output(output) => Ok(Data::from_raw(output).unwrap_or_else(|_| Data::null()).into()),
        Called::Error(error) => Err(Fault::Error(Box::new(error.at(view.pointer)))),
    }
}
