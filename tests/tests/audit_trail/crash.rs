//! Tests an archiver that dies between two of its writes: each record is listed once before, between and
//! after.

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Persona, Service};

/// Variable that names the step; see `Step` in `shared/event-log`.
const CRASH_AT: &str = "MILLRACE_CRASH_AT";
/// Files written and not committed; committed and their records not settled; settled, but still listed as
/// unsettled.
const STEPS: [&str; 3] = ["101", "102", "103"];

async fn listed(service: &Service, token: &str) -> Value {
    let page = service.get(token, "/audit-trail?limit=200").await;
    let page = page.expect_status(200).body;
    assert_eq!(page["hasNext"], json!(false));
    page["events"].clone()
}

#[tokio::test]
async fn an_archiver_that_dies_at_a_step_loses_and_doubles_nothing_locally() {
    let mut service = Service::start_local().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let archive = [
        "--account",
        &scope.account,
        "--project",
        &scope.project,
        "audit",
        "archive",
    ];
    for step in STEPS {
        for number in 0..3 {
            let body = prompt(&format!("step {step}, {number}"));
            service.post(&token, "/prompts", &body).await.expect_status(201);
        }
        let before = listed(&service, &token).await;
        let died = service.operator().run_with(&archive, &[(CRASH_AT, step)]);
        assert_eq!(died.code, None, "step {step} was not reached: {died:?}");
        assert_eq!(
            listed(&service, &token).await,
            before,
            "after a death at step {step}"
        );
        // Restart the runner too, so that its memory of the log is lost.
        service.restart();
        assert_eq!(
            listed(&service, &token).await,
            before,
            "step {step}, after a restart"
        );
        service.operator().json(&archive);
        assert_eq!(listed(&service, &token).await, before, "step {step}, archived");
        assert_eq!(service.operator().json(&["check"])["findings"], json!([]));
        assert_eq!(service.operator().json(&archive)["records"], json!(0));
    }
}
