//! Loads `millrace serve` as a server is used: webhooks and queries at a fixed rate through nginx with TLS,
//! with tokens of an identity provider; a kill after a third of the time, and an upgrade to a newer build
//! after two thirds. Prints one JSON object. Fails if an accepted event does not arrive.
//!
//! The listening socket stays open between two processes, as by `infra/server/millrace.socket`.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use clap::Parser;
use parking_lot::Mutex;
use reqwest::{Certificate, Client};
use serde_json::{Value, json};
use tests::nginx::Nginx;
use tests::{Server, server};
use tokio::sync::Semaphore;
use tokio::time;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

const NAME: &str = "millrace.example.com";
/// Makes the standard input the file that systemd passes first.
const PASS: &str = "import os, sys; os.dup2(0, 3); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); \
                    os.execv(sys.argv[1], sys.argv[1:])";
/// Requests that wait for an answer at a time, of webhooks and of queries.
const AT_ONCE: usize = 512;
/// Pause before a request is sent again.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest wait for the last deliveries.
const PATIENCE: Duration = Duration::from_mins(10);
/// Longest acceptable wait for an answer, the kill and the upgrade included.
const LONGEST: Duration = Duration::from_secs(3);

/// Loads a server.
#[derive(Parser)]
struct Arguments {
    /// Duration, in seconds.
    #[arg(long, default_value_t = 1_800)]
    seconds: u64,
    /// Webhooks in a second.
    #[arg(long, default_value_t = 1_000)]
    webhooks: u64,
    /// Queries in a second.
    #[arg(long, default_value_t = 500)]
    queries: u64,
    /// Folder of the newer build of `millrace`; the same build by default.
    #[arg(long)]
    upgrade: Option<PathBuf>,
    /// Leaves out the kill and the upgrade.
    #[arg(long)]
    steady: bool,
    /// Further variables of the service, as NAME=value.
    #[arg(long)]
    set: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = tempfile::tempdir()?;
    let (certificate, key) = certificate(folder.path())?;
    let mut service = Service::start(folder.path(), &arguments)?;
    let rest = service.memory_mb();
    let upstream = service.server.address();
    let settings = format!(
        "ssl_certificate {}; ssl_certificate_key {key}; server_name {NAME}; location / {{ proxy_pass http://{upstream}; \
         proxy_http_version 1.1; proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; \
         proxy_read_timeout 60s; }}",
        certificate.display()
    );
    let nginx = Nginx::with("ssl", &settings, folder.path());
    let caller = Caller::new(&nginx, &certificate, service.server.token())?;
    let arrivals = Arrivals::start(arguments.webhooks * arguments.seconds).await?;
    let channel = caller.set_up(&arrivals.url).await?;
    let store = caller.store().await?;

    let began = Instant::now();
    let until = Duration::from_secs(arguments.seconds);
    let webhooks = Arc::new(Load::default());
    let queries = Arc::new(Load::default());
    let sending = {
        let (caller, load) = (caller.clone(), Arc::clone(&webhooks));
        tokio::spawn(load.run(arguments.webhooks, until, move |number| {
            let (caller, channel) = (caller.clone(), channel.clone());
            async move { caller.send_event(&channel, number).await }
        }))
    };
    let asking = {
        let (caller, load) = (caller.clone(), Arc::clone(&queries));
        tokio::spawn(load.run(arguments.queries, until, move |number| {
            let (caller, store) = (caller.clone(), store.clone());
            async move { caller.query(&store, number).await }
        }))
    };
    let mut samples = Vec::new();
    let (mut is_killed, mut is_upgraded) = (arguments.steady, arguments.steady);
    let every = Duration::from_secs((arguments.seconds / 30).max(1));
    let mut next = every;
    while began.elapsed() < until {
        time::sleep(Duration::from_millis(200)).await;
        if !is_killed && began.elapsed() > until / 3 {
            is_killed = true;
            service.replace("KILL", None)?;
        }
        if !is_upgraded && began.elapsed() > until * 2 / 3 {
            is_upgraded = true;
            service.replace("TERM", arguments.upgrade.as_deref())?;
        }
        if began.elapsed() > next {
            next += every;
            samples.push(json!({
                "second": began.elapsed().as_secs(), "memory_mb": service.memory_mb(), "data_mb": service.data_mb(),
                "accepted": webhooks.count(), "delivered": arrivals.count(), "queries": queries.count(),
            }));
        }
    }
    sending.await?;
    asking.await?;
    let loaded = began.elapsed();
    let accepted = webhooks.count();
    let deadline = Instant::now() + PATIENCE;
    while arrivals.count() < accepted && Instant::now() < deadline {
        time::sleep(PAUSE).await;
    }
    let delivered_within = began.elapsed();
    time::sleep(Duration::from_secs(5)).await;
    let lost = accepted - arrivals.count();
    let longest = webhooks.longest().max(queries.longest());
    println(&json!({
        "seconds": loaded.as_secs_f64(), "webhooks": webhooks.report(loaded), "queries": queries.report(loaded),
        "delivered_within_seconds": delivered_within.as_secs_f64(), "lost": lost, "repeated_deliveries": arrivals.repeated(),
        "longest_wait_ms": longest.as_millis() as u64,
        "memory_mb": { "at_rest": rest, "after": service.memory_mb() }, "data_mb": service.data_mb(),
        "restarts": service.restarts_ms, "samples": samples,
    }));
    if lost > 0 {
        return Err(format!("{lost} accepted events did not arrive").into());
    }
    if longest > LONGEST {
        return Err(format!("a request waited {longest:?} for its answer").into());
    }
    Ok(())
}

