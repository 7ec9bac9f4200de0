//! `Echo`: waits for a signal for at most an hour, and returns it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use serde::Deserialize;
use workflow::future::{Either, select};
use workflow::{ActivityContext, Context, Failure, Registry, RetryPolicy};

#[derive(Deserialize)]
struct Said {
    message: String,
}

pub async fn echo(context: Context, name: String) -> Result<String, Failure> {
    let state = Rc::new(Cell::new("waiting"));
    let shown = Rc::clone(&state);
    context.answer("State", move || shown.get());
    // A cancelled scope cancels everything started in it: here the timer, once the signal has arrived.
    let scope = context.scope();
    let signals = context.signals("Say");
    let hour = scope.timer(Duration::from_secs(3_600));
    let text = match select(signals.receive::<Said>(), hour).await {
        Either::Left((said, _)) => said?.message,
        Either::Right((fired, _)) => fired.map(|()| "nothing".to_owned())?,
    };
    scope.cancel();
    state.set("sending");
    context.publish("PROGRESS", "Sending it back.", text.as_str().into());
    let send = context.activity("send", &format!("{name} said {text}"));
    send.retry(RetryPolicy::attempts(3)).await
}

async fn send(_: ActivityContext, text: String) -> Result<String, Failure> {
    Ok(text) // An activity may have external effects: here it would call another service.
}

pub fn add(registry: Registry) -> Registry {
    registry.workflow("Echo", echo).activity("send", send)
}
