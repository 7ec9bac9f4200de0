//! Tests hostile statements: none leaves the store, and none stops it.

use std::cell::RefCell;
use std::future::IntoFuture as _;

use futures::future::join_all;
use serde_json::json;
use tests::stores::INTERNAL_WORDS;
use tests::{Answer, Store, unique};

/// Statements that must be refused, one per line; those after `? ` may be answered.
const CORPUS: &str = include_str!("../../data/hostile.sql");

/// Store with one table, a file that no statement may read, and the contents of both.
struct Target {
    store: Store,
    folder: String,
    file: String,
    secret: String,
    wrong: RefCell<Vec<String>>,
}

impl Target {
    async fn start() -> Self {
        let store = Store::start().await;
        store
            .table("kept", &["id INTEGER primary_key", "name STRING"])
            .await;
        let rows = json!([{ "id": 1, "name": "a" }, { "id": 2, "name": "b" }]);
        store.append("kept", &rows).await.expect_status(200);
        let secret = unique("secret");
        let file = store.service.folder().join("secret.csv");
        std::fs::write(&file, format!("a,b\n{secret},1\n")).unwrap();
        Self {
            folder: store.service.folder().to_string_lossy().into_owned(),
            file: file.to_string_lossy().into_owned(),
            secret,
            wrong: RefCell::default(),
            store,
        }
    }

    /// Runs a statement, and checks that the result is a clear refusal or an answer, and leaks nothing.
    async fn ask(&self, sql: &str) -> Answer {
        let answer = self.store.query(sql, &json!({})).await;
        let text = answer.text();
        let what = format!("{}: {} {}", start(sql), answer.status, start(&text));
        if answer.status != 200 {
            answer.check_error();
            if ![400, 408, 413, 422].contains(&answer.status) {
                self.note(what.clone());
            }
        }
        let (text, sql) = (text.to_lowercase(), sql.to_lowercase());
        let names = [&self.secret, &self.folder, &self.store.scope.account];
        for word in names
            .map(String::as_str)
            .into_iter()
            .chain(INTERNAL_WORDS)
            .chain(["set "])
        {
            let word = word.to_lowercase();
            if text.contains(&word) && !sql.contains(&word) {
                self.note(format!("'{word}' in {what}"));
            }
        }
        answer
    }

    /// Checks that the store still answers.
    async fn probe(&self, after: &str) {
        let sql = "SELECT id, name FROM kept ORDER BY id";
        let answer = self.store.query(sql, &json!({})).await;
        if answer.status != 200 || answer.body["rows"] != json!([[1, "a"], [2, "b"]]) {
            self.note(format!("after {}: {}", start(after), answer.text()));
        }
    }

    /// Collects faults, so that one run reports all.
    fn note(&self, wrong: String) {
        self.wrong.borrow_mut().push(wrong);
    }

