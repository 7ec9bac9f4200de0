//! Tests runs while the service is killed and restarted, also under faults of its stores, queues and clock:
//! each run ends, and none of its effects is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::runs::Starter;
use tests::{Runs, unique};

/// Default number of runs; `CHAOS_RUNS` sets another.
const RUNS: usize = 100;
/// Default number of runs under faults, which are slower.
const RUNS_UNDER_FAULTS: usize = 24;
/// Steps per run.
const STEPS: usize = 5;
/// Runs that are started concurrently.
const AT_ONCE: usize = 8;
/// Least number of kills.
const KILLS: usize = 3;
/// Attempts to start a run.
const TRIES: usize = 20;
/// Longest wait for all runs after the last start.
const WITHIN: Duration = Duration::from_secs(300);

#[expect(
    clippy::disallowed_methods,
    reason = "how large the test is, is said when it is run"
)]
fn run_count(otherwise: usize) -> usize {
    let variable = std::env::var("CHAOS_RUNS").ok();
    variable.map_or(otherwise, |count| count.parse().expect("CHAOS_RUNS is a number"))
}

/// Starts a run, whatever happens to the service meanwhile. A restart waits for the write lock of `turn`.
fn begin(starter: &Starter, turn: &RwLock<()>, id: &str) {
    let input = json!({ "steps": STEPS, "pause_ms": 10 });
    for _ in 0..TRIES {
        let _mine = turn.read().unwrap();
        if starter.try_begin("Steps", id, &input, &[]).code == Some(0) {
            return;
        }
    }
    panic!("the run {id} does not start in {TRIES} tries");
}

/// Returns how often each attempt of a step left its line in the log, by workflow id and activity id.
fn effects(log: &Path) -> BTreeMap<(String, String), usize> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut effects = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        assert_eq!(words.len(), 3, "{line}");
        let step = (words[0].to_owned(), words[1].to_owned());
        *effects.entry(step).or_default() += 1;
    }
    effects
}

