//! A local runner as a process of its own.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;

use crate::{Result, programs};

/// A running local runner; it is killed when it is dropped.
pub struct Runner {
    child: Child,
    /// Kept open, so that what it goes on to print has a reader.
    _stdout: BufReader<ChildStdout>,
    data_dir: PathBuf,
    base_url: String,
    token: String,
    http: Client,
}

impl Runner {
    /// Starts one over `data_dir` and returns as soon as it says that it is ready. Its log is `<data_dir>.log`.
    pub fn start(data_dir: &Path) -> Result<Self> {
        Self::start_with(data_dir, [])
    }

    /// The same, with settings.
    pub fn start_with<'a>(
        data_dir: &Path,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self> {
        Self::start_program(&programs::binary("millrace")?, data_dir, settings)
    }

    /// The same by a program of another profile.
    pub fn start_program<'a>(
        program: &Path,
        data_dir: &Path,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self> {
        let log = data_dir.with_extension("log");
        let mut child = programs::command(program)
            .args(["--port", "0", "--data-dir"])
            .arg(data_dir)
            // As `make run` has it.
            .env("MILLRACE_LOCAL_TARGETS", "true")
            .envs(settings)
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()?;
        let stdout = child.stdout.take().ok_or("the runner's output is no pipe")?;
        let mut runner = Self {
            child,
            _stdout: BufReader::new(stdout),
            data_dir: data_dir.to_owned(),
            base_url: String::new(),
            token: String::new(),
            http: Client::builder()
                .no_proxy()
                .timeout(Duration::from_secs(600))
                .build()?,
        };
        let mut line = String::new();
        while runner.token.is_empty() {
            line.clear();
            if runner._stdout.read_line(&mut line)? == 0 {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("The runner did not start: {}", said.trim()).into());
            }
            match line.trim().split_once(' ') {
                Some(("API", url)) => runner.base_url = url.trim().to_owned(),
                Some(("export", token)) => runner.token = token.trim_start_matches("TOKEN=").to_owned(),
                _ => {}
            }
        }
        Ok(runner)
    }

    /// The root of its API.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// A token of the developer of account `acme`, project `demo`.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Its data directory.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// `GET` of a path below the API root, as the developer of account `acme`, project `demo`.
    pub fn get(&self, path: &str) -> RequestBuilder {
        self.http
            .get(format!("{}{path}", self.base_url))
            .bearer_auth(&self.token)
    }

    /// `POST` of a JSON body, as the same.
    pub fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.send(Method::POST, path, body)
    }

    /// `PUT` of a JSON body, as the same.
    pub fn put(&self, path: &str, body: &Value) -> RequestBuilder {
        self.send(Method::PUT, path, body)
    }

    fn send(&self, method: Method, path: &str, body: &Value) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base_url))
            .bearer_auth(&self.token)
            .json(body)
    }

    /// Its process.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request and reads its answer to the end. An error unless the status is a success.
pub async fn answer(request: RequestBuilder) -> Result<Vec<u8>> {
    let response: Response = request.send().await?;
    let (status, url) = (response.status(), response.url().clone());
    let bytes = response.bytes().await?;
    if status.is_success() {
        return Ok(bytes.to_vec());
    }
    let text = String::from_utf8_lossy(&bytes);
    Err(format!("{url} answered {status}: {text}").into())
}

/// The same, as JSON.
pub async fn json(request: RequestBuilder) -> Result<Value> {
    Ok(serde_json::from_slice(&answer(request).await?)?)
}

/// The `id` of an answer.
pub fn id(answer: &Value) -> Result<String> {
    let id = answer.get("id").and_then(Value::as_str);
    Ok(id.ok_or_else(|| format!("no id in {answer}"))?.to_owned())
}
