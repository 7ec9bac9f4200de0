//! Tests that one tenant's work costs another tenant little: scarce work is shared by account.

use std::pin::pin;
use std::time::Instant;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::aggregates::Aggregates;
use tests::events::Channel;
use tests::runs::{PAUSE, WITHIN};
use tests::{Events, Persona, Service};

use crate::patterns::{subscription, waiting_for};

/// Statement that runs until its deadline.
const ENDLESS: &str =
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r";

/// Creates a store in a project of its own, with one table of some rows.
async fn furnished(service: &Service) -> (String, String) {
    let token = service.scope().token(Persona::Developer);
    let store = service
        .post(&token, "/data", &json!({ "name": "Store" }))
        .await
        .id();
    let table = json!({ "tables": [{ "name": "kept", "columns": [{ "name": "id", "type": "INTEGER" }] }] });
    let tables = service
        .post(&token, &format!("/data/{store}/tables"), &table)
        .await;
    tables.expect_status(201);
    let rows: Vec<Value> = (0..100).map(|id| json!({ "id": id })).collect();
    import(service, &token, &store, &rows).await;
    (token, store)
}

async fn import(service: &Service, token: &str, store: &str, rows: &[Value]) {
    let body = json!({ "tables": { "kept": { "source": "inline", "data": rows } } });
    let imported = service.post(token, &format!("/data/{store}/import"), &body).await;
    imported.expect_status(200);
}

#[tokio::test]
async fn endless_queries_leave_room_for_others_locally() {
    let service = Service::start_local().await;
    let (attacker, attacked) = furnished(&service).await;
    let (victim, store) = furnished(&service).await;
    let query = |token: &str, store: &str, sql: &str| {
        service.post(token, &format!("/data/{store}/query"), &json!({ "sql": sql }))
    };
    let attacks = join_all((0..8).map(|_| query(&attacker, &attacked, ENDLESS).send()));
    let work = async {
        for _ in 0..10 {
            let answer = query(&victim, &store, "SELECT count(*) AS n FROM kept").await;
            assert_eq!(answer.expect_status(200).body["rows"][0][0], 100);
        }
        import(&service, &victim, &store, &[json!({ "id": 100 })]).await;
    };
    tokio::select! {
        biased;
        ended = attacks => panic!("all endless queries ended before the work beside them: {ended:?}"),
        () = work => {}
    }
    // The attacks end with their connections, and the attacker's requests work again.
    let answer = query(&attacker, &attacked, "SELECT count(*) AS n FROM kept").await;
    assert_eq!(answer.expect_status(200).body["rows"][0][0], 100);
}

/// The queries of a flood wait for each other.
#[tokio::test]
async fn a_flood_of_queries_holds_up_its_sender_alone_locally() {
    let service = Service::start_local().await;
    let (attacker, attacked) = furnished(&service).await;
    let (victim, store) = furnished(&service).await;
    let path = format!("/data/{attacked}/query");
    let body = json!({ "sql": ENDLESS });
    let flood = join_all((0..80).map(|_| service.post(&attacker, &path, &body).send()));
    let work = async {
        for _ in 0..10 {
            let query = service.post(
                &victim,
                &format!("/data/{store}/query"),
                &json!({ "sql": "SELECT 1 AS n" }),
            );
            query.await.expect_status(200);
            service.get(&victim, "/prompts").await.expect_status(200);
        }
    };
    tokio::select! {
        biased;
        ended = flood => panic!("the flood ended before the work beside it: {ended:?}"),
        () = work => {}
    }
}

#[tokio::test]
async fn endless_queries_of_two_accounts_leave_room_for_a_third_locally() {
    let service = Service::start_local().await;
    let (first, second) = (furnished(&service).await, furnished(&service).await);
    let (victim, store) = furnished(&service).await;
    let body = json!({ "sql": ENDLESS });
    let attacks = [&first, &second, &first, &second]
        .map(|(token, store)| service.post(token, &format!("/data/{store}/query"), &body).send());
    let work = async {
        let query = json!({ "sql": "SELECT count(*) AS n FROM kept" });
        for _ in 0..5 {
            let answer = service
                .post(&victim, &format!("/data/{store}/query"), &query)
                .await;
            assert_eq!(answer.expect_status(200).body["rows"][0][0], 100);
        }
    };
    tokio::select! {
        biased;
        ended = join_all(attacks) => panic!("the endless queries ended before the work beside them: {ended:?}"),
        () = work => {}
    }
}