/// Returns the listed runs of the project: their statuses by workflow id.
async fn listed(runs: &Runs) -> BTreeMap<String, Vec<String>> {
    let mut statuses = BTreeMap::<String, Vec<String>>::new();
    let mut body = json!({ "page_size": 500 });
    loop {
        let page = runs.list(&body).await.expect_status(200).body;
        for run in page["runs"].as_array().unwrap() {
            let text = |field: &str| run[field].as_str().unwrap().to_owned();
            statuses
                .entry(text("workflow_id"))
                .or_default()
                .push(text("status"));
        }
        if page["has_more"] == false {
            return statuses;
        }
        body["next_page_token"] = page["next_page_token"].clone();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_come_to_their_ends_however_often_the_service_is_killed_locally() {
    story(run_count(RUNS), Vec::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_come_to_their_ends_under_faults_and_kills_locally() {
    story(run_count(RUNS_UNDER_FAULTS), tests::faults::heavy()).await;
}

/// Waits until every run is completed. Returns the number of starts. Listings may lag.
async fn completed(runs: &Runs, ids: &[String]) -> usize {
    let expected: BTreeSet<_> = ids.iter().collect();
    let deadline = Instant::now() + WITHIN;
    loop {
        let runs_by_id = listed(runs).await;
        let mut statuses = runs_by_id.values().flatten();
        let wrong = statuses.find(|status| !["RUNNING", "COMPLETED"].contains(&status.as_str()));
        assert_eq!(wrong, None, "{runs_by_id:?}");
        let is_completed = |statuses: &Vec<String>| statuses.iter().all(|status| status == "COMPLETED");
        let unfinished: Vec<_> = runs_by_id
            .iter()
            .filter(|(_, statuses)| !is_completed(statuses))
            .collect();
        if unfinished.is_empty() && runs_by_id.keys().collect::<BTreeSet<_>>() == expected {
            return runs_by_id.values().map(Vec::len).sum();
        }
        assert!(
            Instant::now() < deadline,
            "{} of {} runs are listed after {WITHIN:?}, and not at their end: {unfinished:?}",
            runs_by_id.len(),
            expected.len()
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn story(count: usize, faults: Vec<(String, String)>) {
    let log = tempfile::tempdir().unwrap();
    let log = log.path().join("steps");
    let mut variables = vec![("MILLRACE_STEP_LOG", log.to_str().unwrap())];
    variables.extend(faults.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let mut runs = Runs::start_local_with(&variables).await;
    let begun = Instant::now();
    let ids: Vec<_> = (0..count).map(|_| unique("chaos")).collect();
    let queue = Arc::new(Mutex::new(ids.clone()));
    let (turn, started) = (Arc::new(RwLock::new(())), Arc::new(AtomicUsize::new(0)));
    let starters: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (starter, queue, turn, started) =
                (runs.starter(), queue.clone(), turn.clone(), started.clone());
            std::thread::spawn(move || {
                loop {
                    let next = queue.lock().unwrap().pop();
                    let Some(id) = next else { return };
                    begin(&starter, &turn, &id);
                    started.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();

    let mut kills = 0;
    let mut next = count / 10;
    while starters.iter().any(|starter| !starter.is_finished()) || kills < KILLS {
        let so_many = started.load(Ordering::Relaxed);
        if so_many >= next.min(count) {
            runs.service.process().kill();
            {
                let _nobody_else = turn.write().unwrap();
                runs.service.restart();
            }
            kills += 1;
            next = so_many + 1 + rand::random_range(0..count / 3);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for starter in starters {
        starter.join().unwrap();
    }
    let all_started = begun.elapsed();

    let starts = completed(&runs, &ids).await;
    let effects = effects(&log);
    for id in &ids {
        for step in 1..=STEPS {
            let step = (id.clone(), step.to_string());
            assert!(effects.contains_key(&step), "no effect of step {step:?}");
        }
    }
    assert_eq!(effects.len(), count * STEPS);
    runs.starter().scope.check().await;
    let effect_count: usize = effects.values().sum();
    let duplicates = effect_count - starts * STEPS;
    println!(
        "{count} runs, {starts} starts, {kills} kills, {effect_count} effects of {} steps: {duplicates} duplicates; \
         all started after {all_started:?}, ended after {:?}",
        starts * STEPS,
        begun.elapsed()
    );
    match faults.is_empty() {
        // A kill can repeat only the open steps, at most one per run.
        true => assert!(duplicates < count * kills, "{duplicates} duplicates"),
        false => println!("faults: {:?}", runs.service.faults()),
    }
}

/// Less than the half minute after which a lost message is repeated, which would fire the timer too.
const TIMER_LATENESS: Duration = Duration::from_secs(25);

#[tokio::test]
async fn timers_fire_on_time_after_a_kill_locally() {
    let mut runs = Runs::start_local().await;
    let waits = Duration::from_secs(4);
    let input = json!({ "title": "A horse", "timeout_seconds": waits.as_secs() });
    let run = runs.begin("Approval", &input);
    let time = |events: &[Value], name: &str| {
        let is_it = |event: &&Value| event["event_type"].as_str().unwrap().ends_with(name);
        let event = events.iter().find(is_it)?;
        Some(
            event["event_time"]
                .as_str()
                .unwrap()
                .parse::<jiff::Timestamp>()
                .unwrap(),
        )
    };
    let deadline = Instant::now() + WITHIN;
    let started = loop {
        if let Some(started) = time(&runs.events(&run).await, "TIMER_STARTED") {
            break started;
        }
        assert!(Instant::now() < deadline, "no timer is started");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    runs.service.process().kill();
    runs.service.restart();
    runs.wait_for_status(&run, "COMPLETED").await;
    let fired = time(&runs.events(&run).await, "TIMER_FIRED").unwrap();
    let took = Duration::try_from(fired - started).unwrap();
    assert!(
        (waits..waits + TIMER_LATENESS).contains(&took),
        "a timer of {waits:?} took {took:?}"
    );
}

#[tokio::test]
async fn a_start_with_the_id_of_an_open_run_returns_that_run_locally() {
    let mut runs = Runs::start_local().await;
    let id = unique("once");
    let input = json!({ "title": "Once" });
    let (run, is_new) = runs.begin_as("Approval", &id, &input);
    assert!(is_new);
    assert_eq!(runs.begin_as("Approval", &id, &input), (run.clone(), false));
    assert_eq!(
        runs.begin_as("Steps", &id, &json!({ "steps": 1 })),
        (run.clone(), false)
    );
    runs.service.restart();
    assert_eq!(runs.begin_as("Approval", &id, &input), (run.clone(), false));
    assert_eq!(runs.workflow_ids(&json!({})).await, [id.as_str()]);

    // Concurrent starts also create one run.
    let id = unique("at-once");
    let starters: Vec<_> = (0..6)
        .map(|_| {
            let (starter, id, input) = (runs.starter(), id.clone(), input.clone());
            std::thread::spawn(move || starter.begin_as("Approval", &id, &input))
        })
        .collect();
    let began: Vec<_> = starters
        .into_iter()
        .map(|starter| starter.join().unwrap())
        .collect();
    assert!(began.iter().all(|(run, _)| *run == began[0].0), "{began:?}");
    assert_eq!(began.iter().filter(|(_, is_new)| *is_new).count(), 1);

    // After the run's end, the id is free again.
    runs.act(&run, "terminate").await;
    let (again, is_new) = runs.begin_as("Approval", &run.workflow_id, &input);
    assert!(is_new && again.run_id != run.run_id);
    let first: Value = runs.detail(&run).await;
    assert_eq!(first["status"], "TERMINATED");
}
