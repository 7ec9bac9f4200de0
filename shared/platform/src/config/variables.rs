//! Lists the environment variables that a program reads, each name once.

use std::fmt;

/// Name of an environment variable, and what it is to be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    pub(super) purpose: &'static str,
    /// Value of a whole number that is missing.
    pub default: u64,
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const fn variable(name: &'static str, purpose: &'static str) -> Variable {
    number(name, 0, purpose)
}

const fn number(name: &'static str, default: u64, purpose: &'static str) -> Variable {
    Variable {
        name,
        purpose,
        default,
    }
}

pub const RECORDS_TABLE: Variable =
    variable("MILLRACE_RECORDS_TABLE", "name of the DynamoDB table of records");
pub const AUDIT_TABLE: Variable = variable(
    "MILLRACE_AUDIT_TABLE",
    "name of the DynamoDB table of audit records",
);
pub const DATA_BUCKET: Variable = variable(
    "MILLRACE_DATA_BUCKET",
    "name of the S3 bucket of store data and artifacts",
);
pub const OBJECTS: Variable = variable(
    "MILLRACE_OBJECTS",
    "for the local runner, optional: `files`, in the data directory, which is the default, or `s3`, in MILLRACE_DATA_BUCKET",
);
pub const AUDIT_RETRY_QUEUE: Variable = variable(
    "MILLRACE_AUDIT_RETRY_QUEUE",
    "URL of the SQS queue of audit records whose first write failed",
);
pub const RUNS_TABLE: Variable = variable(
    "MILLRACE_RUNS_TABLE",
    "name of the DynamoDB table of workflow runs",
);
pub const TASK_QUEUE: Variable = variable(
    "MILLRACE_TASK_QUEUE",
    "URL of the SQS queue of hints at workflow runs that can go on",
);
pub const HIGH_TASK_QUEUE: Variable = variable(
    "MILLRACE_HIGH_TASK_QUEUE",
    "optional: URL of the SQS queue of hints of high priority; default MILLRACE_TASK_QUEUE",
);
pub const LOW_TASK_QUEUE: Variable = variable(
    "MILLRACE_LOW_TASK_QUEUE",
    "optional: URL of the SQS queue of hints of low priority; default MILLRACE_TASK_QUEUE",
);
pub const PAGE_TOKEN_KEY: Variable = variable(
    "MILLRACE_PAGE_TOKEN_KEY",
    "key, of any length, that encrypts the page tokens of listings; or MILLRACE_PAGE_TOKEN_SECRET",
);
pub const PAGE_TOKEN_SECRET: Variable = variable(
    "MILLRACE_PAGE_TOKEN_SECRET",
    "name or ARN of the Secrets Manager secret with the key that encrypts the page tokens of listings",
);
pub const EVENT_BUS: Variable = variable("MILLRACE_EVENT_BUS", "name of the EventBridge bus");
pub const EVENTS_TABLE: Variable = variable(
    "MILLRACE_EVENTS_TABLE",
    "name of the DynamoDB table of events and deliveries",
);
pub const EVENT_QUEUE: Variable = variable(
    "MILLRACE_EVENT_QUEUE",
    "URL of the SQS queue of events that wait to be matched",
);
pub const ARCHIVE_QUEUE: Variable = variable(
    "MILLRACE_ARCHIVE_QUEUE",
    "URL of the SQS queue of logs with records that are not archived",
);
pub const DIGEST_KEY: Variable = variable(
    "MILLRACE_DIGEST_KEY",
    "ids, ARNs or aliases of KMS keys, comma-joined: the first signs the digests of the event log, the others did before",
);
pub const RETAIN_RUNS_DAYS: Variable = variable(
    "MILLRACE_RETAIN_RUNS_DAYS",
    "optional: days for which workflow runs are kept after their end; default 90",
);
pub const RETAIN_DELIVERIES_DAYS: Variable = variable(
    "MILLRACE_RETAIN_DELIVERIES_DAYS",
    "optional: days for which deliveries are kept after their end; default 90",
);
pub const RETAIN_EVENTS_DAYS: Variable = variable(
    "MILLRACE_RETAIN_EVENTS_DAYS",
    "optional: days for which events are kept as records after they were archived; default 90",
);
pub const RETAIN_AUDIT_DAYS: Variable = variable(
    "MILLRACE_RETAIN_AUDIT_DAYS",
    "optional: days for which audit records are kept as records after they were archived; default 90",
);
pub const MAX_SUBSCRIPTIONS: Variable = number(
    "MILLRACE_MAX_SUBSCRIPTIONS",
    10_000,
    "optional: event subscriptions that a project may have, up to 100,000; default 10,000",
);
pub const EVENT_DEAD_LETTER_QUEUE: Variable = variable(
    "MILLRACE_EVENT_DEAD_LETTER_QUEUE",
    "URL of the SQS queue of events that cannot be read",
);
pub const SEALING_KEY: Variable = variable(
    "MILLRACE_SEALING_KEY",
    "id, ARN or alias of the KMS key that encrypts signing secrets",
);
pub const SERVICE_KEY: Variable = variable(
    "MILLRACE_SERVICE_KEY",
    "ids, ARNs or aliases of KMS keys, comma-joined: the first signs the service tokens of workflow runs, the others did \
     before, and their tokens are valid",
);
pub const API_URL: Variable = variable(
    "MILLRACE_API_URL",
    "URL of the API's root, such as https://api.example.com/prod/api/v1, which workflow runs call",
);
pub const INGEST_MAX_BODY_KB: Variable = number(
    "MILLRACE_INGEST_MAX_BODY_KB",
    256,
    "optional: largest body that an ingest channel takes, in KiB",
);
pub const INGEST_CHANNEL_RATE: Variable = variable(
    "MILLRACE_INGEST_CHANNEL_RATE",
    "optional: most events that an ingest channel takes in a second, over ten seconds; 0 or nothing for no limit",
);
pub const INGEST_CONCURRENCY: Variable = number(
    "MILLRACE_INGEST_CONCURRENCY",
    1,
    "optional: most instances of the ingest function, which share the rate of a channel",
);
pub const LOCAL_TARGETS: Variable = variable(
    "MILLRACE_LOCAL_TARGETS",
    "for development: `true` lets webhooks and imports reach this machine, over plain http as well; a Lambda function refuses \
         it unless its AWS_ENDPOINT_URL is an emulator on this machine",
);
pub const HOSTS: Variable = variable(
    "MILLRACE_HOSTS",
    "for the local runner, optional: host names that it answers under besides those of the loopback interface, comma-joined",
);
pub const COMMAND: Variable = variable(
    "MILLRACE_COMMAND",
    "for launchers of the local runner: the words that start it in a shell, such as `npx millrace`, for its messages; default millrace",
);
pub const LISTEN: Variable = variable(
    "MILLRACE_LISTEN",
    "for the local runner, optional: address and port to listen on; default 127.0.0.1 and PORT",
);
pub const PUBLIC_URL: Variable = variable(
    "MILLRACE_PUBLIC_URL",
    "for the local runner: URL under which callers reach it, such as https://millrace.example.com; in development optional",
);
pub const TRUSTED_PROXIES: Variable = variable(
    "MILLRACE_TRUSTED_PROXIES",
    "for the local runner, optional: addresses and networks of proxies whose header X-Forwarded-For counts, comma-joined",
);
pub const METRICS_LISTEN: Variable = variable(
    "MILLRACE_METRICS_LISTEN",
    "for the local runner, optional: address and port of /metrics, /healthz and /readyz, such as 127.0.0.1:9464",
);
pub const TLS_CERTIFICATE: Variable = variable(
    "MILLRACE_TLS_CERTIFICATE",
    "for the local runner, optional: file with its certificate chain in PEM; with MILLRACE_TLS_KEY",
);
pub const TLS_KEY: Variable = variable(
    "MILLRACE_TLS_KEY",
    "for the local runner, optional: file with the private key of its certificate in PEM",
);
pub const ACME_DOMAINS: Variable = variable(
    "MILLRACE_ACME_DOMAINS",
    "for the local runner, optional: domains that it gets a certificate for by ACME, comma-joined",
);
pub const ACME_CONTACT: Variable = variable(
    "MILLRACE_ACME_CONTACT",
    "for the local runner, optional: mail address for messages of the certificate authority",
);
pub const ACME_DIRECTORY: Variable = variable(
    "MILLRACE_ACME_DIRECTORY",
    "for the local runner, optional: URL of the certificate authority's directory; default Let's Encrypt",
);
pub const ACME_ROOTS: Variable = variable(
    "MILLRACE_ACME_ROOTS",
    "for the local runner, optional: file with the root certificates of that directory in PEM, where it is a private one",
);
pub const IMPORT_QUEUE: Variable = variable(
    "MILLRACE_IMPORT_QUEUE",
    "URL of the SQS queue of imports that run in the background",
);
pub const IMPORT_BUCKETS: Variable = variable(
    "MILLRACE_IMPORT_BUCKETS",
    "optional: what imports may read of S3 and, with credentials, of Google Cloud Storage, comma-joined, such as \
         s3://uploads/{account}/{project}/,gs://exports/{account}/",
);
pub const GCS_CREDENTIALS: Variable = variable(
    "MILLRACE_GCS_CREDENTIALS",
    "optional: the JSON key of a Google service account that reads the gs:// places of MILLRACE_IMPORT_BUCKETS",
);
pub const GCS_CREDENTIALS_SECRET: Variable = variable(
    "MILLRACE_GCS_CREDENTIALS_SECRET",
    "optional: name or ARN of the Secrets Manager secret with that key",
);
pub const IDENTITY: Variable = variable(
    "MILLRACE_IDENTITY",
    "optional, instead of the three variables of one provider: identity providers and the meaning of their claims as JSON, or the path \
         of a file with it",
);
pub const JWKS: Variable = variable(
    "MILLRACE_JWKS",
    "where the keys that sign access tokens are: an https URL, or the path of a JWKS file",
);
pub const TOKEN_ISSUER: Variable = variable(
    "MILLRACE_TOKEN_ISSUER",
    "text that `iss` of an access token must be",
);
pub const TOKEN_AUDIENCE: Variable = variable(
    "MILLRACE_TOKEN_AUDIENCE",
    "text that `aud` of an access token must contain",
);
pub const TOKEN_SHARED_SECRET: Variable = variable(
    "MILLRACE_TOKEN_SHARED_SECRET",
    "optional: accepts HS256 tokens signed with this secret as well",
);
pub const CORS_ORIGINS: Variable = variable(
    "MILLRACE_CORS_ORIGINS",
    "optional: origins that a browser may call from, comma-joined, or `*`",
);
pub const MODEL_PROVIDER: Variable = variable(
    "MILLRACE_MODEL_PROVIDER",
    "optional: where the language model is: none, bedrock (Amazon Bedrock) or openai (a server with an OpenAI-compatible \
         chat endpoint); default none",
);
pub const MODEL: Variable = variable(
    "MILLRACE_MODEL",
    "name of the language model, such as the id of a Bedrock inference profile, or as the server of \
         MILLRACE_MODEL_BASE_URL names it",
);
pub const MODEL_BASE_URL: Variable = variable(
    "MILLRACE_MODEL_BASE_URL",
    "URL below which the endpoint chat/completions of the language model is, such as https://api.openai.com/v1 or \
         http://127.0.0.1:11434/v1",
);
pub const MODEL_API_KEY: Variable = variable(
    "MILLRACE_MODEL_API_KEY",
    "optional: key for the server of MILLRACE_MODEL_BASE_URL; or MILLRACE_MODEL_API_KEY_SECRET",
);
pub const MODEL_API_KEY_SECRET: Variable = variable(
    "MILLRACE_MODEL_API_KEY_SECRET",
    "optional: name or ARN of the Secrets Manager secret with that key",
);
pub const LOG: Variable = variable(
    "MILLRACE_LOG",
    "optional: log filter such as `info` or `debug,hyper=warn`; default `info`",
);
pub const METRICS_NAMESPACE: Variable = variable(
    "MILLRACE_METRICS_NAMESPACE",
    "optional: CloudWatch namespace of the metrics that a function writes; none are written without it",
);
pub const KEEP_VERSIONS_DAYS: Variable = variable(
    "MILLRACE_KEEP_VERSIONS_DAYS",
    "optional: the age at which versions of data stores go that are neither snapshots nor current; all stay without it",
);
pub const CRASH_AT: Variable = variable(
    "MILLRACE_CRASH_AT",
    "for tests: the number of the step at which the local runner or the operator command is to die",
);
pub const STEP_LOG: Variable = variable(
    "MILLRACE_STEP_LOG",
    "for tests: file that the local runner's sample activity 'step' adds a line to with each call",
);
pub const FAULTY_SAMPLES: Variable = variable(
    "MILLRACE_FAULTY_SAMPLES",
    "for tests: `true` adds workflow types to the local runner whose code is wrong in different ways",
);
pub const QUERY_MEMORY_MB: Variable = number(
    "MILLRACE_QUERY_MEMORY_MB",
    512,
    "optional: memory of one data store query in MiB",
);
pub const CACHE_DIR: Variable = variable(
    "MILLRACE_CACHE_DIR",
    "optional: folder for cached data files; default the temporary folder",
);
pub const CACHE_MB: Variable = number(
    "MILLRACE_CACHE_MB",
    1_024,
    "optional: most that the cache of data files holds, in MiB",
);
pub const TMP_MB: Variable = variable(
    "MILLRACE_TMP_MB",
    "size of a Lambda function's temporary disk, in MiB: its EphemeralStorage",
);
pub const IMPORT_WAIT_SECONDS: Variable = number(
    "MILLRACE_IMPORT_WAIT_SECONDS",
    // Less than API Gateway's limit for a response, 29 s.
    20,
    "optional: how long a request waits for its import, in seconds, before that goes on in the background",
);
pub const COMPACT_AT_SEGMENTS: Variable = number(
    "MILLRACE_COMPACT_AT_SEGMENTS",
    // From about 50 files, a query takes noticeably longer.
    32,
    "optional: the small data files of a table from which on they are merged in the background",
);
pub const CONSOLE_DIR: Variable = variable(
    "MILLRACE_CONSOLE_DIR",
    "optional: folder of the built console; default `console` beside the program; the local runner has no console without it",
);
pub const INGEST_URL: Variable = variable(
    "MILLRACE_INGEST_URL",
    "ingest base URL as senders have it, where requests arrive under another",
);
pub const CONSOLE_INGEST_URL: Variable =
    variable("MILLRACE_CONSOLE_INGEST_URL", "ingest base URL, for the console");