/// Maximum memory of the busy service, without its children, in KB.
const MAX_MEMORY_KB: u64 = 500 * 1_024;

/// Large histories of a run are in memory one at a time, not once per query and signal.
#[tokio::test]
async fn a_run_with_a_large_history_costs_its_owner_locally() {
    let mut service = Service::start_local().await;
    let (owner, other) = (service.scope(), service.scope());
    let (token, victim) = (owner.token(Persona::Developer), other.token(Persona::Developer));
    let started = owner.ops_json(&["run", "start", "Approval", "--id", "big", "--input", "{}"]);
    let run = format!("/workflows/runs/big/{}", started["run_id"].as_str().unwrap());
    let signal = json!({ "message": "x".repeat(250_000) });
    for _ in 0..40 {
        let answer = service.post(&token, &format!("{run}/signal/Note"), &signal).await;
        answer.expect_status(200);
    }
    let queries = join_all((0..40).map(|_| service.get(&token, &format!("{run}/query/__state")).send()));
    let work = async {
        for _ in 0..20 {
            service.get(&victim, "/prompts?limit=1").await.expect_status(200);
        }
    };
    let (answers, ()) = tokio::join!(queries, work);
    for answer in answers {
        let status = answer.unwrap().status;
        assert!([200, 503].contains(&status), "{status}");
    }
    let memory = service.process().memory_kb();
    assert!(memory < MAX_MEMORY_KB, "{memory} KB");
}

/// Events that are in no file yet are read by one request of an account at a time, and parsed beside the
/// threads that answer others.
#[tokio::test]
async fn aggregations_over_large_new_events_cost_their_owner_locally() {
    let events = Events::start_local().await;
    let channel = events.plain_channel().await;
    let mut aggregates = Aggregates { events, channel };
    let large = json!({ "timestamp": "2026-03-02T12:00:00Z", "text": "x".repeat(90_000) });
    aggregates.ingest(&vec![large; 100]).await;
    let victim = aggregates.events.service.scope().token(Persona::Developer);
    let count =
        json!({ "from": "2026-01-01", "to": "2026-12-31", "metrics": [{ "id": "n", "operation": "count" }] });
    let mut attacks = pin!(join_all((0..20).map(|_| aggregates.ask(&count).send())));
    let work = async {
        for _ in 0..20 {
            let answer = aggregates.events.get(&victim, "/prompts?limit=1");
            answer.await.expect_status(200);
        }
    };
    tokio::select! {
        biased;
        ended = &mut attacks => panic!("all aggregations ended before the work beside them: {ended:?}"),
        () = work => {}
    }
    for answer in attacks.await {
        let answer = answer.unwrap();
        match answer.status {
            200 => assert_eq!(answer.body["rows"][0]["metrics"]["n"], 100),
            status => assert_eq!(status, 503, "{}", answer.text()),
        }
    }
    let memory = aggregates.events.service.process().memory_kb();
    assert!(memory < MAX_MEMORY_KB, "{memory} KB");
}

/// One account has one background import at a time, so another account's import does not wait for all of
/// them.
#[tokio::test]
async fn many_imports_of_one_account_do_not_hold_up_another_locally() {
    let service = Service::start_local().await;
    let (attacker, victim) = (Importer::new(&service).await, Importer::new(&service).await);
    let mut attacks = Vec::new();
    for _ in 0..20 {
        attacks.push(attacker.begin().await);
    }
    let own = victim.begin().await;
    while victim.status(&own).await != "COMPLETED" {
        tokio::task::yield_now().await;
    }
    let last = attacker.status(&attacks[19]).await;
    assert_ne!(last, "COMPLETED", "the import came after all of another account");
}

/// Account with a store and a file to import.
struct Importer<'a> {
    service: &'a Service,
    token: String,
    store: String,
}

