//! A local stand-in for a provider: it speaks both wire formats, answers and fails as scripted, and records
//! its requests.
//!
//! It is for the tests of everything that calls a model, and for a local runner without a model.
//!
//! ```
//! # tokio_test(async {
//! use models::{Message, Request};
//! use stand_in::{Reply, StandIn};
//!
//! let stand_in = StandIn::start().await?;
//! stand_in.when("weather", Reply::text("It rains."));
//! let request = Request {
//!     messages: vec![Message::user("What is the weather?")],
//!     ..Request::default()
//! };
//! let answer = stand_in.openai().converse(&request, None).await?;
//! assert_eq!(answer.text(), "It rains.");
//! # Ok(())
//! # });
//! # fn tokio_test(test: impl Future<Output = Result<(), Box<dyn std::error::Error>>>) {
//! #     tokio::runtime::Runtime::new().unwrap().block_on(test).unwrap();
//! # }
//! ```

mod bedrock;
mod openai;
mod received;
mod reply;
mod script;
mod server;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use models::{Limits, Model, ModelConfig, NotConfigured};
use parking_lot::{Mutex, MutexGuard};
use platform::Clock;
use platform::config::{AwsEnvironment, Secret};
use platform::secrets::SecretSource;
use script::Script;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use url::Url;

pub use received::{Received, Wire};
pub use reply::Reply;

/// API key that a model of the stand-in sends.
pub const KEY: &str = "stand-in-key";
pub const MODEL: &str = "stand-in";

/// Server of the stand-in. Dropping it stops the server.
pub struct StandIn {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    task: AbortHandle,
}

impl StandIn {
    /// Starts on a free port of the loopback interface.
    pub async fn start() -> io::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    pub async fn start_at(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let script = Arc::new(Mutex::new(Script::default()));
        let task = tokio::spawn(server::serve(listener, Arc::clone(&script))).abort_handle();
        Ok(Self {
            address,
            script,
            task,
        })
    }

    /// Adds an answer. Each is used once, in this order, before any rule.
    pub fn then(&self, reply: Reply) {
        self.script().next.push_back(reply);
    }

    /// Adds a rule: every request whose last message contains this text gets this answer. The first matching
    /// rule applies.
    pub fn when(&self, text: impl Into<String>, reply: Reply) {
        self.script().rules.push((text.into(), reply));
    }

    /// Sets the answer to requests that no rule matches. Default: the status 500.
    pub fn otherwise(&self, reply: Reply) {
        self.answering(move |_| reply.clone());
    }

    /// Computes the answer to requests that no rule matches.
    pub fn answering(&self, answerer: impl Fn(&Received) -> Reply + Send + Sync + 'static) {
        self.script().otherwise = Some(Arc::new(answerer));
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the received requests in order, without those that could not be parsed.
    pub fn received(&self) -> Vec<Received> {
        self.script().received.clone()
    }

    /// Returns the value for `MILLRACE_MODEL_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns a model that calls this server in OpenAI's form.
    pub fn openai(&self) -> Arc<dyn Model> {
        self.openai_within(Limits::default())
    }

    /// Returns such a model with other limits.
    pub fn openai_within(&self, limits: Limits) -> Arc<dyn Model> {
        let Ok(base_url) = Url::parse(&self.base_url()) else {
            return Arc::new(NotConfigured);
        };
        let config = ModelConfig::OpenAi {
            model: MODEL.to_owned(),
            base_url,
            key: Some(SecretSource::given(Secret::new(KEY))),
        };
        let model = config.connect_within(limits, None, &AwsEnvironment::default(), Clock::System);
        model.unwrap_or_else(|_| Arc::new(NotConfigured))
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.task.abort();
    }
}