    #[track_caller]
    fn expect_nothing_wrong(&self) {
        let wrong = self.wrong.borrow();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn start(text: &str) -> String {
    text.chars().take(300).collect()
}

#[tokio::test]
async fn hostile_statement_reads_and_changes_nothing_outside_its_store() {
    let target = Target::start().await;
    let before = target.store.detail().await;
    let mut count = 0;
    for line in CORPUS.lines().filter(|line| !line.starts_with("# ")) {
        let (may_answer, sql) = match line.strip_prefix("? ") {
            Some(sql) => (true, sql),
            None => (false, line),
        };
        let sql = sql
            .replace("{secret}", &target.file)
            .replace("{folder}", &target.folder);
        let answer = target.ask(&sql).await;
        if answer.status == 200 && !may_answer {
            target.note(format!("{sql}: {}", answer.text()));
        }
        target.probe(&sql).await;
        count += 1;
    }
    assert!(count > 80, "{count}");
    target.expect_nothing_wrong();
    assert_eq!(target.store.detail().await, before);
    let hostile = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names
            .filter(|name| name.contains("hostile.") || name == "hostile")
            .collect()
    };
    assert_eq!(hostile(&target.folder), [""; 0]);
    assert_eq!(hostile("."), [""; 0]);
}

#[tokio::test]
async fn statements_too_deep_too_long_or_too_odd_are_refused() {
    let target = Target::start().await;
    let nested = |open: &str, middle: &str, close: &str, depth: usize| {
        format!("SELECT {}{middle}{}", open.repeat(depth), close.repeat(depth))
    };
    for sql in [
        nested("(", "1", ")", 5_000),
        nested("(", "1", ")", 500_000),
        nested("(SELECT ", "1", ")", 5_000),
        nested("-", "1", "", 5_001).replace("--", "- -"),
        nested("NOT ", "true", "", 50_000),
        nested("[", "1", "]", 5_000),
        nested("abs(", "1", ")", 5_000),
        nested("CASE WHEN true THEN ", "1", " END", 5_000),
        format!("SELECT 1{}", " + 1".repeat(50_000)),
        format!("SELECT * FROM kept WHERE {} true", "id = 1 OR ".repeat(20_000)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(2_000)),
        format!("SELECT * FROM kept{}", ", kept".repeat(2_000)),
        format!(
            "WITH {} SELECT 1",
            (0..3_000)
                .map(|n| format!("c{n} AS (SELECT 1)"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        format!(
            "SELECT * FROM {}kept{}",
            "(SELECT * FROM ".repeat(3_000),
            ")".repeat(3_000)
        ),
        format!("SELECT {}", "x".repeat(1_000_000)),
        format!("SELECT '{}'", "x".repeat(1_000_000)),
        format!("SELECT 1 /*{}*/", "x".repeat(1_000_000)),
        format!("SELECT {}", vec!["1"; 50_000].join(",")),
        format!("SELECT {}", "9".repeat(100_000)),
        format!("SELECT \"{}\" FROM kept", "\"\"".repeat(100_000)),
        "SELECT 1\u{0}; DROP VIEW kept".to_owned(),
        "SELECT '\u{0}'".to_owned(),
        "\u{0}".to_owned(),
        "SELECT\u{a0}1".to_owned(),
        "SELECT \u{feff}1".to_owned(),
        "\u{feff}SELECT 1".to_owned(),
        "SELECT 1 --\r; DROP VIEW kept".to_owned(),
        "SELECT 1 --\n; DROP VIEW kept".to_owned(),
        "SELECT 1 --\u{2028}; DROP VIEW kept".to_owned(),
        "SELECT '\u{202e}' AS \"\u{202e}\"".to_owned(),
    ] {
        target.ask(&sql).await;
        target.probe(&sql).await;
    }
    target.expect_nothing_wrong();
}

#[tokio::test]
async fn an_endless_query_is_stopped_in_time() {
    let target = Target::start().await;
    // One call of a function that never checks the clock. Others end the same, as the tests of the engine
    // show with a shorter time.
    let endless = "SELECT levenshtein(repeat('a', 400000), repeat('b', 400000))";
    let answer = target.ask(endless).await.expect_error(408, "timeout");
    assert!(answer.message().contains("25 s"), "{}", answer.message());
    target.probe("endless queries").await;
    target.expect_nothing_wrong();
}

#[tokio::test]
async fn a_query_that_needs_too_much_memory_ends_alone() {
    let target = Target::start().await;
    for sql in [
        "SELECT list(range) FROM range(1000000000)",
        "SELECT string_agg(repeat('x', 1000), '') FROM range(10000000)",
        "SELECT count(*) FROM (SELECT DISTINCT a.range, b.range, hash(a.range, b.range) FROM range(100000) a, range(100000) b)",
    ] {
        let refused = target.ask(sql).await;
        // A busy machine may lack the time to use so much memory.
        if refused.status != 408 {
            refused.expect_error(422, "unprocessable");
        }
        target.probe(sql).await;
    }
    target.expect_nothing_wrong();
}

/// A busy service may refuse a query of either store with 503, but answers none wrongly, and all that come
/// later.
#[tokio::test]
async fn eight_greedy_queries_do_not_stop_another_store() {
    let target = Target::start().await;
    let other = json!({ "name": unique("other") });
    let (service, token) = (&target.store.service, &target.store.token);
    let other = service.post(token, "/data", &other).await.expect_status(201);
    let path = format!("/data/{}/query", other.id());
    let query = json!({ "sql": "SELECT 42" });
    let empty = json!({});
    let greedy = (0..8).map(|_| {
        target
            .store
            .query("SELECT list(range) FROM range(1000000000)", &empty)
    });
    let greedy = join_all(greedy);
    let mut greedy = std::pin::pin!(greedy);
    let refused = loop {
        let ask = service.post(token, &path, &query).into_future();
        let (answer, ended) = match futures::future::select(greedy.as_mut(), ask).await {
            futures::future::Either::Left((answers, ask)) => (ask.await, Some(answers)),
            futures::future::Either::Right((answer, _)) => (answer, None),
        };
        if answer.status != 503 {
            assert_eq!(answer.expect_status(200).body["rows"], json!([[42]]));
        }
        if let Some(answers) = ended {
            break answers;
        }
    };
    for answer in refused {
        assert!([408, 422, 503].contains(&answer.status), "{}", answer.text());
    }
    let answer = service.post(token, &path, &query).await.expect_status(200);
    assert_eq!(answer.body["rows"], json!([[42]]));
    target.probe("greedy queries").await;
    target.expect_nothing_wrong();
}