impl<'a> Importer<'a> {
    async fn new(service: &'a Service) -> Self {
        let scope = service.scope();
        let token = scope.token(Persona::Developer);
        let store = service
            .post(&token, "/data", &json!({ "name": "Store" }))
            .await
            .id();
        let table =
            json!({ "tables": [{ "name": "kept", "columns": [{ "name": "id", "type": "INTEGER" }] }] });
        let tables = service
            .post(&token, &format!("/data/{store}/tables"), &table)
            .await;
        tables.expect_status(201);
        let rows = (0..100_000).map(|id| format!("{id}\n"));
        let file = service.folder().join("rows.csv");
        std::fs::write(
            &file,
            std::iter::once("id\n".to_owned()).chain(rows).collect::<String>(),
        )
        .unwrap();
        let put = ["artifact", "put", &file.to_string_lossy(), "out/rows.csv"];
        scope.ops(&put).expect_success();
        Self {
            service,
            token,
            store,
        }
    }

    /// Starts an import in the background. Returns its id.
    async fn begin(&self) -> String {
        let table = json!({ "source": "artifact", "uri": "out/rows.csv" });
        let body = json!({ "background": true, "tables": { "kept": table } });
        let path = format!("/data/{}/import", self.store);
        self.service
            .post(&self.token, &path, &body)
            .await
            .expect_status(202)
            .id()
    }

    async fn status(&self, import: &str) -> String {
        let path = format!("/data/{}/import/{import}", self.store);
        let record = self.service.get(&self.token, &path).await.expect_status(200).body;
        record["status"].as_str().unwrap().to_owned()
    }
}

/// Runs that wait for events, and the events that they get.
const WAITING_RUNS: usize = 3;
const HEARD_EVENTS: usize = 6;

/// Patterns are compiled once and not for each event, so that an event costs little more than one that is
/// compared with plain texts.
#[tokio::test]
async fn events_for_runs_with_patterns_cost_little_more_than_others_locally() {
    let mut events = Events::start_local().await;
    let patterns = |number: usize| format!("\\w{{1,20}}-{number}");
    let plain = |number: usize| format!("external.other-{number}");
    let mut took = Vec::new();
    // The first round is not measured: it finds empty caches.
    for kind in [&plain as &dyn Fn(usize) -> String, &plain, &patterns] {
        let mut types: Vec<String> = (0..19).map(kind).collect();
        types.push("external.received".to_owned());
        let channel = events.plain_channel().await;
        let runs = waiting_runs(&events, &channel, &types).await;
        let before = events.service.process().processor_ms();
        for _ in 0..HEARD_EVENTS {
            events.event(&channel, &json!({ "n": 1 })).await;
        }
        for run in &runs {
            until(&events, run, |detail| detail["status"] != "RUNNING").await;
        }
        took.push(events.service.process().processor_ms().zip(before));
    }
    let took: Option<Vec<u64>> = took
        .into_iter()
        .map(|both| both.map(|(after, before)| after - before))
        .collect();
    if let Some([_, plain, patterns]) = took.as_deref() {
        assert!(*patterns < 3 * plain, "{patterns} ms beside {plain} ms");
    }
}

/// Starts runs that each end after so many events of these types. Returns their paths.
async fn waiting_runs(events: &Events, channel: &Channel, types: &[String]) -> Vec<String> {
    let mut definition = waiting_for(types);
    definition["do"][0]["wait"]["listen"]["to"]["until"] = json!(format!(". | length == {HEARD_EVENTS}"));
    let subscribed = events.subscribe(&subscription(&definition)).await;
    let mut runs = Vec::new();
    for _ in 0..WAITING_RUNS {
        let event = events.event(channel, &json!({ "n": 0 })).await;
        let delivery = events
            .delivery_of(&event, &["running", "succeeded", "failed"])
            .await;
        let name = |field: &str| delivery[field].as_str().unwrap().to_owned();
        runs.push(format!(
            "/workflows/runs/{}/{}",
            name("workflow_id"),
            name("workflow_run_id")
        ));
    }
    let path = format!("/events/subscriptions/{}", subscribed["id"].as_str().unwrap());
    events.delete(&events.token, &path).await.expect_status(200);
    for run in &runs {
        let state = format!("{run}/query/__state");
        until(events, &state, |state| state["tasks"][0]["waits_for"] == "Event").await;
    }
    runs
}

/// Reads until the answer is so.
async fn until(events: &Events, path: &str, is_so: impl Fn(&Value) -> bool) {
    let deadline = Instant::now() + WITHIN;
    loop {
        let answer = events.get(&events.token, path).await;
        if is_so(&answer.body) {
            return;
        }
        assert!(Instant::now() < deadline, "{path}: {}", answer.text());
        tokio::time::sleep(PAUSE).await;
    }
}
