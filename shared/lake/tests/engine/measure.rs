//! Measurements, run by hand: `cargo test -p lake --release --test engine -- --ignored --nocapture measure`.

use std::fmt::Write as _;
use std::time::Instant;

use serde_json::json;

use crate::fixture::{Store, limits, table};

fn best(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[0]
}

#[tokio::test]
#[ignore = "a measurement"]
async fn measure_staging_and_queries() {
    let columns = json!([
        { "name": "id", "type": "BIGINT", "primary_key": true }, { "name": "name", "type": "STRING" },
        { "name": "qty", "type": "INTEGER" }, { "name": "price", "type": "DECIMAL" },
        { "name": "seen", "type": "TIMESTAMP" }, { "name": "ok", "type": "BOOLEAN" }, { "name": "day", "type": "DATE" }
    ]);
    let mut csv = String::from("id,name,qty,price,seen,ok,day\n");
    for i in 0..1_000_000_u32 {
        let (name, qty, cents) = (i % 1_000, i % 97, i.wrapping_mul(2_654_435_761) % 100_000);
        let (minute, second, day) = (i / 60 % 60, i % 60, i % 28 + 1);
        writeln!(
            csv,
            "{i},name {name},{qty},{}.{:02},2024-01-01 00:{minute:02}:{second:02},{},2024-02-{day:02}",
            cents / 100,
            cents % 100,
            i % 2 == 0
        )
        .unwrap();
    }
    let mut store = Store::new(limits(), vec![table("t", columns)]);
    let input = store.directory.path().join("input.csv");
    std::fs::write(&input, &csv).unwrap();
    store.engine.warm().unwrap();
    let mut times = Vec::new();
    for _ in 0..3 {
        let (stage, id) = store.stage(0);
        let started = Instant::now();
        store
            .engine
            .stage_csv(
                lake::Stage {
                    segment_id: &id,
                    ..stage
                },
                &input,
            )
            .await
            .unwrap();
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    println!("1M rows of CSV staged: {:.0} ms", best(times));
    store.import(0, &csv).await.unwrap();
    let path = store.files.values().next().unwrap().clone();
    let started = Instant::now();
    store
        .engine
        .check_keys(&store.tables[0], std::slice::from_ref(&path), &[])
        .await
        .unwrap();
    println!(
        "primary key of 1M rows checked: {:.0} ms",
        started.elapsed().as_secs_f64() * 1e3
    );
    for sql in [
        "select 1",
        "select count(*), sum(price) from t",
        "select * from t limit 1000",
    ] {
        store.query(sql).await.unwrap();
        let mut times = Vec::new();
        for _ in 0..20 {
            let started = Instant::now();
            let params = serde_json::Map::new();
            store
                .engine
                .query(store.scope(), sql, &params, None)
                .await
                .unwrap();
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        println!("warm '{sql}': {:.2} ms", best(times));
    }
    for what in ["no spare", "with a spare"] {
        let mut times = Vec::new();
        for round in 0..5 {
            let engine = crate::fixture::engine(&store.directory, limits());
            let params = serde_json::Map::new();
            if what == "with a spare" {
                // The spare gets itself ready beside these.
                for _ in 0..100 {
                    engine
                        .query(store.scope(), "select count(*) from t", &params, None)
                        .await
                        .unwrap();
                }
            }
            let key = format!("{what}/{round}");
            let started = Instant::now();
            let scope = lake::Scope {
                key: &key,
                ..store.scope()
            };
            engine.query(scope, "select 1", &params, None).await.unwrap();
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        println!("first query of a version, {what}: {:.0} ms", best(times));
    }
}
