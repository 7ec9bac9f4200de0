//! What a function is told by its environment, read once at start into small typed structs.
//!
//! Every variable begins with `MILLRACE_`. A missing one, or one that no struct knows (a misspelt name would silently
//! fall back to a default), stops the start with a sentence that says how to set it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

/// Every variable that any function reads, with what it is for.
pub const VARIABLES: &[(&str, &str)] = &[
    ("MILLRACE_RECORDS_TABLE", "name of the DynamoDB table of records"),
    (
        "MILLRACE_AUDIT_TABLE",
        "name of the DynamoDB table of audit records",
    ),
    (
        "MILLRACE_DATA_BUCKET",
        "name of the S3 bucket of store data and artifacts",
    ),
    (
        "MILLRACE_AUDIT_RETRY_QUEUE",
        "URL of the SQS queue of audit records whose first write failed",
    ),
    (
        "MILLRACE_RUNS_TABLE",
        "name of the DynamoDB table of workflow runs",
    ),
    (
        "MILLRACE_TASK_QUEUE",
        "URL of the SQS queue of hints at workflow runs that can go on",
    ),
    (
        "MILLRACE_PAGE_TOKEN_KEY",
        "key, of any length, that signs the page tokens of listings; or MILLRACE_PAGE_TOKEN_SECRET",
    ),
    (
        "MILLRACE_PAGE_TOKEN_SECRET",
        "name or ARN of the Secrets Manager secret with the key that signs the page tokens of listings",
    ),
    ("MILLRACE_EVENT_BUS", "name of the EventBridge bus"),
    (
        "MILLRACE_EVENTS_TABLE",
        "name of the DynamoDB table of events and deliveries",
    ),
    (
        "MILLRACE_EVENT_QUEUE",
        "URL of the SQS queue of events that wait to be matched",
    ),
    (
        "MILLRACE_EVENT_DEAD_LETTER_QUEUE",
        "URL of the SQS queue of events that cannot be read",
    ),
    (
        "MILLRACE_SEALING_KEY",
        "id, ARN or alias of the KMS key that encrypts signing secrets",
    ),
    (
        "MILLRACE_INGEST_MAX_BODY_KB",
        "optional: largest body that an ingest channel takes, in KiB; default 256",
    ),
    (
        "MILLRACE_INGEST_CHANNEL_RATE",
        "optional: most events that an ingest channel takes in a second, over ten seconds; 0 or nothing for no limit",
    ),
    (
        "MILLRACE_INGEST_CONCURRENCY",
        "optional: most instances of the ingest function, which share the rate of a channel; default 1",
    ),
    (
        "MILLRACE_LOCAL_TARGETS",
        "for development: `true` lets webhooks and imports reach this machine, over plain http as well; a Lambda function refuses it",
    ),
    (
        "MILLRACE_HOSTS",
        "for the local runner, optional: host names that it answers under besides those of the loopback interface, comma-joined",
    ),
    (
        "MILLRACE_IMPORT_QUEUE",
        "URL of the SQS queue of imports that run in the background",
    ),
    (
        "MILLRACE_IMPORT_BUCKETS",
        "optional: what imports may read of S3 and, with credentials, of Google Cloud Storage, comma-joined, such as \
         s3://uploads/{account}/{project}/,gs://exports/{account}/",
    ),
    (
        "MILLRACE_GCS_CREDENTIALS",
        "optional: the JSON key of a Google service account that reads the gs:// places of MILLRACE_IMPORT_BUCKETS",
    ),
    (
        "MILLRACE_GCS_CREDENTIALS_SECRET",
        "optional: name or ARN of the Secrets Manager secret with that key",
    ),
    (
        "MILLRACE_JWKS",
        "where the keys that sign access tokens are: an https URL, or the path of a JWKS file",
    ),
    (
        "MILLRACE_TOKEN_ISSUER",
        "the `iss` that an access token must carry",
    ),
    (
        "MILLRACE_TOKEN_AUDIENCE",
        "the `aud` that an access token must carry",
    ),
    (
        "MILLRACE_TOKEN_SHARED_SECRET",
        "optional: accepts HS256 tokens signed with this secret as well",
    ),
    (
        "MILLRACE_CORS_ORIGINS",
        "optional: origins that a browser may call from, comma-joined, or `*`",
    ),
    (
        "MILLRACE_LOG",
        "optional: log filter such as `info` or `debug,hyper=warn`; default `info`",
    ),
    (
        "MILLRACE_METRICS_NAMESPACE",
        "optional: CloudWatch namespace of the metrics that a function writes; none are written without it",
    ),
    (
        "MILLRACE_KEEP_VERSIONS_DAYS",
        "optional: the age at which versions of data stores go that are neither snapshots nor current; all stay without it",
    ),
    (
        "MILLRACE_CRASH_AT",
        "for tests: the number of the step at which the local runner or the operator command is to die",
    ),
    (
        "MILLRACE_STEP_LOG",
        "for tests: file that the local runner's sample activity 'step' adds a line to with each call",
    ),
    (
        "MILLRACE_FAULTY_SAMPLES",
        "for tests: `true` adds workflow types to the local runner whose code is wrong in different ways",
    ),
    (
        "MILLRACE_QUERY_MEMORY_MB",
        "optional: memory of one data store query in MiB; default 512",
    ),
    (
        "MILLRACE_CACHE_DIR",
        "optional: folder for cached data files; default the temporary folder",
    ),
    (
        "MILLRACE_CACHE_MB",
        "optional: most that the cache of data files holds, in MiB; default 1024",
    ),
    (
        "MILLRACE_TMP_MB",
        "size of a Lambda function's temporary disk, in MiB: its EphemeralStorage",
    ),
    (
        "MILLRACE_COMPACT_AT_SEGMENTS",
        "optional: the small data files of a table from which on they are merged in the background; default 32",
    ),
    (
        "MILLRACE_COPIED_TABLE_MB",
        "for the local runner, optional: the largest table that queries get a faster copy of, in MiB, or 0 for none; default 512",
    ),
];

