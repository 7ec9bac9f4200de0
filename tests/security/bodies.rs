//! Tests malformed bodies and bodies with a wrong length: each gets the contract's status, changes nothing,
//! and does not harm the service.

use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::join_all;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tests::stores::columns;
use tests::{Answer, Client, Method, Request, Run, Runs, Scope, Store};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const BODIES: &str = include_str!("data/bodies.txt");
const RAW: &str = include_str!("data/bodies_raw.txt");
/// Concurrent requests.
const AT_ONCE: usize = 16;
/// Time after which an unanswered request counts as hung.
const GUARD: Duration = Duration::from_secs(30);
/// Levels of a deep body.
const DEEP: usize = 200_000;

/// Service with one resource for each operation.
struct Operations {
    runs: Runs,
    store: String,
    run: Run,
    ingest: String,
    ingest_token: String,
}

impl Operations {
    async fn start() -> Self {
        let runs = Runs::start_local().await;
        let created = runs
            .service
            .post(&runs.token, "/data", &json!({ "name": "Store" }))
            .await;
        let store = created.expect_status(201).id();
        let definitions = columns(&["id BIGINT", "name STRING", "d DOUBLE", "j JSON"]);
        let tables = json!({ "tables": [{ "name": "t", "columns": definitions }] });
        runs.service
            .post(&runs.token, &format!("/data/{store}/tables"), &tables)
            .await
            .expect_status(201);
        let channel = json!({ "name": "Channel", "source": "tests" });
        let channel = runs
            .service
            .post(&runs.token, "/events/channels", &channel)
            .await
            .expect_status(201);
        let Scope { account, project, .. } = &runs.scope;
        Self {
            ingest: format!(
                "{}/ingest/webhooks/events/{account}/{project}/{}",
                runs.service.origin(),
                channel.id()
            ),
            ingest_token: channel.body["ingest_token"]
                .as_str()
                .expect("it is shown")
                .to_owned(),
            run: runs.begin("Approval", &json!({ "title": "Bodies" })),
            store,
            runs,
        }
    }

    /// Returns the method and path of an operation.
    fn place(&self, operation: &str) -> (Method, String) {
        let Self { store, run, .. } = self;
        let path = match operation {
            "prompt" => "/prompts".to_owned(),
            "facets" => "/prompts/facets".to_owned(),
            "store" => "/data".to_owned(),
            "tables" => format!("/data/{store}/tables"),
            "alter" => format!("/data/{store}/tables/t"),
            "schema" => format!("/data/{store}/schema"),
            "import" => format!("/data/{store}/import"),
            "query" => format!("/data/{store}/query"),
            "batch" => format!("/data/{store}/query/batch"),
            "dashboard" => format!("/data/{store}/dashboards"),
            "subscription" => "/events/subscriptions".to_owned(),
            "channel" => "/events/channels".to_owned(),
            "search" => "/events/deliveries/search".to_owned(),
            "runs" => "/workflows/runs".to_owned(),
            "signal" => run.path("/signal/Note"),
            "update" => format!("/workflows/runs/{}/updates", run.run_id),
            "ingest" => self.ingest.clone(),
            _ => panic!("there is no operation {operation}"),
        };
        let method = if ["alter", "schema"].contains(&operation) {
            Method::PUT
        } else {
            Method::POST
        };
        (method, path)
    }

    /// Returns a request of an operation, with its credentials and no body.
    fn request(&self, operation: &str) -> Request {
        let (method, path) = self.place(operation);
        let token = if operation == "ingest" {
            &self.ingest_token
        } else {
            &self.runs.token
        };
        self.runs.service.request(method, &path).token(token)
    }

    /// Returns the lists of everything that the operations create or change.
    async fn state(&self) -> Vec<Value> {
        let store = format!("/data/{}", self.store);
        let dashboards = format!("{store}/dashboards");
        let paths = [
            "/prompts",
            "/data",
            &store,
            &dashboards,
            "/events/subscriptions",
            "/events/channels",
        ];
        let answers = paths.map(|path| self.runs.service.get(&self.runs.token, path).into_future());
        let answers = join_all(answers).await;
        answers
            .into_iter()
            .map(|answer| answer.expect_status(200).body)
            .collect()
    }

