//! `ops model`: serves a stand-in for a language model, to try agents and semantic conditions without a real
//! one.
//!
//! The stand-in has no understanding. It accepts every condition, posts one update in a conversation that
//! allows it, and then repeats the last message.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};

use clap::Args;
use platform::{Error, Result};
use serde_json::{Value, json};
use stand_in::{MODEL, Received, Reply, StandIn};

const MAX_REPEATED: usize = 200;

/// Where to listen.
#[derive(Args)]
pub struct ModelArguments {
    /// Port to listen on, on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 4010)]
    port: u16,
}

/// Serves until the process is stopped.
pub async fn run(arguments: ModelArguments) -> Result<()> {
    let port = arguments.port;
    let stand_in = StandIn::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .await
        .map_err(|error| {
            Error::invalid(format!(
                "Port {port} of 127.0.0.1 cannot be used: {error}. Choose another by --port."
            ))
        })?;
    stand_in.answering(|request| {
        let reply = answer(request);
        // Keep answering if the output is closed.
        drop(print(&format!("asked: {}", repeated(&request.last()))));
        reply
    });
    print(&format!(
        "Standing in for a language model at {base}. Start the runner with it:\n\
         MILLRACE_MODEL_PROVIDER=openai MILLRACE_MODEL={MODEL} MILLRACE_MODEL_BASE_URL={base} make run",
        base = stand_in.base_url()
    ))?;
    std::future::pending().await
}

fn answer(request: &Received) -> Reply {
    let body = &request.body;
    if body.get("response_format").is_some() {
        return Reply::output(
            &json!({ "matched": true, "rationale": "A stand-in agrees with every condition." }),
        );
    }
    let task = repeated(&request.last());
    match may_post(body) && !has_results(body) {
        true => {
            let update = json!({ "message": format!("Working on: {task}") });
            Reply::text("").calling("call_1", "post_update", &update)
        }
        false => Reply::text(format!("The stand-in was told: {task}")),
    }
}

/// True if the model may call the tool `post_update`.
fn may_post(body: &Value) -> bool {
    let tools = body.get("tools").and_then(Value::as_array);
    let names = tools
        .into_iter()
        .flatten()
        .map(|tool| tool.pointer("/function/name"));
    names.flatten().any(|name| name == "post_update")
}

/// True if the conversation has a tool result.
fn has_results(body: &Value) -> bool {
    let messages = body.get("messages").and_then(Value::as_array);
    messages
        .into_iter()
        .flatten()
        .any(|message| message.get("role") == Some(&json!("tool")))
}

/// Returns the start of a text, as one line.
fn repeated(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_REPEATED).collect()
}

fn print(line: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(Error::internal)
}
