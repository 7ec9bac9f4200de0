//! Sends requests to one service: one line per request.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use crate::answer::Answer;
use crate::documented;
use crate::sse::Listener;

/// Client of one service; clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    is_patient: bool,
}

/// Attempts of a patient client before it accepts a 503 as the answer.
const TRIES: usize = 20;
/// Pause before a retry. A real client waits for as long as the answer requests.
const PAUSE: Duration = Duration::from_millis(20);

#[must_use = "a request is sent when it is awaited"]
pub struct Request {
    builder: reqwest::RequestBuilder,
    what: String,
    is_patient: bool,
}

impl Client {
    /// Creates a client of the service whose API root is `base_url`.
    pub fn new(base_url: &str) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            // A test that hangs fails; a busy machine may take long.
            .timeout(Duration::from_secs(300))
            .build()
            .expect("a client");
        Self {
            http,
            base_url: base_url.trim_end_matches('/').to_owned(),
            is_patient: false,
        }
    }

    /// Returns a client that repeats requests that are answered with 503.
    #[must_use]
    pub fn patient(self) -> Self {
        Self {
            is_patient: true,
            ..self
        }
    }

    /// Returns the API root, without a slash at its end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the origin of the API root, which serves `/openapi.json` and `/docs`.
    pub fn origin(&self) -> &str {
        self.base_url.trim_end_matches("/api/v1")
    }

    /// Resolves the URL in a `Location`.
    pub fn located(&self, location: &str) -> String {
        let base = reqwest::Url::parse(&self.base_url).expect("the API root is a URL");
        let url = base.join(location).expect("a location is a URL or a path");
        url.to_string()
    }

    /// Returns host and port of the service.
    pub fn address(&self) -> &str {
        let rest = self.base_url.trim_start_matches("http://");
        rest.split('/').next().unwrap_or_default()
    }

    /// Sends `GET` to a path below the API root.
    pub fn get(&self, token: &str, path: &str) -> Request {
        self.request(Method::GET, path).token(token)
    }

    /// Sends `POST` with a JSON body.
    pub fn post(&self, token: &str, path: &str, body: &Value) -> Request {
        self.request(Method::POST, path).token(token).json(body)
    }

    /// Sends `PUT` with a JSON body.
    pub fn put(&self, token: &str, path: &str, body: &Value) -> Request {
        self.request(Method::PUT, path).token(token).json(body)
    }

    pub fn delete(&self, token: &str, path: &str) -> Request {
        self.request(Method::DELETE, path).token(token)
    }

    /// Returns a request without credentials to a path below the API root, or to a whole URL.
    pub fn request(&self, method: Method, path: &str) -> Request {
        let url = if path.starts_with("http") {
            path.to_owned()
        } else {
            format!("{}{path}", self.base_url)
        };
        Request {
            what: format!("{method} {path}"),
            builder: self.http.request(method, url),
            is_patient: self.is_patient,
        }
    }
}

impl Request {
    /// Adds an access token.
    pub fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.builder = self.builder.header(name, value);
        self
    }

    /// Sets a JSON body and its content type.
    pub fn json(mut self, body: &Value) -> Self {
        self.builder = self.builder.json(body);
        self
    }

    /// Sets a raw body, without a content type.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.builder = self.builder.body(body.into());
        self
    }

    /// Sends the request, and reads the server-sent events of its answer.
    pub async fn listen(self) -> Listener {
        let what = self.what;
        match self.builder.send().await {
            Ok(response) => Listener::new(what, response),
            Err(error) => panic!("{what}: no answer: {error:?}"),
        }
    }

    /// Sends the request. Fails where no answer came, as from a killed service.
    pub async fn send(self) -> Result<Answer, reqwest::Error> {
        let Self {
            mut builder,
            what,
            is_patient,
        } = self;
        for _ in 1..TRIES {
            let Some(again) = builder.try_clone().filter(|_| is_patient) else {
                break;
            };
            let answer = execute(builder, what.clone()).await?;
            if answer.status != 503 {
                return Ok(answer);
            }
            tokio::time::sleep(PAUSE).await;
            builder = again;
        }
        execute(builder, what).await
    }
}

async fn execute(builder: reqwest::RequestBuilder, what: String) -> Result<Answer, reqwest::Error> {
    let (client, request) = builder.build_split();
    let request = request?;
    let (method, url) = (request.method().clone(), request.url().clone());
    let response = client.execute(request).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = response.bytes().await?;
    let answer = Answer::new(what, status, headers, bytes.to_vec());
    // API Gateway's own 503 has no `Retry-After`.
    if answer.body["error"] == "unavailable" {
        let after = answer.header("retry-after").parse::<u32>();
        assert!(after.is_ok(), "{}: a 503 says when to repeat", answer.request);
    }
    documented::check(&method, &url, &answer);
    Ok(answer)
}

impl IntoFuture for Request {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async {
            let what = self.what.clone();
            match self.send().await {
                Ok(answer) => answer,
                Err(error) => panic!("{what}: no answer: {error:?}"),
            }
        })
    }
}
