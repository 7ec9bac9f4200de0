//! Tests the permits of requests: work counts although its caller has disconnected, and a refusal for lack of
//! a permit is recorded.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::json;
use tests::file_server::with_headers;
use tests::stores::elsewhere;
use tests::{FileServer, Store, samples};

/// Requests of one account that a process handles at once.
const SHARE: usize = 32;
/// More requests than one account may have waiting.
const TOO_MANY: usize = 300;

#[tokio::test]
async fn work_counts_when_its_caller_is_gone_and_refusals_are_recorded_locally() {
    let store = Store::start_local().await;
    store.table("t", &["id BIGINT"]).await;
    let file = with_headers("200 OK", &[], b"id\n1\n");
    let server = FileServer::start([("/held/rows.csv".to_owned(), file)]).await;
    let import = elsewhere("t", "url", &format!("{}/held/rows.csv", server.origin));
    for number in 1..=SHARE {
        let mut request = Box::pin(store.post("/import", &import).send());
        while server.requests().len() < number {
            let answered = tokio::time::timeout(Duration::from_millis(10), &mut request).await;
            assert!(answered.is_err(), "the import ended: {answered:?}");
        }
        drop(request);
    }
    let get = || store.service.get(&store.token, "/prompts").send();
    let mut waiting: FuturesUnordered<_> = (0..TOO_MANY).map(|_| get()).collect();
    let first = waiting.next().await.unwrap().unwrap();
    first.expect_error(503, "unavailable");
    let create = store
        .service
        .post(&store.token, "/prompts", &samples::prompt("Refused"));
    create.await.expect_error(503, "unavailable");
    server.release();
    drop(waiting);
    // The work of those who left ends in its own time.
    let trail = async || loop {
        let answer = store
            .service
            .get(&store.token, "/audit-trail?resourceTypes=prompt")
            .await;
        if answer.status != 503 {
            break answer.expect_status(200).body;
        }
    };
    let trail = tokio::time::timeout(Duration::from_secs(60), trail())
        .await
        .unwrap();
    let of_create = &trail["events"][0];
    assert_eq!(
        (&of_create["action"], &of_create["status"]),
        (&json!("create"), &json!(503)),
        "{trail}"
    );
}
