//! Implements `emit`: publishes an event; the output is the event.

use platform::ErrorKind;
use process::Data;
use process::definition::Template;
use process::flow::Kind;
use workflow::RetryPolicy;

use crate::process::event::{EMIT, Emitted};
use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::Worked;
use crate::process::outside;

/// Attempts to publish an event.
const ATTEMPTS: u32 = 10;

pub(super) async fn run(process: &Process, view: &View<'_>, template: &Template, input: Data) -> Worked {
    let attributes = process.fill(view, &input, template).await?;
    let context = &view.frame.context;
    let text = |name: &str| attributes.field(name).and_then(|value| value.as_text());
    let Some(kind) = text("type").filter(|kind| !kind.is_empty()) else {
        let detail = "The 'type' of the event is not a text.";
        return Err(Fault::error(Kind::Expression, detail, view.pointer));
    };
    // The id is drawn outside the activity, so that a repeated attempt publishes the same event.
    let id = context.new_id();
    let base = Data::object([
        ("id", Data::text(&id)),
        ("specversion", Data::text("1.0")),
        ("time", Data::text(&context.now().to_string())),
    ]);
    let event = base.merged(&attributes);
    outside::permitted(process, view, &format!("publishes the event '{kind}'")).await?;
    let document = &process.definition.document;
    let emitted = Emitted {
        id,
        kind,
        process: format!("{}/{}", document.namespace, document.name),
        event: event.as_raw().to_owned(),
    };
    let published = context
        .run(EMIT, &emitted)
        .retry(RetryPolicy::attempts(ATTEMPTS))
        .await;
    published.map_err(|failure| match failure.kind == ErrorKind::InvalidRequest.code() {
        true => Fault::error(Kind::Validation, failure.message, view.pointer),
        false => Fault::from_failure(&failure, context, view.pointer),
    })?;
    Ok(event.into())
}
