//! Tests the platform's own statements over one folder: their access, their results, and the children that
//! run them.

use std::path::Path;
use std::time::Duration;

use lake::{Engine, EngineConfig, EngineLimits, sql_path, sql_paths, sql_text};
use platform::Result;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{engine, limits};

const ALLOWED: Duration = Duration::from_secs(20);

struct World {
    engine: Engine,
    directory: TempDir,
    _children: TempDir,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for folder in ["log/acme/part", "log/acme2", "log/beta"] {
            std::fs::create_dir_all(directory.path().join(folder)).unwrap();
        }
        let children = tempfile::tempdir().unwrap();
        let engine = engine(&children, limits());
        Self {
            engine,
            directory,
            _children: children,
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join("log").join(name)
    }

    async fn rows(&self, sql: &str, params: &[Value]) -> Result<Vec<Vec<Value>>> {
        let folder = self.path("acme");
        let mut session = self.engine.open_folder("acme", &folder, ALLOWED).await?;
        session.rows(sql, params).await
    }

    async fn execute(&self, sql: &str) -> Result<u64> {
        let folder = self.path("acme");
        let mut session = self.engine.open_folder("acme", &folder, ALLOWED).await?;
        session.execute(sql).await
    }
}

fn literal(path: &Path) -> String {
    sql_path(path).unwrap()
}

#[tokio::test]
async fn files_of_the_folder_are_written_and_read_at_any_depth() {
    let world = World::new();
    let file = world.path("acme/part/it's.parquet");
    let copy = format!(
        "COPY (SELECT range AS n FROM range(7)) TO {} (FORMAT parquet)",
        literal(&file)
    );
    assert_eq!(world.execute(&copy).await.unwrap(), 7);
    let sum = format!(
        "SELECT sum(n)::BIGINT, count(*) FROM read_parquet({})",
        sql_paths([file.as_path()]).unwrap()
    );
    assert_eq!(world.rows(&sum, &[]).await.unwrap(), [[json!(21), json!(7)]]);
}

#[tokio::test]
async fn nothing_outside_of_the_folder_is_reached() {
    let world = World::new();
    let outside = ["acme2/x.csv", "beta/x.csv", "x.csv"];
    for file in outside {
        std::fs::write(world.path(file), "a\n1\n").unwrap();
    }
    let escaping = world.path("acme/../beta/x.csv");
    let through_part = world.path("acme/part/../../beta/x.csv");
    let everywhere = world.path("*/x.csv");
    let outside = outside.map(|file| world.path(file));
    for file in outside.iter().chain([&escaping, &through_part, &everywhere]) {
        let file = literal(file);
        for statement in [
            format!("SELECT * FROM read_csv({file})"),
            format!("SELECT * FROM read_text({file})"),
            format!("SELECT * FROM read_blob([{file}])"),
        ] {
            assert!(world.rows(&statement, &[]).await.is_err(), "{statement}");
        }
        let copy = format!("COPY (SELECT 2 AS a) TO {file}");
        assert!(world.execute(&copy).await.is_err(), "{copy}");
    }
    for file in outside {
        assert_eq!(std::fs::read_to_string(file).unwrap(), "a\n1\n");
    }
    for statement in [
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "INSTALL httpfs",
        "SELECT * FROM read_csv('https://example.com/x.csv')",
        "ATTACH '/tmp/x.db'",
    ] {
        assert!(world.execute(statement).await.is_err(), "{statement}");
    }
}

#[tokio::test]
async fn values_of_each_type_come_and_go() {
    let world = World::new();
    let row = world
        .rows(
            "SELECT ?::VARCHAR, ?::BIGINT, ?::DOUBLE, ?::BOOLEAN, ?::VARCHAR, ?::TIMESTAMPTZ, ?::JSON::VARCHAR[]",
            &[
                json!("it's ? $1 \"{{x}}\" \u{1F30A}\n'; --"),
                json!(-5),
                json!(2.5),
                json!(true),
                json!(null),
                json!("2026-11-24T00:00:00.123+01:00"),
                json!(["a'", "b\"", "ü"]),
            ],
        )
        .await
        .unwrap();
    assert_eq!(
        row,
        [[
            json!("it's ? $1 \"{{x}}\" \u{1F30A}\n'; --"),
            json!(-5),
            json!(2.5),
            json!(true),
            json!(null),
            json!("2026-11-23T23:00:00.123Z"),
            json!(["a'", "b\"", "ü"]),
        ]]
    );
    let row = world
        .rows(
            "SELECT 9007199254740992, 9007199254740993, 1e300, 'nan'::DOUBLE, [{c: 'x', q: 1.5::DOUBLE}, NULL], \
             '{\"a\": 1}'::JSON, 3::SMALLINT",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(
        row,
        [[
            json!(9_007_199_254_740_992_u64),
            json!("9007199254740993"),
            json!(1e300),
            json!(null),
            json!([{ "c": "x", "q": 1.5 }, null]),
            json!({ "a": 1 }),
            json!(3),
        ]]
    );
    let none = world
        .rows("SELECT 1 WHERE ?::BIGINT > 1", &[json!(1)])
        .await
        .unwrap();
    assert!(none.is_empty());
    let many = world.rows("SELECT range FROM range(200000)", &[]).await.unwrap();
    assert_eq!((many.len(), &many[199_999]), (200_000, &vec![json!(199_999)]));
}

#[tokio::test]
async fn a_text_is_quoted_as_one_literal() {
    let world = World::new();
    let text = "'; DROP TABLE x; -- \\' \n \"";
    let rows = world
        .rows(&format!("SELECT {}", sql_text(text)), &[])
        .await
        .unwrap();
    assert_eq!(rows, [[json!(text)]]);
}

#[tokio::test]
async fn statements_of_one_folder_share_a_child_and_two_folders_never_do() {
    let world = World::new();
    world.rows("SELECT 1", &[]).await.unwrap();
    let first = world.engine.idle_children();
    world.rows("SELECT 1 +", &[]).await.unwrap_err();
    for _ in 0..3 {
        world
            .rows("CREATE OR REPLACE TEMP TABLE t AS SELECT 1 AS a", &[])
            .await
            .unwrap();
    }
    let warm = world.engine.idle_children();
    assert_eq!(world.rows("SELECT a FROM t", &[]).await.unwrap(), [[json!(1)]]);
    assert_eq!(world.engine.idle_children(), warm);
    // The statement's internal error ended its child.
    assert_ne!(first, warm);

    let beta = world.path("beta");
    let mut session = world.engine.open_folder("beta", &beta, ALLOWED).await.unwrap();
    session.rows("SELECT a FROM t", &[]).await.unwrap_err();
}

#[tokio::test]
async fn an_endless_statement_ends_at_its_deadline_and_the_next_one_works() {
    let world = World::new();
    let folder = world.path("acme");
    let allowed = Duration::from_secs(1);
    let mut session = world.engine.open_folder("acme", &folder, allowed).await.unwrap();
    let endless = "SELECT count(*) FROM range(1000000000000) a, range(1000000) b";
    let error = session.rows(endless, &[]).await.unwrap_err();
    assert_eq!(error.status(), 408, "{error}");
    drop(session);
    assert_eq!(world.rows("SELECT 1", &[]).await.unwrap(), [[json!(1)]]);
}

#[tokio::test]
async fn a_relative_folder_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = EngineConfig::new(directory.path()).unwrap();
    config.limits = EngineLimits::default();
    let engine = Engine::new(config);
    let refused = engine.open_folder("acme", Path::new("log"), ALLOWED).await;
    assert_eq!(refused.err().map(|error| error.status()), Some(500));
}