    /// Asserts that an ordinary request works.
    async fn check_alive(&self) {
        let body = json!({ "sql": "SELECT 1 AS one" });
        let answer = self.request("query").json(&body).await.expect_status(200);
        assert_eq!(answer.body["rows"], json!([[1]]));
    }
}

/// Returns the rows of a file: its lines without empty ones and comments.
fn rows(file: &str) -> impl Iterator<Item = &str> {
    file.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the error code of a status.
fn code(status: u16) -> &'static str {
    match status {
        400 => "invalid_request",
        401 => "unauthenticated",
        413 => "payload_too_large",
        415 => "unsupported_media_type",
        422 => "unprocessable",
        _ => panic!("no row states {status}"),
    }
}

/// Returns the fault of an answer that must have this status, and its code.
fn fault(answer: &Answer, status: u16) -> Option<String> {
    if answer.status == status && status >= 400 {
        answer.check_error();
    }
    let is_right = answer.status == status && (status < 400 || answer.body["error"] == code(status));
    let text: String = answer.text().chars().take(300).collect();
    (!is_right).then(|| format!("{} {text}", answer.status))
}

/// Returns the bytes that a row describes.
fn bytes(row: &str, number: usize) -> Vec<u8> {
    let text = row
        .replace("(empty)", "")
        .replace('@', &number.to_string())
        .replace("{open[}", &"[".repeat(DEEP))
        .replace("{deep[}", &format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP)))
        .replace(
            "{deep{}",
            &format!("{}1{}", "{\"a\":".repeat(DEEP), "}".repeat(DEEP)),
        )
        .replace("{digits}", &"9".repeat(400));
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.extend(hex::decode(digits).expect("two digits follow \\x"));
        bytes.extend(rest.as_bytes());
    }
    bytes
}