fn println(report: &Value) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{report:#}");
}

/// Writes a certificate for [`NAME`] that is its own authority. Returns the paths of it and its key.
fn certificate(folder: &Path) -> Result<(PathBuf, String)> {
    let key = rcgen::KeyPair::generate()?;
    let certificate = rcgen::CertificateParams::new([NAME.to_owned()])?.self_signed(&key)?;
    let paths = (folder.join("certificate.pem"), folder.join("key.pem"));
    std::fs::write(&paths.0, certificate.pem())?;
    std::fs::write(&paths.1, key.serialize_pem())?;
    Ok((paths.0, paths.1.display().to_string()))
}

/// The service, under a supervisor that keeps its socket.
struct Service {
    folder: PathBuf,
    variables: Vec<(String, String)>,
    socket: TcpListener,
    server: Server,
    /// Milliseconds from each end to the next 'ready'.
    restarts_ms: Vec<u64>,
}

impl Service {
    fn start(folder: &Path, arguments: &Arguments) -> Result<Self> {
        let socket = TcpListener::bind("127.0.0.1:0")?;
        let mut variables = vec![
            ("MILLRACE_LOCAL_TARGETS".to_owned(), "true".to_owned()),
            ("MILLRACE_TRUSTED_PROXIES".to_owned(), "127.0.0.1".to_owned()),
            ("MILLRACE_LOG".to_owned(), "warn,local=info".to_owned()),
        ];
        let set = arguments.set.iter().filter_map(|setting| setting.split_once('='));
        variables.extend(set.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let server = Self::server(folder, &variables, &socket, None)?;
        Ok(Self {
            folder: folder.to_owned(),
            variables,
            socket,
            server,
            restarts_ms: Vec::new(),
        })
    }

    fn server(
        folder: &Path,
        variables: &[(String, String)],
        socket: &TcpListener,
        build: Option<&Path>,
    ) -> Result<Server> {
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let newer = build.map(|build| build.join("millrace").display().to_string());
        // A newer build is started instead of the program under test, which is the launcher's next argument.
        let script = newer.map(|path| PASS.replace("sys.argv[1],", &format!("'{path}',")));
        let script = script.unwrap_or_else(|| PASS.to_owned());
        let mut command = server::command(&["python3", "-c", &script], folder, &[], &variables);
        command.stdin(Stdio::from(OwnedFd::from(socket.try_clone()?)));
        Ok(Server::of(command, folder))
    }

    /// Ends the process by a signal, and starts the next one.
    fn replace(&mut self, signal: &str, build: Option<&Path>) -> Result<()> {
        let began = Instant::now();
        self.server.signal(signal);
        self.server.ended();
        self.server = Self::server(&self.folder, &self.variables, &self.socket, build)?;
        self.restarts_ms.push(began.elapsed().as_millis() as u64);
        Ok(())
    }

    fn memory_mb(&self) -> u64 {
        tests::memory_kb(self.server.id()) / 1_000
    }

    /// Returns the size of the database and its log.
    fn data_mb(&self) -> Value {
        let size = |name: &str| {
            let file = std::fs::metadata(self.folder.join("data").join(name));
            file.map_or(0, |file| file.len() / 1_000_000)
        };
        json!({ "records": size("records.sqlite"), "log": size("records.sqlite-wal") })
    }
}

/// Sends requests of one kind at a fixed rate, each until it is answered.
#[derive(Default)]
struct Load {
    count: AtomicU64,
    tries: AtomicU64,
    waits_us: Mutex<Vec<u32>>,
}

impl Load {
    async fn run<F, Fut>(self: Arc<Self>, rate: u64, until: Duration, send: F)
    where
        F: Fn(u64) -> Fut + Clone + Send + 'static,
        Fut: Future<Output = bool> + Send,
    {
        let began = Instant::now();
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        for number in 0..rate * until.as_secs() {
            let due = Duration::from_secs_f64(number as f64 / rate as f64);
            if began.elapsed() >= until {
                break;
            }
            time::sleep_until((began + due).into()).await;
            // Where the service falls behind, fewer are sent, which the report shows.
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                break;
            };
            let (load, send) = (Arc::clone(&self), send.clone());
            tokio::spawn(async move {
                let first = Instant::now();
                while !send(number).await {
                    load.tries.fetch_add(1, Ordering::Relaxed);
                    time::sleep(PAUSE).await;
                }
                load.count.fetch_add(1, Ordering::Relaxed);
                load.waits_us.lock().push(first.elapsed().as_micros() as u32);
                drop(permit);
            });
        }
        let _ = permits.acquire_many(AT_ONCE as u32).await;
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn longest(&self) -> Duration {
        let waits = self.waits_us.lock();
        Duration::from_micros(waits.iter().copied().max().unwrap_or_default().into())
    }

