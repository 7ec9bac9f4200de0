//! Tests statements that try to reach data of others.
//!
//! Each statement of `data/statements.sql` runs in one of two projects of a service, two at a time in each.
//! No answer may name a file, a path or a setting, and after each group the store must answer as before.

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::StreamExt as _;
use futures::future::join_all;
use serde_json::{Value, json};
use tests::stores::INTERNAL_WORDS;
use tests::{Answer, Method, Persona, Service, Store, binary, unique};

/// Statements, under headings; the head of the file explains the mark before each.
const STATEMENTS: &str = include_str!("data/statements.sql");

/// Names of files with a secret, beside the data directory and in the runner's working folder.
const SECRETS: [&str; 6] = [
    "secret.csv",
    "secret.json",
    "secret.csv.gz",
    "k.csv",
    "\u{212a}.csv",
    "\u{c9}.csv",
];

/// Bodies that hold no query, one per line after the text that the refusal must name. A character is the byte
/// of its number.
const BODIES: &str = include_str!("data/query-bodies.txt");

/// Values of parameters that try to escape their place, or that have an odd type.
const PARAMETERS: &str = include_str!("data/parameters.json");

/// Concurrent statements in one project, which gets at most two of the four query processes.
const AT_ONCE: usize = 2;

/// Most repetitions of a statement that the service had no time for.
const MAX_REPETITIONS: usize = 5;
/// Maximum number of statements of one validation.
const MAX_VALIDATED: usize = 100;

/// Statement and its expected result.
struct Row {
    mark: char,
    expected: Value,
    sql: String,
    line: usize,
}

impl Row {
    fn is_heavy(&self) -> bool {
        self.mark == '^'
    }

    /// Returns the statuses that the answer may have.
    fn statuses(&self) -> &'static [u16] {
        match self.mark {
            '!' => &[400],
            'x' => &[400, 422],
            '^' => &[408, 413, 422],
            '?' => &[200, 400, 422],
            '=' => &[200],
            mark => panic!("line {} begins with '{mark}'", self.line),
        }
    }
}

struct Place {
    token: String,
    path: String,
}

/// Service, the stores of two of its projects, and files that no statement may read.
struct Target {
    store: Store,
    places: [Place; 2],
    secret: String,
    hidden: Vec<String>,
    params: Value,
}

impl Target {
    async fn start() -> Self {
        let store = Store::start().await;
        let other = store.scope.token(Persona::OtherProject);
        let created = store.service.post(&other, "/data", &json!({ "name": "Other" }));
        let other_id = created.await.expect_status(201).id();
        let places = [(store.token.clone(), store.id.clone()), (other, other_id)].map(|(token, id)| Place {
            token,
            path: format!("/data/{id}"),
        });
        for place in &places {
            place.fill(&store.service).await;
        }
        let secret = unique("secret");
        for name in SECRETS {
            std::fs::write(store.service.folder().join(name), secret_file(name, &secret)).unwrap();
        }
        let folder = store.service.folder().to_string_lossy().into_owned();
        let programs = binary("millrace")
            .with_file_name("")
            .to_string_lossy()
            .into_owned();
        let hidden = vec![folder.clone(), programs, store.scope.account.clone()];
        let params = PARAMETERS.replace("{secret}", &format!("{folder}/{}", SECRETS[0]));
        Self {
            store,
            places,
            secret,
            hidden,
            params: serde_json::from_str(&params).unwrap(),
        }
    }

    /// Returns the rows of the file, by heading.
    fn groups(&self) -> Vec<(&'static str, Vec<Row>)> {
        let folder = self.store.service.folder().to_string_lossy().into_owned();
        let mut groups: Vec<(&str, Vec<Row>)> = Vec::new();
        for (number, line) in STATEMENTS.lines().enumerate() {
            if let Some(heading) = line.strip_prefix("# ") {
                groups.push((heading, Vec::new()));
            } else if !line.is_empty() {
                let row = row(number + 1, line, &folder);
                groups.last_mut().unwrap().1.push(row);
            }
        }
        groups.retain(|(_, rows)| !rows.is_empty());
        groups
    }

    /// Runs all rows of some groups, each group in one project. Returns the faults.
    async fn check(&self, groups: &[(&str, Vec<Row>)]) -> Vec<String> {
        let in_place = async |number: usize| {
            let place = &self.places[number];
            let mut wrong = Vec::new();
            for (heading, rows) in groups.iter().skip(number).step_by(self.places.len()) {
                let checks = rows.iter().map(|row| self.check_row(place, row));
                let faults: Vec<_> = futures::stream::iter(checks)
                    .buffer_unordered(AT_ONCE)
                    .collect()
                    .await;
                wrong.extend(faults.into_iter().flatten());
                for rows in rows.chunks(MAX_VALIDATED) {
                    wrong.extend(self.check_validation(place, heading, rows).await);
                }
                wrong.extend(place.probe(&self.store.service, heading).await);
            }
            wrong
        };
        join_all([0, 1].map(in_place)).await.concat()
    }

