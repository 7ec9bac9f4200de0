//! Tests deadlines, memory limits and crashes: the job fails with a clear error, and the next one works.

use std::time::{Duration, Instant};

use lake::EngineLimits;
use serde_json::json;

use crate::fixture::{Store, limits};

fn tight() -> EngineLimits {
    EngineLimits {
        memory_limit_bytes: 200 * 1024 * 1024,
        address_space_bytes: 1_800 * 1024 * 1024,
        temp_bytes: 50 * 1024 * 1024,
        ..limits()
    }
}

#[tokio::test]
async fn an_endless_query_ends_at_its_deadline() {
    let store = Store::with_orders(EngineLimits {
        deadline: Duration::from_secs(2),
        ..limits()
    })
    .await;
    store.probe().await;
    let error = store
        .query("select count(*) from range(1000000000000) a, range(1000000) b")
        .await
        .unwrap_err();
    assert_eq!(error.status(), 408, "{error}");
    store.probe().await;
}

#[tokio::test]
async fn a_function_that_cannot_be_interrupted_is_killed() {
    let store = Store::with_orders(EngineLimits {
        deadline: Duration::from_secs(1),
        ..limits()
    })
    .await;
    let sql = "select list_sum(list_transform(range(3000000), x -> list_sum(range(x % 3000))))";
    let error = store.query(sql).await.unwrap_err();
    assert!([408, 422].contains(&error.status()), "{error}");
    store.probe().await;
}

#[tokio::test]
async fn a_memory_hog_is_refused_and_the_next_query_works() {
    // A long deadline, because filling the memory takes long on a busy machine.
    let store = Store::with_orders(EngineLimits {
        deadline: Duration::from_secs(300),
        ..tight()
    })
    .await;
    for sql in [
        "select list_sum(list_transform(range(100000000), x -> x + 1))",
        "select length(string_agg(repeat('x', 1000) || i, '')) from range(10000000) t(i)",
        "select a.i from range(30000000) a(i), range(10) b order by hash(a.i), random()",
    ] {
        let error = store.query(sql).await.expect_err(sql);
        assert!(error.status() == 422, "{sql}: {error}");
        assert!(!error.message().contains("SET"), "{error}");
        store.probe().await;
    }
}

fn kill(id: u32) {
    let status = std::process::Command::new("kill")
        .args(["-9", &id.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Kills the children of this store's engine, found by its directory in their arguments.
fn kill_children(store: &Store) {
    let directory = store.directory.path().to_str().unwrap();
    let is_ours = |id: &u32| {
        let arguments = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(directory)
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    let ids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    for id in ids.filter(is_ours) {
        // The process may have ended already.
        let _ = std::process::Command::new("kill")
            .args(["-9", &u32::to_string(&id)])
            .status();
    }
}

#[tokio::test]
async fn a_child_that_dies_fails_its_job_only() {
    let store = Store::with_orders(limits()).await;
    store.probe().await;
    let endless = store.query("select count(*) from range(1000000000000) a, range(1000000) b");
    // Any child may take the job; one that is killed before the job starts is replaced.
    let killer = async {
        loop {
            kill_children(&store);
            tokio::task::yield_now().await;
        }
    };
    let error = tokio::select! { result = endless => result.unwrap_err(), () = killer => unreachable!() };
    assert_eq!(error.status(), 422);
    assert!(error.message().contains("memory"), "{error}");
    store.probe().await;
}

#[tokio::test]
async fn a_child_that_died_while_it_waited_is_replaced() {
    let store = Store::with_orders(limits()).await;
    store.probe().await;
    for id in store.engine.idle_children() {
        kill(id);
        // Waits until the process is a zombie: it is a child of this process, which has not collected it yet.
        while std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    }
    store.probe().await;
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_child_along() {
    let store = Store::with_orders(limits()).await;
    store.probe().await;
    let before = store.engine.idle_children();
    let endless = store.query("select count(*) from range(1000000000000) a, range(1000000) b");
    tokio::time::timeout(Duration::from_millis(300), endless)
        .await
        .unwrap_err();
    let after = store.engine.idle_children();
    assert!(after.len() < before.len(), "{before:?} {after:?}");
    store.probe().await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_says_what_to_do() {
    let store = Store::with_orders(EngineLimits {
        max_result_bytes: 100_000,
        ..limits()
    })
    .await;
    let error = store
        .query("select repeat('x', 1000) from range(1000)")
        .await
        .unwrap_err();
    assert_eq!(error.status(), 422);
    assert!(error.message().contains("0.1 MB; lower 'limit'"), "{error}");
    let wide = store
        .query("select list(i) from range(1000000) t(i)")
        .await
        .unwrap_err();
    assert_eq!(wide.status(), 422);
    store.probe().await;
}

#[tokio::test]
async fn a_warm_child_serves_its_version_only() {
    let store = Store::with_orders(limits()).await;
    store.probe().await;
    let warm = store.engine.idle_children();
    store.probe().await;
    assert_eq!(store.engine.idle_children(), warm);
    let params = serde_json::Map::new();
    let other = lake::Scope {
        account: "acme",
        key: "store/other",
        tables: &[],
        directory: store.directory.path(),
    };
    let error = store
        .engine
        .query(other, "select * from orders", &params, None)
        .await
        .unwrap_err();
    assert!(error.message().contains("'orders' does not exist"), "{error}");
    assert_ne!(store.engine.idle_children(), warm);
    assert_eq!(store.rows("select 1").await, json!([[1]]));
}

#[tokio::test]
async fn two_queries_run_beside_each_other() {
    let store = Store::with_orders(limits()).await;
    let slow = "select count(*) from range(30000000) where hash(range) % 2 = 3";
    let (first, second) = tokio::join!(store.query(slow), store.query("select 1"));
    assert_eq!(first.unwrap()["rows"], json!([[0]]));
    assert_eq!(second.unwrap()["rows"], json!([[1]]));
}

/// A killed parent closes its end of the pipe, and the child must stop its job.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test has no configuration")]
fn a_child_ends_when_its_input_does() {
    let temp = tempfile::tempdir().unwrap();
    let own = temp.path().join("own");
    std::fs::create_dir(&own).unwrap();
    let settings = json!({ "limits": limits(), "temp": own });
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_lake-child"))
        .args(["millrace-lake-child", &settings.to_string()])
        .env_clear()
        .envs(std::env::var_os("LD_LIBRARY_PATH").map(|path| ("LD_LIBRARY_PATH", path)))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let sql = "select count(*) from range(1000000000000) a, range(1000000) b";
    let mut input = child.stdin.take().unwrap();
    for job in [
        json!({ "Bind": { "tables": [], "files": [] } }),
        json!({ "Plan": { "sql": sql, "params": {} } }),
        json!({ "Query": { "tables": [], "rows": 1, "bytes": 1000, "format": "Json" } }),
    ] {
        let header = json!({ "deadline_ms": 600_000, "job": job }).to_string();
        let mut frame = u32::try_from(header.len()).unwrap().to_le_bytes().to_vec();
        frame.extend([0; 4]);
        frame.extend(header.as_bytes());
        std::io::Write::write_all(&mut input, &frame).unwrap();
    }
    drop(input);
    let started = Instant::now();
    child.wait().unwrap();
    assert!(started.elapsed() < Duration::from_secs(300));
    // Behind the fence, the folder itself is not the child's to remove.
    assert!(std::fs::read_dir(&own).map_or(true, |mut files| files.next().is_none()));
}