    fn report(&self, took: Duration) -> Value {
        let mut waits = self.waits_us.lock().clone();
        waits.sort_unstable();
        let percentile = |part: f64| {
            let place = (waits.len().saturating_sub(1) as f64 * part) as usize;
            waits.get(place).map(|us| f64::from(*us) / 1e3)
        };
        json!({
            "count": self.count(), "per_second": self.count() as f64 / took.as_secs_f64(), "repeats": self.tries.load(Ordering::Relaxed),
            "p50_ms": percentile(0.5), "p95_ms": percentile(0.95), "p99_ms": percentile(0.99), "p999_ms": percentile(0.999),
            "max_ms": percentile(1.0),
        })
    }
}

#[derive(Clone)]
struct Caller {
    http: Client,
    origin: String,
    token: String,
}

impl Caller {
    fn new(nginx: &Nginx, certificate: &Path, token: String) -> Result<Self> {
        let address = nginx.address().parse()?;
        let http = Client::builder()
            .no_proxy()
            .resolve(NAME, address)
            .tls_certs_only([Certificate::from_pem(&std::fs::read(certificate)?)?])
            .timeout(Duration::from_secs(60))
            .build()?;
        let origin = format!("https://{NAME}:{}", address.port());
        Ok(Self { http, origin, token })
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self
            .http
            .post(format!("{}/api/v1{path}", self.origin))
            .bearer_auth(&self.token);
        let answer = request.json(body).send().await?;
        wait_as_asked(&answer).await;
        let (status, text) = (answer.status(), answer.text().await?);
        match status.is_success() {
            true => Ok(serde_json::from_str(&text).unwrap_or_default()),
            false => Err(format!("{path}: {status} {text}").into()),
        }
    }

    /// Makes a channel, and a signed subscription of its events. Returns the channel.
    async fn set_up(&self, receiver: &str) -> Result<Value> {
        let channel = self
            .post("/events/channels", &json!({ "name": "Load", "source": "load" }))
            .await?;
        let subscription = json!({
            "name": "Load", "run_as_role": "reader", "filter": { "event_category": ["external"], "action": ["order_placed"] },
            "target": { "type": "webhook", "url": receiver, "signing_mode": "signed" },
        });
        self.post("/events/subscriptions", &subscription).await?;
        Ok(channel)
    }