/// Why a start was refused: one sentence for the person who set it up.
#[derive(Debug)]
pub struct ConfigError(String);

impl ConfigError {
    /// A refusal with this sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The refusal of a start without this variable.
    pub fn missing(name: &'static str) -> Self {
        let what = VARIABLES
            .iter()
            .find(|(known, _)| *known == name)
            .map_or("", |(_, what)| *what);
        Self(format!("The variable {name} is missing. Set it to the {what}."))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, where it is used.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The `MILLRACE_` variables of the process.
#[derive(Clone, Debug)]
pub struct Environment(BTreeMap<String, Secret>);

impl Environment {
    /// Reads the environment of this process. Refuses a `MILLRACE_` variable that nothing reads.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub fn read() -> Result<Self, ConfigError> {
        Self::from_variables(std::env::vars())
    }

    /// The same over given variables.
    pub fn from_variables(
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let ours: BTreeMap<_, _> = variables
            .into_iter()
            .filter(|(name, _)| name.starts_with("MILLRACE_"))
            .map(|(name, value)| (name, Secret::new(value)))
            .collect();
        match ours
            .keys()
            .find(|name| !VARIABLES.iter().any(|(known, _)| known == name))
        {
            Some(unknown) => {
                let known: Vec<_> = VARIABLES.iter().map(|(name, _)| *name).collect();
                Err(ConfigError(format!(
                    "The variable {unknown} is unknown. Known are {}.",
                    known.join(", ")
                )))
            }
            None => Ok(Self(ours)),
        }
    }

    /// The value of a variable that may be missing; an empty one counts as missing.
    pub fn optional(&self, name: &'static str) -> Option<&str> {
        self.0
            .get(name)
            .map(Secret::expose)
            .filter(|value| !value.is_empty())
    }

    /// The value of a variable that must be there.
    pub fn required(&self, name: &'static str) -> Result<String, ConfigError> {
        self.optional(name)
            .map(str::to_owned)
            .ok_or_else(|| ConfigError::missing(name))
    }

    /// A whole number, or `default` where the variable is missing.
    pub fn number(&self, name: &'static str, default: u64) -> Result<u64, ConfigError> {
        match self.optional(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| {
                ConfigError(format!(
                    "The variable {name} is '{text}'. Set it to a whole number."
                ))
            }),
        }
    }
}