/// Sends the bodies of numbered rows. Returns the faults of the answers.
async fn send_rows(operations: &Operations, rows: &[(usize, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for chunk in rows.chunks(AT_ONCE) {
        let answers = chunk.iter().map(|(number, row)| {
            let (case, _) = row.rsplit_once(" => ").unwrap_or((row, ""));
            let mut words = case.splitn(3, ' ').skip(1);
            let request = operations.request(words.next().expect("each row names an operation"));
            let body = bytes(words.next().expect("each row has a body"), *number);
            let request = request.header("content-type", "application/json").body(body);
            request.into_future()
        });
        for ((_, row), answer) in chunk.iter().zip(join_all(answers).await) {
            let status = row[..3].parse().expect("each row begins with a status");
            let (_, needle) = row.rsplit_once(" => ").unwrap_or_default();
            let is_told = answer.message().contains(needle);
            let unclear = (!is_told).then(|| answer.message().to_owned());
            wrong.extend(
                fault(&answer, status)
                    .or(unclear)
                    .map(|fault| format!("{row}: {fault}")),
            );
        }
    }
    wrong
}

/// A refusal can quote the caller, so without a limit the caller would decide the size of the answer.
#[tokio::test]
async fn no_refusal_quotes_megabytes() {
    let store = Store::start().await;
    let long = "a".repeat(1_000_000);
    for (path, body) in [
        ("/query", json!({ "sql": format!("SELECT {{{{{long}}}}}") })),
        (
            "/tables",
            json!({ "tables": [{ "name": "t", "columns": [{ "name": "c", "type": long }] }] }),
        ),
        (
            "/import",
            json!({ "tables": { long.clone(): { "source": "inline", "data": [] } } }),
        ),
    ] {
        let refused = store.post(path, &body).await;
        assert!((400..500).contains(&refused.status), "{path}: {}", refused.status);
        assert!(refused.text().len() < 20_000, "{path}: {}", refused.text().len());
    }
}

#[tokio::test]
async fn a_body_that_is_not_what_it_says_is_refused_locally() {
    let operations = Operations::start().await;
    let numbered = rows(BODIES).enumerate();
    let (accepted, refused): (Vec<_>, Vec<_>) = numbered.partition(|(_, row)| row.starts_with('2'));
    let before = operations.state().await;
    let mut wrong = send_rows(&operations, &refused).await;
    let after = operations.state().await;
    for (before, after) in before
        .iter()
        .zip(after)
        .filter(|(before, after)| *before != after)
    {
        wrong.push(format!("a body that was refused changed {before} to {after}"));
    }
    wrong.extend(send_rows(&operations, &accepted).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    operations.check_alive().await;
}

#[tokio::test]
async fn a_body_of_another_type_or_size_is_refused_locally() {
    let operations = Operations::start().await;
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut bomb, &vec![b' '; 100_000_000]).expect("memory takes it");
    let bomb = bomb.finish().expect("memory takes it");
    let good = json!({ "name": "a", "role": "user", "content_type": "text", "content": "x" }).to_string();
    let utf16: Vec<_> = good.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let multipart = format!("--x\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n{good}\r\n--x--\r\n");
    let mut wrong = Vec::new();
    let mut check = async |what: String, status: u16, request: Request| {
        let answer = request.await;
        wrong.extend(fault(&answer, status).map(|fault| format!("{what}: {fault}")));
    };
    let typed = |operation: &str, content_type: &str, body: &[u8]| {
        operations
            .request(operation)
            .header("content-type", content_type)
            .body(body)
    };
    for content_type in [
        "text/plain",
        "text/json",
        "text/html; charset=utf-8",
        "application/jsonp",
        "application/json/x",
        "application/x-ndjson",
        "application/json, text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "application/xml",
        "application/x-yaml",
        "json",
        "*/*",
        "",
    ] {
        for operation in ["prompt", "query", "import", "subscription", "signal"] {
            let request = typed(operation, content_type, good.as_bytes());
            check(format!("{operation} as {content_type:?}"), 415, request).await;
        }
    }
    check(
        "no type".to_owned(),
        415,
        operations.request("channel").body(good.as_bytes()),
    )
    .await;
    let multipart = typed("prompt", "multipart/form-data; boundary=x", multipart.as_bytes());
    check("multipart".to_owned(), 415, multipart).await;
    let utf16 = typed("prompt", "application/json; charset=utf-16", &utf16);
    check("UTF-16".to_owned(), 400, utf16).await;
    for operation in ["prompt", "query", "import", "channel", "update", "ingest"] {
        for encoding in ["gzip", "deflate", "br", "zstd", "gzip, gzip"] {
            let request = typed(operation, "application/json", &bomb).header("content-encoding", encoding);
            let status = match (operation, encoding) {
                ("ingest", "gzip") => 413,
                ("ingest", _) => 415,
                _ => 400,
            };
            check(format!("{operation} as {encoding}"), status, request).await;
        }
    }
    let small = "prompt facets subscription channel search runs signal update ingest";
    let large = "store tables schema import query batch dashboard";
    let limits = [(small, 262_144), (large, 5_500_000)];
    for (operation, limit) in limits
        .iter()
        .flat_map(|(all, limit)| all.split(' ').map(move |one| (one, *limit)))
    {
        let of = |bytes: usize| format!("[\"{}\"]", "x".repeat(bytes - 4)).into_bytes();
        // The body is not an object: within the limit it is a 400, above it a 413.
        for (size, status) in [(limit, 400), (limit + 1, 413), (10_000_000, 413)] {
            let request = typed(operation, "application/json", &of(size));
            check(format!("{operation} of {size} bytes"), status, request).await;
        }
    }
    // Lambda would receive more than its 6 MB, because each quote and backslash counts twice.
    let quotes = format!("[\"{}\"]", "\\\"".repeat(1_600_000)).into_bytes();
    for operation in large.split(' ') {
        let request = typed(operation, "application/json", &quotes);
        check(format!("{operation} of quotes"), 413, request).await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    operations.check_alive().await;
}

/// Bytes that a server sent until it closed the connection.
pub(crate) struct RawAnswer {
    pub answer: Answer,
    /// Bytes after the answer.
    pub rest: Vec<u8>,
}

/// Sends the bytes of a request over a new connection, and reads everything that comes back. With `is_cut`,
/// sending is closed after them.
pub(crate) async fn exchange(client: &Client, request: &[u8], is_cut: bool) -> RawAnswer {
    let address = client.address();
    let socket = TcpStream::connect(address).await.expect("the service listens");
    let (mut from, mut to) = socket.into_split();
    let sending = async {
        // A server that refuses may close before it has read everything.
        let _ = to.write_all(request).await;
        if is_cut {
            let _ = to.shutdown().await;
        }
        to
    };
    let mut bytes = Vec::new();
    let both = async { tokio::join!(sending, from.read_to_end(&mut bytes)) };
    let line = String::from_utf8_lossy(&request[..request.len().min(60)]).into_owned();
    let (_, end) = tokio::time::timeout(GUARD, both)
        .await
        .unwrap_or_else(|_| panic!("{line}: no end of the answer"));
    // A reset after the answer also ends it.
    assert!(end.is_ok() || !bytes.is_empty(), "{line}: no answer");
    let head = bytes
        .windows(4)
        .position(|end| end == b"\r\n\r\n")
        .unwrap_or_else(|| panic!("{line}: no answer"));
    let body = bytes.split_off(head + 4);
    let head = String::from_utf8_lossy(&bytes);
    let mut headers = HeaderMap::new();
    for (name, value) in head.lines().skip(1).filter_map(|line| line.split_once(": ")) {
        let name: HeaderName = name.parse().expect("a header has a name");
        headers.append(name, HeaderValue::from_str(value).expect("a header has a value"));
    }
    let length = headers
        .get("content-length")
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let (body, rest) = body.split_at(length.unwrap_or(body.len()).min(body.len()));
    let answer = Answer {
        request: line,
        status: head[9..12].parse().expect("an answer has a status"),
        headers,
        bytes: body.to_vec(),
        body: serde_json::from_slice(body).unwrap_or_default(),
    };
    RawAnswer {
        answer,
        rest: rest.to_vec(),
    }
}

#[tokio::test]
async fn a_body_ends_where_the_protocol_says_locally() {
    let operations = Operations::start().await;
    let body = r#"{"name":"Raw","role":"user","content_type":"text","content":"x"}"#;
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let one_by_one: String = body
        .chars()
        .map(|letter| format!("1;{}\r\n{letter}\r\n", "x".repeat(1_000)))
        .collect();
    let service = &operations.runs.service;
    let token = &operations.runs.token;
    // The order matters: the first values contain names of later ones.
    let values = [
        ("{smuggled}", "{post}content-length: {length}\\r\\n\\r\\n{body}"),
        (
            "{post}",
            "POST /api/v1/prompts HTTP/1.1\\r\\nhost: {host}\\r\\n{token}{type}",
        ),
        ("{token}", &format!("authorization: Bearer {token}\\r\\n")),
        ("{type}", "content-type: application/json\\r\\n"),
        ("{host}", service.origin().trim_start_matches("http://")),
        ("{body}", body),
        ("{chunked}", &chunked),
        ("{one by one}", &one_by_one),
        ("{length}", &body.len().to_string()),
        ("{size}", &format!("{:x}", body.len())),
        ("{1MB}", &"x".repeat(1_048_576)),
    ];
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows(RAW) {
        let (case, request) = row.split_once(" | ").expect("each row has a request");
        let mut words = case.split(' ');
        let status: u16 = words
            .next()
            .and_then(|word| word.parse().ok())
            .expect("each row begins with a status");
        let words: Vec<_> = words.collect();
        let mut text = request.to_owned();
        for (name, value) in values {
            text = text.replace(name, value);
        }
        let text = text
            .replace("\\r", "\r")
            .replace("\\n", "\n")
            .replace("\\t", "\t");
        let RawAnswer { answer, rest } = exchange(service, &bytes(&text, 0), words.contains(&"cut")).await;
        // A request that is not HTTP is refused by a layer that does not know the form of errors.
        if !words.contains(&"bare") && answer.status >= 400 {
            answer.check_error();
        }
        if answer.status != status || !rest.is_empty() {
            wrong.push(format!(
                "{row}: {} {} {}",
                answer.status,
                answer.text(),
                String::from_utf8_lossy(&rest)
            ));
        }
        count += usize::from(status == 201);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let prompts = service.get(token, "/prompts?limit=100").await.expect_status(200);
    assert_eq!(
        prompts.each("id").len(),
        count,
        "a request was read out of a body"
    );
    operations.check_alive().await;
}
