//! Measures conversations with agents: the time of a turn outside the model, with a model that answers at
//! once.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::json;
use tempfile::tempdir;
use tests::model::{ModelRequest, ModelServer, Reply};

use crate::Result;
use crate::report::{Figure, Row};
use crate::runner::Runner;
use crate::runs::{ended, start};
use crate::statistics::percentile;

const PART: &str = "agents";
/// Turns per conversation, and number of conversations; the first one warms up.
const TURNS: usize = 20;
const CONVERSATIONS: usize = 21;
/// Maximum time of a turn outside the model, in milliseconds.
const AIM_MS: f64 = 10.0;

pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let model = ModelServer::start().await;
    let runner = Runner::start_with(&folder.path().join("data"), model.variables())?;
    let mut rows = Vec::new();
    for (what, tool) in [
        ("a turn with a tool of the run itself", "post_update"),
        ("a turn with a tool that calls the API", "list_runs"),
    ] {
        let took = turns(&runner, &model, tool).await?;
        let row = Row::new(
            PART,
            format!("{what}, outside the model: p50"),
            Figure::Milliseconds(percentile(&took, 0.5)),
        );
        rows.push(
            row.unlucky("p99", Figure::Milliseconds(percentile(&took, 0.99)))
                .held_against("aim", Figure::Milliseconds(AIM_MS)),
        );
    }
    Ok(rows)
}

/// Returns the milliseconds from one request of a conversation to the next.
async fn turns(runner: &Runner, model: &ModelServer, tool: &'static str) -> Result<Vec<f64>> {
    let mut took = Vec::new();
    for conversation in 0..CONVERSATIONS {
        let asked_at = Arc::new(Mutex::new(Vec::new()));
        let times = Arc::clone(&asked_at);
        model.answers(move |request: &ModelRequest| {
            let mut times = times.lock();
            times.push(Instant::now());
            let arguments = match tool {
                "post_update" => json!({ "message": request.number.to_string() }),
                _ => json!({ "limit": times.len() }),
            };
            match times.len() < TURNS {
                true => Reply::Calls(vec![(tool, arguments)]),
                false => Reply::Text("Done.".to_owned()),
            }
        });
        let id = format!("{tool}-{conversation}");
        let path = start(
            runner,
            "AgentConversation",
            &id,
            &json!({ "data": { "task": "Work." } }),
        )?;
        ended(runner, &path).await?;
        let times = asked_at.lock();
        let pauses = times.windows(2).filter_map(|pair| match pair {
            [before, after] => Some(after.duration_since(*before).as_secs_f64() * 1e3),
            _ => None,
        });
        if conversation > 0 {
            took.extend(pauses);
        }
    }
    Ok(took)
}