/// What Lambda says of the cloud around a function.
#[derive(Clone, Debug, Default)]
pub struct AwsEnvironment {
    /// `AWS_REGION`.
    pub region: Option<String>,
    /// `AWS_ENDPOINT_URL`: services elsewhere than in the cloud.
    pub endpoint_url: Option<String>,
    /// `AWS_LAMBDA_FUNCTION_NAME`: set in a Lambda function, and there alone.
    pub function_name: Option<String>,
    /// `AWS_LAMBDA_FUNCTION_MEMORY_SIZE`.
    pub function_memory_mb: Option<u64>,
}

impl AwsEnvironment {
    /// Reads the environment of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub fn read() -> Self {
        Self {
            region: std::env::var("AWS_REGION").ok(),
            endpoint_url: std::env::var("AWS_ENDPOINT_URL").ok(),
            function_name: std::env::var("AWS_LAMBDA_FUNCTION_NAME").ok(),
            function_memory_mb: std::env::var("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
                .ok()
                .and_then(|size| size.parse().ok()),
        }
    }
}

/// The variable by which the loader is told of libraries beyond its own places.
pub const LIBRARY_PATH: &str = if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Where the loader looks for libraries beyond its own places, for a child process whose environment is otherwise empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
pub fn library_path() -> Option<OsString> {
    std::env::var_os(LIBRARY_PATH)
}

/// Origins that a browser may call from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorsOrigins {
    /// None: no CORS header is sent.
    None,
    /// Any origin.
    Any,
    /// These, each as `scheme://host[:port]`.
    List(Vec<String>),
}

impl CorsOrigins {
    /// From `MILLRACE_CORS_ORIGINS`; none where it is missing.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let origins = environment.optional("MILLRACE_CORS_ORIGINS");
        if let Some(list) = origins.filter(|list| *list != "*" && list.contains('*')) {
            return Err(ConfigError(format!(
                "The variable MILLRACE_CORS_ORIGINS is '{list}'. Set it to origins such as https://app.example.com, or to * alone."
            )));
        }
        Ok(match origins {
            None => Self::None,
            Some("*") => Self::Any,
            Some(list) => Self::List(list.split(',').map(|origin| origin.trim().to_owned()).collect()),
        })
    }
}

/// What the edge of a function is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeConfig {
    /// Origins that a browser may call from.
    pub cors: CorsOrigins,
}

impl EdgeConfig {
    /// From `MILLRACE_CORS_ORIGINS`.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            cors: CorsOrigins::from_environment(environment)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Result<Environment, ConfigError> {
        Environment::from_variables(
            variables
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        )
    }

    #[test]
    fn a_misspelt_variable_stops_the_start() {
        let refusal = environment(&[("MILLRACE_RECORD_TABLE", "x"), ("PATH", "/bin")])
            .unwrap_err()
            .to_string();
        assert!(
            refusal.starts_with("The variable MILLRACE_RECORD_TABLE is unknown."),
            "{refusal}"
        );
    }

    #[test]
    fn a_missing_variable_says_what_it_is_for() {
        let empty = environment(&[("MILLRACE_JWKS", "")]).unwrap();
        let refusal = empty.required("MILLRACE_DATA_BUCKET").unwrap_err().to_string();
        insta::assert_snapshot!(refusal, @"The variable MILLRACE_DATA_BUCKET is missing. Set it to the name of the S3 bucket of store data and artifacts.");
        assert!(empty.optional("MILLRACE_JWKS").is_none());
    }

    #[test]
    fn secrets_do_not_print() {
        let environment = environment(&[("MILLRACE_TOKEN_SHARED_SECRET", "hunter2")]).unwrap();
        assert!(!format!("{environment:?}").contains("hunter2"));
    }
}
