//! Lists the known environment variables.

/// Every variable that any function reads, with its purpose.
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
        "MILLRACE_OBJECTS",
        "optional, for the local runner: files, which is the default, or s3 for the bucket of MILLRACE_DATA_BUCKET",
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
        "MILLRACE_ARCHIVE_QUEUE",
        "URL of the SQS queue of logs with records that are not archived",
    ),
    (
        "MILLRACE_DIGEST_KEY",
        "id, ARN or alias of the KMS key that signs the digests of the event log",
    ),
    (
        "MILLRACE_RETAIN_RUNS_DAYS",
        "optional: days for which workflow runs are kept after their end; default 90",
    ),
    (
        "MILLRACE_RETAIN_DELIVERIES_DAYS",
        "optional: days for which deliveries are kept after their end; default 90",
    ),
    (
        "MILLRACE_RETAIN_EVENTS_DAYS",
        "optional: days for which events are kept as records after they were archived; default 90",
    ),
    (
        "MILLRACE_RETAIN_AUDIT_DAYS",
        "optional: days for which audit records are kept as records after they were archived; default 90",
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
        "MILLRACE_SERVICE_KEY",
        "id, ARN or alias of the KMS key that signs the service tokens of workflow runs",
    ),
    (
        "MILLRACE_API_URL",
        "URL of the API's root, such as https://api.example.com/prod/api/v1, which workflow runs call",
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
        "for development: `true` lets webhooks and imports reach this machine, over plain http as well; a Lambda function refuses \
         it unless its AWS_ENDPOINT_URL is an emulator on this machine",
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
        "MILLRACE_MODEL_PROVIDER",
        "optional: where the language model is: none, bedrock (Amazon Bedrock) or openai (a server with an OpenAI-compatible \
         chat endpoint); default none",
    ),
    (
        "MILLRACE_MODEL",
        "name of the language model, such as the id of a Bedrock inference profile, or as the server of \
         MILLRACE_MODEL_BASE_URL names it",
    ),
    (
        "MILLRACE_MODEL_BASE_URL",
        "URL below which the endpoint chat/completions of the language model is, such as https://api.openai.com/v1 or \
         http://127.0.0.1:11434/v1",
    ),
    (
        "MILLRACE_MODEL_API_KEY",
        "optional: key for the server of MILLRACE_MODEL_BASE_URL; or MILLRACE_MODEL_API_KEY_SECRET",
    ),
    (
        "MILLRACE_MODEL_API_KEY_SECRET",
        "optional: name or ARN of the Secrets Manager secret with that key",
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
        "MILLRACE_IMPORT_WAIT_SECONDS",
        "optional: how long a request waits for its import, in seconds, before that goes on in the background; default 20",
    ),
    (
        "MILLRACE_COMPACT_AT_SEGMENTS",
        "optional: the small data files of a table from which on they are merged in the background; default 32",
    ),
    (
        "MILLRACE_CONSOLE_DIR",
        "optional: folder of the built console; default `console` beside the program; the local runner has no console without it",
    ),
    ("MILLRACE_CONSOLE_INGEST_URL", "ingest base URL, for the console"),
    (
        "MILLRACE_CONSOLE_CLIENT_ID",
        "optional: client id of the console at an OpenID provider; without it callers paste a token",
    ),
    (
        "MILLRACE_CONSOLE_ISSUER",
        "optional: URL of the OpenID provider that the console signs in at; default MILLRACE_TOKEN_ISSUER",
    ),
    (
        "MILLRACE_CONSOLE_SCOPE",
        "optional: scopes that the console asks for, separated by spaces; default openid",
    ),
    (
        "MILLRACE_CONSOLE_CONNECT",
        "optional: further origins that the console may send requests to, comma-separated",
    ),
    (
        "MILLRACE_RECORDS",
        "for the local runner, optional: `sqlite`, in the data directory, or `dynamodb`; default `sqlite`",
    ),
    (
        "MILLRACE_OBJECTS",
        "for the local runner, optional: `files`, in the data directory, or `s3`; default `files`",
    ),
    (
        "MILLRACE_COPIED_TABLE_MB",
        "for the local runner, optional: the largest table that queries get a faster copy of, in MiB, or 0 for none; default 512",
    ),
];
