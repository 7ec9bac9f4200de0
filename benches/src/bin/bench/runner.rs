//! Runs a local runner in a process of its own.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use platform::config::variables;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;

use crate::{Result, programs};

/// Running local runner; it is killed when this is dropped.
pub struct Runner {
    child: Child,
    /// Kept open, so that the runner can continue to print.
    _stdout: BufReader<ChildStdout>,
    data_dir: PathBuf,
    settings: Vec<(String, String)>,
    base_url: String,
    token: String,
    http: Client,
}

impl Runner {
    /// Starts a runner over `data_dir` and returns as soon as it reports ready. Its log is `<data_dir>.log`.
    pub fn start(data_dir: &Path) -> Result<Self> {
        Self::start_with(data_dir, [])
    }

    /// Starts a runner with settings.
    pub fn start_with<'a>(
        data_dir: &Path,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self> {
        Self::start_program(&programs::binary("millrace")?, data_dir, settings)
    }

    /// Starts the runner of another profile.
    pub fn start_program<'a>(
        program: &Path,
        data_dir: &Path,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self> {
        let log = data_dir.with_extension("log");
        let settings: Vec<_> = settings
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut child = programs::command(program)
            .args(["--port", "0", "--data-dir"])
            .arg(data_dir)
            // The same setting as in `make run`.
            .env(variables::LOCAL_TARGETS.name, "true")
            .envs(settings.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()?;
        let stdout = child.stdout.take().ok_or("the runner's output is no pipe")?;
        let mut runner = Self {
            child,
            _stdout: BufReader::new(stdout),
            data_dir: data_dir.to_owned(),
            settings,
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
                let output = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("The runner did not start: {}", output.trim()).into());
            }
            match line.trim().split_once(' ') {
                Some(("API", url)) => runner.base_url = url.trim().to_owned(),
                Some(("export", token)) => runner.token = token.trim_start_matches("TOKEN=").to_owned(),
                _ => {}
            }
        }
        Ok(runner)
    }

    /// Returns the root of its API.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns a token of the developer of account `acme`, project `demo`.
    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Returns the operator command, with the runner's settings: it finds the records by them.
    pub fn ops(&self) -> Result<Command> {
        let mut command = programs::command(&programs::binary("millrace")?);
        command.arg("ops");
        command.arg("--data-dir").arg(&self.data_dir);
        command.envs(self.settings.iter().cloned());
        Ok(command)
    }

    /// Sends `GET` to a path below the API root, as the developer of account `acme`, project `demo`.
    pub fn get(&self, path: &str) -> RequestBuilder {
        self.http
            .get(format!("{}{path}", self.base_url))
            .bearer_auth(&self.token)
    }

    /// Sends `POST` with a JSON body, as the same developer.
    pub fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.send(Method::POST, path, body)
    }

    /// Sends `PUT` with a JSON body, as the same developer.
    pub fn put(&self, path: &str, body: &Value) -> RequestBuilder {
        self.send(Method::PUT, path, body)
    }

    fn send(&self, method: Method, path: &str, body: &Value) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base_url))
            .bearer_auth(&self.token)
            .json(body)
    }

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

/// Sends a request and reads its answer to the end. Fails unless the status is a success.
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

pub async fn json(request: RequestBuilder) -> Result<Value> {
    Ok(serde_json::from_slice(&answer(request).await?)?)
}

pub fn id(answer: &Value) -> Result<String> {
    let id = answer.get("id").and_then(Value::as_str);
    Ok(id.ok_or_else(|| format!("no id in {answer}"))?.to_owned())
}