pub const CONSOLE_CLIENT_ID: Variable = variable(
    "MILLRACE_CONSOLE_CLIENT_ID",
    "optional: client id of the console at an OpenID provider; without it callers paste a token",
);
pub const CONSOLE_ISSUER: Variable = variable(
    "MILLRACE_CONSOLE_ISSUER",
    "optional: URL of the OpenID provider that the console signs in at; default MILLRACE_TOKEN_ISSUER",
);
pub const CONSOLE_AUDIENCE: Variable = variable(
    "MILLRACE_CONSOLE_AUDIENCE",
    "optional: the `audience` that the console asks the OpenID provider for, where the provider needs to be told, as Auth0 does",
);
pub const CONSOLE_SCOPE: Variable = variable(
    "MILLRACE_CONSOLE_SCOPE",
    "optional: scopes that the console asks for, separated by spaces; default openid",
);
pub const CONSOLE_CONNECT: Variable = variable(
    "MILLRACE_CONSOLE_CONNECT",
    "optional: further origins that the console may send requests to, comma-separated",
);
pub const RECORDS: Variable = variable(
    "MILLRACE_RECORDS",
    "for the local runner, optional: `sqlite`, in the data directory, or `dynamodb`; default `sqlite`",
);
pub const COPIED_TABLE_MB: Variable = number(
    "MILLRACE_COPIED_TABLE_MB",
    512,
    "for the local runner, optional: the largest table that queries get a faster copy of, in MiB, or 0 for none",
);

