//! Measures the ingest endpoint alone, for the benchmarks: over the emulator of DynamoDB, with no consumer of
//! the events, next to the plain conditional puts that the same emulator handles, and to a channel with a
//! preset, which checks a signature. Prints one JSON object.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use events::channel::StoredChannel;
use events::publish::Publisher;
use events::records::channels::Channels;
use events::records::events::Events;
use events::records::ingest_counts::IngestCounts;
use events::records::refusals::Refusals;
use events::sender::preset;
use events::signature::{new_signing_secret, standard_signature};
use ingest_function::{Certificates, ChannelRates, Ingest, RefusalLog};
use local::bus::LocalBus;
use local::data_dir::DataDir;
use local::sealer::LocalSealer;
use local::server::{self, Limits};
use local::services::{DATA_BUCKET, EVENTS_TABLE, RECORDS_TABLE, Services};
use platform::config::{CorsOrigins, EdgeConfig, Environment, Secret};
use platform::outbound::Outbound;
use platform::records::{Condition, Key, Table, Written};
use platform::sealing::{Place, Sealer};
use platform::secrets::secret_hash;
use platform::{Clock, Tenant, ids};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Concurrent clients; each sends one request after another.
const CLIENTS: u64 = 16;
/// Events, or items, of one turn.
const COUNT: u64 = 3_000;
/// Turns of each side, in alternation; the first warms up.
const TURNS: usize = 6;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let data = DataDir::open(&folder.path().join("data"))?;
    let services = Services::open(&data)?;
    let tenant = Tenant::new("acme", "demo")?;
    let token = ids::new_id(Clock::System.now());
    let channel = channel(&token);
    let sealer: Arc<dyn Sealer> = Arc::new(LocalSealer::open(&data)?);
    let secret = new_signing_secret();
    let signed = signed_channel(&secret, sealer.as_ref(), &tenant).await?;
    let channels = Channels::new(services.table(RECORDS_TABLE));
    for channel in [&channel, &signed] {
        channels.insert(&tenant, &channel.record(1)?).await?;
    }
    let origin = serve(sealer, &services, channels).await?;
    let http = reqwest::Client::builder().no_proxy().build()?;
    let client = |channel: &StoredChannel, secret| {
        Arc::new(IngestClient {
            http: http.clone(),
            url: format!("{origin}/webhooks/events/acme/demo/{}", channel.id),
            token: token.clone(),
            secret,
        })
    };
    let (ingest, preset) = (client(&channel, None), client(&signed, Some(secret)));
    let table = services.table(RECORDS_TABLE);
    let (mut event_rates, mut preset_rates, mut put_rates) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let ingest = Arc::clone(&ingest);
        let events = per_second(turn, move |number| Arc::clone(&ingest).post(number)).await?;
        let preset = Arc::clone(&preset);
        let presets = per_second(turn, move |number| Arc::clone(&preset).post(number)).await?;
        let table = table.clone();
        let puts = per_second(turn, move |number| put(table.clone(), number)).await?;
        if turn > 0 {
            event_rates.push(events);
            preset_rates.push(presets);
            put_rates.push(puts);
        }
    }
    let report = json!({
        "clients": CLIENTS, "events_per_second": event_rates, "preset_events_per_second": preset_rates,
        "puts_per_second": put_rates,
    });
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