    async fn check_row(&self, place: &Place, row: &Row) -> Vec<String> {
        let ask = async || place.ask(&self.store.service, &row.sql, &self.params).await;
        let mut answer = ask().await;
        // A busy machine has no child for a statement, or no time.
        for _ in 0..MAX_REPETITIONS {
            if row.statuses().contains(&answer.status) || ![408, 503].contains(&answer.status) {
                break;
            }
            answer = ask().await;
        }
        let mut wrong = self.leaks(&answer, &row.sql);
        if !row.statuses().contains(&answer.status) {
            wrong.push(format!("not {:?}", row.statuses()));
        }
        if row.mark == '=' && answer.body["rows"] != row.expected {
            wrong.push(format!("not {}", row.expected));
        }
        let (sql, text) = (start(&row.sql), start(&answer.text()));
        prefixed(
            &format!("line {}: {sql} => {} {text}", row.line, answer.status),
            wrong,
        )
    }

    /// Validates the statements that must be refused, without values for parameters. Returns the fault.
    async fn check_validation(&self, place: &Place, heading: &str, rows: &[Row]) -> Vec<String> {
        let is_refused = |row: &&Row| row.mark == '!' && !row.sql.contains("{{");
        let refused: Vec<_> = rows.iter().filter(is_refused).collect();
        let statements: Vec<_> = refused.iter().map(|row| row.sql.as_str()).collect();
        let body = json!({ "queries": statements });
        let path = format!("{}/query/validate", place.path);
        let answer = self.store.service.post(&place.token, &path, &body).await;
        let mut wrong = self.leaks(&answer, &statements.join("\n"));
        match answer.status {
            200 => {
                let errors = answer.body["errors"].as_array().unwrap();
                let numbers: Vec<_> = errors.iter().map(|error| error["index"].as_u64()).collect();
                let valid = statements
                    .iter()
                    .enumerate()
                    .filter(|(number, _)| !numbers.contains(&Some(*number as u64)));
                wrong.extend(valid.map(|(_, sql)| format!("valid: {}", start(sql))));
            }
            status => wrong.push(format!("{status} {}", start(&answer.text()))),
        }
        prefixed(&format!("validation of '{heading}'"), wrong)
    }

    /// Returns the internal words and the secrets in an answer.
    fn leaks(&self, answer: &Answer, sql: &str) -> Vec<String> {
        if answer.status != 200 {
            answer.check_error();
        }
        let (text, sql) = (answer.text().to_lowercase(), sql.to_lowercase());
        let words = INTERNAL_WORDS
            .into_iter()
            .chain(self.hidden.iter().map(String::as_str));
        let leaked_words = words.filter(|word| {
            let word = word.to_lowercase();
            text.contains(&word) && !sql.contains(&word)
        });
        let mut leaks: Vec<_> = leaked_words
            .map(|word| format!("'{word}' in the answer"))
            .collect();
        // As in DuckDB's advice to change a setting.
        if answer.message().contains("\"SET ") || answer.message().contains(" SET ") {
            leaks.push("a setting in the answer".to_owned());
        }
        if text.contains(&self.secret) {
            leaks.push("a secret file in the answer".to_owned());
        }
        leaks
    }
}

impl Place {
    async fn fill(&self, service: &Service) {
        let columns = tests::stores::columns(&["id INTEGER primary_key", "name STRING"]);
        let tables = json!({ "tables": [{ "name": "kept", "columns": columns }] });
        let answer = service.post(&self.token, &format!("{}/tables", self.path), &tables);
        answer.await.expect_status(201);
        let rows = json!([{ "id": 1, "name": "a" }, { "id": 2, "name": "b" }]);
        let rows = tests::stores::inline("kept", &rows);
        let imported = service.post(&self.token, &format!("{}/import", self.path), &rows);
        imported.await.expect_status(200);
    }

    async fn ask(&self, service: &Service, sql: &str, params: &Value) -> Answer {
        let body = json!({ "sql": sql, "params": params });
        service
            .post(&self.token, &format!("{}/query", self.path), &body)
            .await
    }

    /// Returns the fault in the answer to an ordinary query.
    async fn probe(&self, service: &Service, after: &str) -> Option<String> {
        let sql = "SELECT id, name FROM kept ORDER BY id";
        let answer = self.ask(service, sql, &json!({})).await;
        let is_right = answer.status == 200 && answer.body["rows"] == json!([[1, "a"], [2, "b"]]);
        (!is_right).then(|| format!("after '{after}': {} {}", answer.status, answer.text()))
    }

    async fn detail(&self, service: &Service) -> Value {
        service.get(&self.token, &self.path).await.expect_status(200).body
    }
}

fn secret_file(name: &str, secret: &str) -> Vec<u8> {
    let csv = format!("a,b\n{secret},1\n").into_bytes();
    match name.rsplit('.').next() {
        Some("json") => json!([{ "a": secret, "b": 1 }]).to_string().into_bytes(),
        Some("gz") => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            std::io::Write::write_all(&mut encoder, &csv).unwrap();
            encoder.finish().unwrap()
        }
        _ => csv,
    }
}

