//! Serves SQS's send operation to other processes: the operator command sends its hints here through the AWS
//! SDK, as to the cloud.
//!
//! It offers only sending, because no other process reads the queues.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use platform::Clock;
use platform::config::Secret;
use platform::ids;
use platform::queue::{Delivery, MAX_DELAY, Queue as _};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;

use crate::guard;
use crate::queue::LocalQueue;
use crate::server::{self, Limits};

type Queues = Arc<BTreeMap<&'static str, Arc<LocalQueue>>>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendMessage {
    queue_url: String,
    message_body: String,
    #[serde(default)]
    delay_seconds: u64,
}

/// Serves these queues by name to callers with the secret.
pub fn serve(listener: TcpListener, queues: BTreeMap<&'static str, Arc<LocalQueue>>, secret: &Secret) {
    let router = Router::new()
        .route("/", post(answer))
        .with_state(Arc::new(queues));
    let router = guard::for_holders_of(secret.clone(), router);
    tokio::spawn(server::serve(listener, router, Limits::internal(), pending()));
}

async fn answer(State(queues): State<Queues>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    if target != Some("AmazonSQS.SendMessage") {
        return refusal("InvalidAction", "Only SendMessage is there.");
    }
    let Ok(message) = serde_json::from_slice::<SendMessage>(&body) else {
        return refusal("InvalidParameterValue", "The message cannot be read.");
    };
    let name = message.queue_url.rsplit('/').next().unwrap_or_default();
    let Some(queue) = queues.get(name) else {
        return refusal("QueueDoesNotExist", "There is no such queue.");
    };
    let delivery = Delivery {
        delay: Duration::from_secs(message.delay_seconds).min(MAX_DELAY),
        ..Delivery::default()
    };
    match queue.send_as(&message.message_body, delivery).await {
        Ok(()) => {
            let id = ids::new_id(Clock::System.now());
            json_response(StatusCode::OK, &json!({ "MessageId": id }))
        }
        Err(error) => refusal("InternalFailure", &error.to_string()),
    }
}

fn refusal(kind: &str, message: &str) -> Response {
    json_response(
        StatusCode::BAD_REQUEST,
        &json!({ "__type": format!("com.amazonaws.sqs#{kind}"), "message": message }),
    )
}

fn json_response(status: StatusCode, body: &serde_json::Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/x-amz-json-1.0")];
    (status, headers, body.to_string()).into_response()
}