pub const OTEL_ENDPOINT: Variable = variable(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "optional: URL of an OpenTelemetry collector, such as http://127.0.0.1:4318, that gets traces and logs",
);
pub const OTEL_HEADERS: Variable = variable(
    "OTEL_EXPORTER_OTLP_HEADERS",
    "optional: headers of the requests to the collector, as name=value, comma-joined",
);
pub const OTEL_TIMEOUT: Variable = variable(
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "optional: time limit of a request to the collector, in milliseconds; default 10,000",
);
pub const OTEL_PROTOCOL: Variable = variable("OTEL_EXPORTER_OTLP_PROTOCOL", "optional: `http/protobuf`");
pub const OTEL_TRACES_EXPORTER: Variable =
    variable("OTEL_TRACES_EXPORTER", "optional: `none` to export no traces");
pub const OTEL_LOGS_EXPORTER: Variable = variable("OTEL_LOGS_EXPORTER", "optional: `none` to export no logs");
pub const OTEL_SDK_DISABLED: Variable = variable("OTEL_SDK_DISABLED", "optional: `true` to export nothing");
pub const OTEL_SERVICE_NAME: Variable = variable(
    "OTEL_SERVICE_NAME",
    "optional: name of the service in traces and logs; default millrace",
);
pub const OTEL_RESOURCE: Variable = variable(
    "OTEL_RESOURCE_ATTRIBUTES",
    "optional: attributes of the service in traces and logs, as name=value, comma-joined",
);
pub const OTEL_SAMPLER: Variable = variable(
    "OTEL_TRACES_SAMPLER",
    "optional: which traces are recorded; default parentbased_always_on",
);
pub const OTEL_SAMPLER_ARG: Variable = variable(
    "OTEL_TRACES_SAMPLER_ARG",
    "optional: share of traces that are recorded, from 0 to 1",
);

