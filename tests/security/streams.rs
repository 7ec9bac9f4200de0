//! Tests that a stream ends with what opened it.

/// A token that has ended opens nothing, so it does not keep open what it opened either.
#[tokio::test]
async fn a_stream_ends_with_its_token_locally() {
    let runs = tests::Runs::start_local().await;
    let run = runs.approval("Waits").await;
    // Tokens are taken for 30 s after their end: this one for 4 more.
    let token = runs
        .scope
        .token_with(&["--roles", "executor", "--lifetime", "-26"]);
    let mut listener = runs.service.get(&token, &run.path("/stream")).listen().await;
    let last = loop {
        match listener.frame().await {
            Some(frame) => assert!(frame.data.is_null(), "{frame:?}"),
            None => break runs.service.get(&token, &run.path("")).await,
        }
    };
    last.expect_status(401);
    assert_eq!(runs.detail(&run).await["status"], "RUNNING");
}