/// Parses a row of the file, such as `! DROP VIEW kept` or `= [[1]] SELECT 1`.
fn row(line: usize, text: &str, folder: &str) -> Row {
    let mark = text.chars().next().unwrap();
    let mut sql = &text[2..];
    let mut expected = Value::Null;
    if mark == '=' {
        let mut values = serde_json::Deserializer::from_str(sql).into_iter();
        expected = values.next().unwrap().unwrap();
        sql = &sql[values.byte_offset() + 1..];
    }
    let sql = sql
        .replace("{secret}", &format!("{folder}/{}", SECRETS[0]))
        .replace("{folder}", folder);
    Row {
        mark,
        expected,
        sql: expanded(&sql),
        line,
    }
}

/// Expands characters such as `{U+212A}` and repetitions such as `{9*ab}` in a text. In a repetition `<n>` is
/// its number, `<m>` the previous number, and `<end>` a closing brace.
pub(crate) fn expanded(text: &str) -> String {
    let text = replaced(text, |inner| {
        let code = u32::from_str_radix(inner.strip_prefix("U+")?, 16).ok()?;
        Some(char::from_u32(code)?.to_string())
    });
    replaced(&text, |inner| {
        let (times, part) = inner.split_once('*')?;
        let part = part.replace("<end>", "}");
        let times = 1..=times.parse::<usize>().ok()?;
        let repeated = times.map(|number| {
            let before = (number - 1).to_string();
            part.replace("<n>", &number.to_string()).replace("<m>", &before)
        });
        Some(repeated.collect())
    })
}

/// Replaces the text between braces where `replace` returns a replacement.
fn replaced(text: &str, replace: impl Fn(&str) -> Option<String>) -> String {
    let mut output = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from_brace) = rest.split_at(open);
        output.push_str(before);
        let inner = from_brace[1..].split('}').next().unwrap();
        match replace(inner) {
            Some(replacement) => {
                output.push_str(&replacement);
                rest = &from_brace[inner.len() + 2..];
            }
            None => {
                output.push('{');
                rest = &from_brace[1..];
            }
        }
    }
    output + rest
}

/// Prefixes each fault with its subject.
fn prefixed(about: &str, wrong: Vec<String>) -> Vec<String> {
    wrong.into_iter().map(|what| format!("{about}: {what}")).collect()
}

/// Returns the start of a text, for a message.
fn start(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Returns files in a folder or below that hostile statements would have written.
fn hostile_files(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let in_entry = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let file = name.starts_with("hostile").then_some(name);
        hostile_files(&entry.path()).into_iter().chain(file)
    };
    entries.flat_map(in_entry).collect()
}

#[tokio::test]
async fn statement_reads_and_changes_nothing_outside_its_store() {
    let target = Target::start().await;
    let before = join_all(
        target
            .places
            .each_ref()
            .map(|place| place.detail(&target.store.service)),
    )
    .await;
    let mut groups = target.groups();
    for (_, rows) in &mut groups {
        rows.retain(|row| !row.is_heavy());
    }
    let wrong = target.check(&groups).await;
    let count: usize = groups.iter().map(|(_, rows)| rows.len()).sum();
    assert!(count >= 320, "{count} statements");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let after = join_all(
        target
            .places
            .each_ref()
            .map(|place| place.detail(&target.store.service)),
    )
    .await;
    assert_eq!(before, after);
    assert_eq!(hostile_files(target.store.service.folder()), [""; 0]);
}

#[tokio::test]
async fn statements_that_are_too_heavy_end_in_time_and_alone() {
    let target = Target::start().await;
    let rows = target.groups().into_iter().flat_map(|(_, rows)| rows);
    let mut groups = [("heavy", Vec::new()), ("heavy", Vec::new())];
    for (number, row) in rows.filter(Row::is_heavy).enumerate() {
        groups[number % 2].1.push(row);
    }
    let count = groups[0].1.len() + groups[1].1.len();
    assert!((8..=12).contains(&count), "{count} heavy statements");
    let wrong = target.check(&groups).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn bodies_that_hold_no_query_are_refused() {
    let target = Target::start().await;
    let (place, service) = (&target.places[0], &target.store.service);
    let mut wrong = Vec::new();
    for line in BODIES.lines().filter(|line| !line.starts_with('#')) {
        let (part, body) = line.split_once(" | ").unwrap();
        let body = expanded(body);
        let bytes = body.chars().map(|letter| u8::try_from(letter).unwrap());
        let request = service.request(Method::POST, &format!("{}/query", place.path));
        let request = request
            .token(&place.token)
            .header("content-type", "application/json");
        let answer = request.body(bytes.collect::<Vec<u8>>()).await;
        wrong.extend(prefixed(line, target.leaks(&answer, &body)));
        if answer.status != 400 || !answer.message().contains(part) {
            wrong.push(format!("{line}: {} {}", answer.status, answer.text()));
        }
    }
    wrong.extend(place.probe(service, "bodies").await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