/// Variables of OpenTelemetry, whose names are its own. Others of them are for other programs and pass.
pub const OF_OPEN_TELEMETRY: &[Variable] = &[
    OTEL_ENDPOINT,
    OTEL_HEADERS,
    OTEL_TIMEOUT,
    OTEL_PROTOCOL,
    OTEL_TRACES_EXPORTER,
    OTEL_LOGS_EXPORTER,
    OTEL_SDK_DISABLED,
    OTEL_SERVICE_NAME,
    OTEL_RESOURCE,
    OTEL_SAMPLER,
    OTEL_SAMPLER_ARG,
];

/// Every variable whose name begins with `MILLRACE_`.
pub const ALL: &[Variable] = &[
    RECORDS_TABLE,
    AUDIT_TABLE,
    DATA_BUCKET,
    OBJECTS,
    AUDIT_RETRY_QUEUE,
    RUNS_TABLE,
    TASK_QUEUE,
    HIGH_TASK_QUEUE,
    LOW_TASK_QUEUE,
    PAGE_TOKEN_KEY,
    PAGE_TOKEN_SECRET,
    EVENT_BUS,
    EVENTS_TABLE,
    EVENT_QUEUE,
    ARCHIVE_QUEUE,
    DIGEST_KEY,
    RETAIN_RUNS_DAYS,
    RETAIN_DELIVERIES_DAYS,
    RETAIN_EVENTS_DAYS,
    RETAIN_AUDIT_DAYS,
    MAX_SUBSCRIPTIONS,
    EVENT_DEAD_LETTER_QUEUE,
    SEALING_KEY,
    SERVICE_KEY,
    API_URL,
    INGEST_MAX_BODY_KB,
    INGEST_CHANNEL_RATE,
    INGEST_CONCURRENCY,
    LOCAL_TARGETS,
    HOSTS,
    COMMAND,
    LISTEN,
    PUBLIC_URL,
    TRUSTED_PROXIES,
    METRICS_LISTEN,
    TLS_CERTIFICATE,
    TLS_KEY,
    ACME_DOMAINS,
    ACME_CONTACT,
    ACME_DIRECTORY,
    ACME_ROOTS,
    IMPORT_QUEUE,
    IMPORT_BUCKETS,
    GCS_CREDENTIALS,
    GCS_CREDENTIALS_SECRET,
    IDENTITY,
    JWKS,
    TOKEN_ISSUER,
    TOKEN_AUDIENCE,
    TOKEN_SHARED_SECRET,
    CORS_ORIGINS,
    MODEL_PROVIDER,
    MODEL,
    MODEL_BASE_URL,
    MODEL_API_KEY,
    MODEL_API_KEY_SECRET,
    LOG,
    METRICS_NAMESPACE,
    KEEP_VERSIONS_DAYS,
    CRASH_AT,
    STEP_LOG,
    FAULTY_SAMPLES,
    QUERY_MEMORY_MB,
    CACHE_DIR,
    CACHE_MB,
    TMP_MB,
    IMPORT_WAIT_SECONDS,
    COMPACT_AT_SEGMENTS,
    CONSOLE_DIR,
    CONSOLE_INGEST_URL,
    INGEST_URL,
    CONSOLE_CLIENT_ID,
    CONSOLE_ISSUER,
    CONSOLE_AUDIENCE,
    CONSOLE_SCOPE,
    CONSOLE_CONNECT,
    RECORDS,
    COPIED_TABLE_MB,
];
