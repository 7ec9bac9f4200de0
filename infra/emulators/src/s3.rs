//! Emulates S3 in memory: the operations that Millrace uses, with S3's protocol and signatures.
//!
//! An object that was never put is read from a file, `<folder>/<bucket>/<key>`, so that a test can add
//! objects from another process. Listings omit such objects.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::error_handling::HandleError;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use bytes::Bytes;
use futures::TryStreamExt as _;
use parking_lot::{Mutex, MutexGuard};
use platform::Clock;
use s3s::auth::SimpleAuth;
use s3s::dto::{
    CommonPrefix, DeleteObjectInput, DeleteObjectOutput, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output, Object, PutObjectInput, PutObjectOutput,
    StreamingBlob, Timestamp,
};
use s3s::service::S3ServiceBuilder;
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};
use tower::ServiceExt;

/// Entries per page of a listing; few, so that listings have several pages.
const PAGE: usize = 100;

#[derive(Clone)]
struct StoredObject {
    bytes: Bytes,
    modified: Timestamp,
}

impl StoredObject {
    fn now(bytes: Bytes) -> Self {
        let millis = u64::try_from(Clock::System.now().as_millis()).unwrap_or_default();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        Self {
            bytes,
            modified: modified.into(),
        }
    }
}

type Contents = BTreeMap<(String, String), StoredObject>;

/// Objects of every bucket.
#[derive(Clone)]
pub struct S3Emulator {
    contents: Arc<Mutex<Contents>>,
    folder: PathBuf,
}

impl S3Emulator {
    /// Creates an emulator whose only objects are the files below `folder`.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            contents: Arc::default(),
            folder,
        }
    }

    /// Returns the service for requests that are signed with these keys.
    pub fn routes(self, (key_id, secret): (&str, &str)) -> Router {
        let mut builder = S3ServiceBuilder::new(self);
        builder.set_auth(SimpleAuth::from_single(key_id, secret));
        let service =
            ServiceExt::<Request>::map_response(builder.build(), |response| response.map(Body::new));
        let service = HandleError::new(service, |_| async { StatusCode::INTERNAL_SERVER_ERROR });
        Router::new()
            .fallback_service(service)
            .layer(DefaultBodyLimit::disable())
    }

    fn find(&self, bucket: &str, key: &str) -> S3Result<StoredObject> {
        if let Some(object) = self.contents().get(&(bucket.to_owned(), key.to_owned())) {
            return Ok(object.clone());
        }
        // Refuse absolute paths and `..`, which lead out of the folder.
        let is_inside = |part: &str| {
            let mut components = Path::new(part).components();
            components.all(|component| matches!(component, Component::Normal(_)))
        };
        if !is_inside(bucket) || !is_inside(key) {
            return Err(s3_error!(NoSuchKey));
        }
        let contents = std::fs::read(self.folder.join(bucket).join(key));
        contents
            .map(|bytes| StoredObject::now(bytes.into()))
            .map_err(|_| s3_error!(NoSuchKey))
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock()
    }
}

fn length(bytes: &Bytes) -> Option<i64> {
    i64::try_from(bytes.len()).ok()
}

#[async_trait]
impl S3 for S3Emulator {
    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let input = request.input;
        let StoredObject { mut bytes, modified } = self.find(&input.bucket, &input.key)?;
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
        let object = self.find(&request.input.bucket, &request.input.key)?;
        Ok(S3Response::new(HeadObjectOutput {
            content_length: length(&object.bytes),
            last_modified: Some(object.modified),
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
        contents.insert(place, StoredObject::now(pieces.concat().into()));
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
        // With a delimiter there is one page: otherwise a folder would appear on each page that has one of
        // its keys.
        let most = if delimiter.is_empty() { PAGE } else { usize::MAX };
        let (mut last, mut is_truncated) = (None, false);
        let first = (bucket.clone(), prefix.clone().max(after.clone()));
        for ((_, key), object) in self
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
                    size: length(&object.bytes),
                    last_modified: Some(object.modified.clone()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        let objects = folder.path().join("objects");
        std::fs::create_dir_all(objects.join("data/a")).unwrap();
        std::fs::write(&outside, "outside").unwrap();
        std::fs::write(objects.join("data/a/b"), "inside").unwrap();
        let emulator = S3Emulator::new(objects);
        assert_eq!(emulator.find("data", "a/b").unwrap().bytes, "inside");
        for (bucket, key) in [
            ("data", outside.to_str().unwrap()),
            ("data", "../../outside"),
            ("data", "a/../../../outside"),
            ("..", "outside"),
        ] {
            assert!(emulator.find(bucket, key).is_err(), "{bucket} {key}");
        }
    }
}