    /// Makes a data store with a table of 10,000 rows. Returns its id.
    async fn store(&self) -> Result<String> {
        let store = self.post("/data", &json!({ "name": "Load" })).await?;
        let id = store
            .get("id")
            .and_then(Value::as_str)
            .ok_or("a store without an id")?
            .to_owned();
        let columns = json!([{ "name": "id", "type": "BIGINT", "primary_key": true }, { "name": "city", "type": "STRING" },
            { "name": "amount", "type": "DOUBLE" }]);
        self.post(
            &format!("/data/{id}/tables"),
            &json!({ "tables": [{ "name": "orders", "columns": columns }] }),
        )
        .await?;
        let rows: Vec<_> = (0..10_000)
            .map(|number| json!({ "id": number, "city": format!("city {}", number % 100), "amount": f64::from(number) * 1.5 }))
            .collect();
        let import = json!({ "tables": { "orders": { "source": "inline", "data": rows } } });
        self.post(&format!("/data/{id}/import"), &import).await?;
        Ok(id)
    }

    /// True if the event was accepted.
    async fn send_event(&self, channel: &Value, number: u64) -> bool {
        let lines: Vec<_> = (0..8)
            .map(|line| json!({ "sku": format!("sku-{line}"), "price": line * 3, "text": format!("A line of order {number}, in words that differ") }))
            .collect();
        let event = json!({ "action": "order_placed", "resource_type": "order", "resource_id": number.to_string(), "n": number, "lines": lines });
        let text = |field: &str| channel.get(field).and_then(Value::as_str).unwrap_or_default();
        let (id, token) = (text("id"), text("ingest_token"));
        let url = format!("{}/ingest/webhooks/events/acme/demo/{id}", self.origin);
        let answer = self.http.post(url).bearer_auth(token).json(&event).send().await;
        let Ok(answer) = answer else { return false };
        wait_as_asked(&answer).await;
        answer.status().is_success()
    }

    /// True if the query was answered.
    async fn query(&self, store: &str, number: u64) -> bool {
        let query = json!({
            "sql": "SELECT city, count(*) AS orders, sum(amount) AS amount FROM orders WHERE city = {{city}} GROUP BY city",
            "params": { "city": format!("city {}", number % 100) },
        });
        self.post(&format!("/data/{store}/query"), &query).await.is_ok()
    }
}

/// Receiver that counts the deliveries of each event.
struct Arrivals {
    url: String,
    counts: Arc<Counts>,
}

struct Counts {
    deliveries: Vec<AtomicU8>,
    events: AtomicU64,
    repeated: AtomicU64,
}

impl Arrivals {
    async fn start(events: u64) -> Result<Self> {
        let counts = Arc::new(Counts {
            deliveries: (0..events).map(|_| AtomicU8::new(0)).collect(),
            events: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let router = Router::new()
            .route("/hook", post(receive))
            .with_state(Arc::clone(&counts));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, counts })
    }

    /// Returns the number of events that arrived.
    fn count(&self) -> u64 {
        self.counts.events.load(Ordering::Relaxed)
    }

    fn repeated(&self) -> u64 {
        self.counts.repeated.load(Ordering::Relaxed)
    }
}

async fn receive(State(counts): State<Arc<Counts>>, body: Bytes) -> StatusCode {
    let event: Value = serde_json::from_slice(&body).unwrap_or_default();
    let number = event.pointer("/event/details/payload/n").and_then(Value::as_u64);
    let count = number.and_then(|number| counts.deliveries.get(number as usize));
    match count.map(|count| count.fetch_add(1, Ordering::Relaxed)) {
        Some(0) => drop(counts.events.fetch_add(1, Ordering::Relaxed)),
        Some(_) => drop(counts.repeated.fetch_add(1, Ordering::Relaxed)),
        None => return StatusCode::BAD_REQUEST,
    }
    StatusCode::OK
}

/// Waits before a repeat for as long as a refusal asks: a client that does not makes an overload last.
async fn wait_as_asked(answer: &reqwest::Response) {
    let seconds = answer
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.parse().ok());
    if let Some(seconds) = seconds {
        time::sleep(Duration::from_secs(seconds)).await;
    }
}
