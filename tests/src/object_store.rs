//! An S3 in memory: the operations that Millrace uses, over the protocol and with the signatures of S3.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::error_handling::HandleError;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use bytes::Bytes;
use futures::TryStreamExt as _;
use s3s::auth::SimpleAuth;
use s3s::dto::{
    CommonPrefix, DeleteObjectInput, DeleteObjectOutput, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output, Object, PutObjectInput, PutObjectOutput,
    StreamingBlob, Timestamp,
};
use s3s::service::S3ServiceBuilder;
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};
use tokio::net::TcpListener;
use tower::ServiceExt;

/// Entries of a page of a listing: few, so that listings have pages.
const PAGE: usize = 100;

/// Id of the key that requests are signed with.
pub const KEY_ID: &str = "local";
/// The key that requests are signed with.
pub const SECRET_KEY: &str = "the secret key of an object store of tests";

#[derive(Clone)]
struct Stored {
    bytes: Bytes,
    modified: Timestamp,
}

impl Stored {
    #[expect(clippy::disallowed_methods, reason = "S3 has a clock of its own")]
    fn now(bytes: Bytes) -> Self {
        Self {
            bytes,
            modified: SystemTime::now().into(),
        }
    }
}

/// By bucket and key. Every bucket is there.
type Contents = BTreeMap<(String, String), Stored>;

/// An object store, until it is dropped.
#[derive(Clone)]
pub struct ObjectStore {
    contents: Arc<Mutex<Contents>>,
    endpoint: String,
}

impl ObjectStore {
    /// An empty one.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let store = Self {
            contents: Arc::default(),
            endpoint: format!("http://{address}"),
        };
        let mut builder = S3ServiceBuilder::new(store.clone());
        builder.set_auth(SimpleAuth::from_single(KEY_ID, SECRET_KEY));
        let service =
            ServiceExt::<Request>::map_response(builder.build(), |response| response.map(Body::new));
        let service = HandleError::new(service, |_| async { StatusCode::INTERNAL_SERVER_ERROR });
        let router = Router::new()
            .fallback_service(service)
            .layer(DefaultBodyLimit::disable());
        tokio::spawn(async move { axum::serve(listener, router).await });
        store
    }

    /// Where it answers.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// What a process needs to reach it.
    pub fn variables(&self) -> [(&'static str, &str); 3] {
        [
            ("AWS_ENDPOINT_URL", &self.endpoint),
            ("AWS_ACCESS_KEY_ID", KEY_ID),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
        ]
    }

    /// The same for a runner, which then keeps its own objects here.
    pub fn variables_of_runner(&self) -> [(&'static str, &str); 5] {
        let [endpoint, id, key] = self.variables();
        let bucket = ("MILLRACE_DATA_BUCKET", "millrace-data");
        [("MILLRACE_OBJECTS", "s3"), bucket, endpoint, id, key]
    }

    /// Writes an object, as another program does.
    pub fn put(&self, bucket: &str, key: &str, bytes: impl Into<Bytes>) {
        let place = (bucket.to_owned(), key.to_owned());
        self.contents().insert(place, Stored::now(bytes.into()));
    }

    fn find(&self, bucket: &str, key: &str) -> S3Result<Stored> {
        let found = self.contents().get(&(bucket.to_owned(), key.to_owned())).cloned();
        found.ok_or_else(|| s3_error!(NoSuchKey))
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn length(bytes: &Bytes) -> Option<i64> {
    i64::try_from(bytes.len()).ok()
}

#[async_trait]
impl S3 for ObjectStore {
    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let input = request.input;
        let Stored { mut bytes, modified } = self.find(&input.bucket, &input.key)?;
        let mut content_range = None;
        if let Some(range) = input.range {
            let whole = bytes.len() as u64;
            let part = range.check(whole).map_err(|_| s3_error!(InvalidRange))?;
            content_range = Some(format!("bytes {}-{}/{whole}", part.start, part.end - 1));
            let place = |at| usize::try_from(at).map_err(S3Error::internal_error);
            bytes = bytes.slice(place(part.start)?..place(part.end)?);
        }
        Ok(S3Response::new(GetObjectOutput {
            content_length: length(&bytes),
            content_range,
            last_modified: Some(modified),
            content_disposition: input.response_content_disposition,
            body: Some(StreamingBlob::from(s3s::Body::from(bytes))),
            ..GetObjectOutput::default()
        }))
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        let found = self.find(&request.input.bucket, &request.input.key)?;
        Ok(S3Response::new(HeadObjectOutput {
            content_length: length(&found.bytes),
            last_modified: Some(found.modified),
            ..HeadObjectOutput::default()
        }))
    }

    async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let input = request.input;
        let body = input.body.ok_or_else(|| s3_error!(IncompleteBody))?;
        let pieces: Result<Vec<Bytes>, _> = body.try_collect().await;
        let pieces = pieces.map_err(|_| s3_error!(IncompleteBody))?;
        let place = (input.bucket, input.key);
        let mut contents = self.contents();
        if input.if_none_match.is_some() && contents.contains_key(&place) {
            return Err(s3_error!(PreconditionFailed));
        }
        contents.insert(place, Stored::now(pieces.concat().into()));
        Ok(S3Response::new(PutObjectOutput::default()))
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        let input = request.input;
        self.contents().remove(&(input.bucket, input.key));
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = request.input;
        let (bucket, prefix) = (input.bucket, input.prefix.unwrap_or_default());
        let delimiter = input.delimiter.unwrap_or_default();
        let after = input.continuation_token.unwrap_or_default();
        let (mut objects, mut folders) = (Vec::new(), BTreeSet::new());
        // A folder would be on each page that one of its keys is on.
        let most = if delimiter.is_empty() { PAGE } else { usize::MAX };
        let (mut last, mut is_truncated) = (None, false);
        let first = (bucket.clone(), prefix.clone().max(after.clone()));
        for ((_, key), stored) in self
            .contents()
            .range((Bound::Included(first), Bound::Unbounded))
            .take_while(|((of, key), _)| *of == bucket && key.starts_with(&prefix))
            .filter(|((_, key), _)| *key > after)
        {
            if objects.len() == most {
                is_truncated = true;
                break;
            }
            last = Some(key.clone());
            let below = key.get(prefix.len()..).unwrap_or_default();
            match below.split_once(&*delimiter).filter(|_| !delimiter.is_empty()) {
                Some((folder, _)) => {
                    folders.insert(format!("{prefix}{folder}{delimiter}"));
                }
                None => objects.push(Object {
                    key: Some(key.clone()),
                    size: length(&stored.bytes),
                    last_modified: Some(stored.modified.clone()),
                    ..Object::default()
                }),
            }
        }
        let folders = folders
            .into_iter()
            .map(|folder| CommonPrefix { prefix: Some(folder) });
        Ok(S3Response::new(ListObjectsV2Output {
            contents: Some(objects),
            common_prefixes: Some(folders.collect()),
            is_truncated: Some(is_truncated),
            next_continuation_token: last.filter(|_| is_truncated),
            ..ListObjectsV2Output::default()
        }))
    }
}
