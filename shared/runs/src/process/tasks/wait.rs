//! Implements `wait`: waits for a duration.

use process::Data;
use process::definition::Span;

use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::Worked;

pub(super) async fn run(process: &Process, view: &View<'_>, span: &Span, input: Data) -> Worked {
    let duration = process.span(view, &input, span).await?;
    let context = &view.frame.context;
    let passed = context.timer(duration).await;
    passed.map_err(|failure| Fault::from_failure(&failure, context, view.pointer))?;
    Ok(input.into())
}