/// Serves the endpoint as the runner does, on its own port.
async fn serve(sealer: Arc<dyn Sealer>, services: &Services, channels: Channels) -> Result<String, Error> {
    let clock = Clock::System;
    let table = services.table(EVENTS_TABLE);
    let counts = IngestCounts::new(table.clone());
    let events = Events::new(table);
    let objects = services.bucket(DATA_BUCKET);
    let ingest = Ingest {
        channels,
        sealer,
        publisher: Publisher::new(
            events,
            objects,
            Arc::new(LocalBus::new(clock.clone(), Vec::new())),
        ),
        clock: clock.clone(),
        max_body_bytes: 256 * 1_024,
        base_url: None,
        certificates: Certificates::new(Outbound::public()),
        outbound: Outbound::public(),
        refusal_log: RefusalLog::new(Refusals::new(services.table(EVENTS_TABLE))),
        rates: ChannelRates::from_environment(&Environment::from_variables([])?, counts, clock.clone())?,
    };
    let edge = EdgeConfig {
        cors: CorsOrigins::None,
    };
    let router: Router = platform::http::edge(ingest_function::routes(ingest).into(), clock, edge);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let service = platform::http::service::normalized(router);
    tokio::spawn(server::serve(
        listener,
        service,
        Limits::public(),
        std::future::pending(),
    ));
    Ok(format!("http://{address}"))
}

struct IngestClient {
    http: reqwest::Client,
    url: String,
    token: String,
    /// Secret that signs as Standard Webhooks says, instead of the token.
    secret: Option<Secret>,
}

impl IngestClient {
    /// Sends an event of about a kilobyte, as a shop would.
    async fn post(self: Arc<Self>, number: u64) -> Result<(), Error> {
        let body = json!({ "action": "order_placed", "resource_type": "order", "n": number, "text": "x".repeat(1_000) });
        let request = self
            .http
            .post(&self.url)
            .header("content-type", "application/json");
        let body = body.to_string();
        let request = match &self.secret {
            Some(secret) => {
                let (id, at) = (format!("msg_{number}"), Clock::System.now().as_seconds());
                let signature = standard_signature(secret, &id, at, body.as_bytes())?;
                request
                    .header("webhook-id", id)
                    .header("webhook-timestamp", at.to_string())
                    .header("webhook-signature", signature)
            }
            None => request.bearer_auth(&self.token),
        };
        request.body(body).send().await?.error_for_status()?;
        Ok(())
    }
}

/// Puts a new item of a kilobyte, under the condition that the key is absent.
async fn put(table: Table, number: u64) -> Result<(), Error> {
    let item = json!({ "body": "x".repeat(1_000) });
    let key = Key::new(format!("acme#demo#put#{number}"), "put");
    match table.put(&key, &item, Condition::Absent).await? {
        Written::Done => Ok(()),
        other => Err(format!("an item is not put: {other:?}").into()),
    }
}

/// Returns the operations per second of all clients together; each client does one operation after another.
async fn per_second<F, Done>(turn: usize, work: F) -> Result<f64, Error>
where
    F: Fn(u64) -> Done + Clone + Send + 'static,
    Done: Future<Output = Result<(), Error>> + Send,
{
    let first = turn as u64 * COUNT;
    let began = Instant::now();
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let work = work.clone();
        clients.spawn(async move {
            for number in (first + client..first + COUNT).step_by(CLIENTS as usize) {
                work(number).await?;
            }
            Ok::<_, Error>(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    Ok(COUNT as f64 / began.elapsed().as_secs_f64())
}

/// Returns a channel that accepts a bearer token.
fn channel(token: &str) -> StoredChannel {
    let now = Clock::System.now();
    StoredChannel {
        id: ids::new_id(now),
        name: "Load".to_owned(),
        source: "load".to_owned(),
        token_hash: secret_hash(token),
        ..StoredChannel::new(now, "user:bench".to_owned())
    }
}

/// Returns a channel with the preset of Standard Webhooks.
async fn signed_channel(
    secret: &Secret,
    sealer: &dyn Sealer,
    tenant: &Tenant,
) -> Result<StoredChannel, Error> {
    let settings = preset::get("standard_webhooks")?.settings.clone();
    let channel = StoredChannel {
        signature: settings.signature,
        headers: settings.headers,
        transform: settings.transform,
        preset: Some("standard_webhooks".to_owned()),
        ..channel(secret.expose())
    };
    let name = StoredChannel::secret_place(&channel.id);
    let place = Place { tenant, name: &name };
    Ok(StoredChannel {
        signing_secret: Some(sealer.seal(place, secret).await?),
        ..channel
    })
}
