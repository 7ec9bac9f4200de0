//! Implements the task `call: openapi`.

use process::Data;
use process::definition::OpenApiCall;

use super::http;
use crate::process::call::openapi::{OPENAPI_CALL, OpenApiInput};
use crate::process::execution::Process;
use crate::process::frame::View;
use crate::process::outcome::Worked;
use crate::process::outside;

pub(super) async fn run(process: &Process, view: &View<'_>, call: &OpenApiCall, input: Data) -> Worked {
    let request = OpenApiInput::evaluate(process, view, call, &input).await?;
    let action = format!("calls the operation '{}'", call.operation_id);
    outside::permitted(process, view, &action).await?;
    http::output(view, OPENAPI_CALL, &request).await
}
