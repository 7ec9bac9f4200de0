//! Stores objects in S3.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::DisplayErrorContext;
use aws_sdk_s3::error::ProvideErrorMetadata as _;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use platform::objects::{ListedObject, ObjectStore, Range, UPLOAD_TYPE, UploadLink, too_large};
use platform::{Error, Result, UtcTime};
use tokio::io::{AsyncWriteExt as _, BufWriter};

use super::client;

/// Size of a file read or write, in bytes. Each one costs a switch of threads.
const PIECE_BYTES: usize = 512 * 1_024;

/// Maximum position in a range.
const MAX_PLACE: u64 = u64::MAX / 2;

#[derive(Clone)]
pub struct S3Objects {
    client: Client,
}

impl S3Objects {
    /// With a configured endpoint, requests name the bucket in the path, not in the host name.
    pub fn new(sdk: &SdkConfig) -> Self {
        Self { client: client(sdk) }
    }

    /// False if the object exists and `is_new` is set.
    async fn put_stream(&self, bucket: &str, key: &str, body: ByteStream, is_new: bool) -> Result<bool> {
        let response = self
            .client
            .put_object()
            .bucket(bucket)
            .key(key)
            .set_if_none_match(is_new.then(|| "*".to_owned()))
            .body(body)
            .customize()
            // The checksum is sent with the body, and TLS protects it on the way to S3. Without TLS, as with
            // an object store on a laptop, the SDK would hash the whole body a second time.
            .disable_payload_signing()
            .send()
            .await;
        match response {
            Ok(_) => Ok(true),
            Err(error) if is_new && error.code() == Some("PreconditionFailed") => Ok(false),
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn body(&self, bucket: &str, key: &str, range: Option<String>) -> Result<Option<ByteStream>> {
        let request = self.client.get_object().bucket(bucket).key(key).set_range(range);
        match request.send().await {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) => match error.code() {
                Some("NoSuchKey") => Ok(None),
                // The range starts after the end of the object.
                Some("InvalidRange") => Ok(Some(ByteStream::default())),
                _ => Err(unavailable(error)),
            },
        }
    }

    async fn write_to(&self, mut body: ByteStream, path: &Path, max_bytes: u64) -> Result<()> {
        let file = tokio::fs::File::create(path).await.map_err(Error::internal)?;
        let mut file = BufWriter::with_capacity(PIECE_BYTES, file);
        let mut size = 0_u64;
        while let Some(chunk) = body.try_next().await.map_err(Error::unavailable)? {
            size += chunk.len() as u64;
            if size > max_bytes {
                return Err(too_large(max_bytes));
            }
            file.write_all(&chunk).await.map_err(Error::internal)?;
        }
        file.flush().await.map_err(Error::internal)
    }
}

fn unavailable(error: impl std::error::Error) -> Error {
    Error::unavailable(DisplayErrorContext(error).to_string())
}

#[async_trait]
impl ObjectStore for S3Objects {
    async fn put(&self, bucket: &str, key: &str, bytes: Vec<u8>) -> Result<()> {
        let body = ByteStream::from(bytes);
        self.put_stream(bucket, key, body, false).await.map(drop)
    }

    async fn put_new(&self, bucket: &str, key: &str, bytes: Vec<u8>) -> Result<bool> {
        self.put_stream(bucket, key, ByteStream::from(bytes), true).await
    }

    async fn put_file(&self, bucket: &str, key: &str, path: &Path) -> Result<()> {
        let body = ByteStream::read_from().path(path).buffer_size(PIECE_BYTES);
        let body = body.build().await.map_err(Error::internal)?;
        self.put_stream(bucket, key, body, false).await.map(drop)
    }

    async fn get(&self, bucket: &str, key: &str, range: Option<Range>) -> Result<Option<Vec<u8>>> {
        let bytes = match range {
            None => None,
            // HTTP has no empty range.
            Some(Range { length: 0, .. }) => {
                return Ok(self.exists(bucket, key).await?.then(Vec::new));
            }
            Some(Range { from, length }) => {
                let last = from.saturating_add(length - 1).min(MAX_PLACE);
                Some(format!("bytes={}-{last}", from.min(MAX_PLACE)))
            }
        };
        match self.body(bucket, key, bytes).await? {
            Some(body) => Ok(Some(body.collect().await.map_err(Error::unavailable)?.to_vec())),
            None => Ok(None),
        }
    }

    async fn get_to_file(&self, bucket: &str, key: &str, path: &Path, max_bytes: u64) -> Result<bool> {
        match self.body(bucket, key, None).await? {
            Some(body) => self.write_to(body, path, max_bytes).await.map(|()| true),
            None => Ok(false),
        }
    }

    async fn exists(&self, bucket: &str, key: &str) -> Result<bool> {
        let response = self.client.head_object().bucket(bucket).key(key).send().await;
        match response {
            Ok(_) => Ok(true),
            Err(error)
                if error
                    .raw_response()
                    .is_some_and(|response| response.status().as_u16() == 404) =>
            {
                Ok(false)
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn link(&self, bucket: &str, key: &str, lifetime: Duration, file_name: &str) -> Result<String> {
        let request = self
            .client
            .get_object()
            .bucket(bucket)
            .key(key)
            .response_content_disposition(format!("attachment; filename=\"{file_name}\""))
            .presigned(PresigningConfig::expires_in(lifetime).map_err(Error::internal)?)
            .await
            .map_err(|error| Error::internal(DisplayErrorContext(error).to_string()))?;
        Ok(request.uri().to_owned())
    }

    async fn upload_link(
        &self,
        bucket: &str,
        key: &str,
        lifetime: Duration,
        bytes: u64,
    ) -> Result<UploadLink> {
        let request = self
            .client
            .put_object()
            .bucket(bucket)
            .key(key)
            .content_length(bytes.try_into().map_err(Error::internal)?)
            .content_type(UPLOAD_TYPE)
            .presigned(PresigningConfig::expires_in(lifetime).map_err(Error::internal)?)
            .await
            .map_err(|error| Error::internal(DisplayErrorContext(error).to_string()))?;
        Ok(UploadLink {
            url: request.uri().to_owned(),
            headers: headers_to_set(request.headers()),
        })
    }

    async fn list(&self, bucket: &str, prefix: &str) -> Result<Vec<ListedObject>> {
        let request = self.client.list_objects_v2().bucket(bucket).prefix(prefix);
        let mut pages = request.into_paginator().send();
        let mut listed = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(unavailable)?;
            for object in page.contents() {
                let modified = object.last_modified().and_then(|time| time.to_millis().ok());
                let modified = modified.and_then(UtcTime::from_millis);
                let (Some(key), Some(modified)) = (object.key(), modified) else {
                    return Err(Error::internal("a listed object has no key or no time"));
                };
                listed.push(ListedObject {
                    key: key.to_owned(),
                    modified,
                    bytes: object.size().and_then(|bytes| bytes.try_into().ok()).unwrap_or(0),
                });
            }
        }
        Ok(listed)
    }

    async fn folders(&self, bucket: &str, prefix: &str) -> Result<Vec<String>> {
        let request = self.client.list_objects_v2().bucket(bucket).prefix(prefix);
        let mut pages = request.delimiter("/").into_paginator().send();
        let mut folders = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(unavailable)?;
            let prefixes = page.common_prefixes().iter();
            folders.extend(prefixes.filter_map(|folder| folder.prefix().map(str::to_owned)));
        }
        Ok(folders)
    }

    async fn remove(&self, bucket: &str, key: &str) -> Result<()> {
        let response = self.client.delete_object().bucket(bucket).key(key).send().await;
        response.map_err(unavailable)?;
        Ok(())
    }
}

/// Returns the headers that an upload sets.
fn headers_to_set<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    // HTTP itself requires the length, and a browser lets no page set it. In Lambda the SDK adds the header of
    // X-Ray, which is not signed, and which the bucket's CORS rule refuses.
    let left_out = ["content-length", "x-amzn-trace-id"];
    headers
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .filter(|(name, _)| !left_out.contains(&name.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_from_a_page_sets_no_header_that_the_bucket_refuses() {
        let headers = [
            ("content-length", "9"),
            ("content-type", UPLOAD_TYPE),
            ("X-Amzn-Trace-Id", "Root=1-6b083d8e"),
        ];
        let set = headers_to_set(headers.into_iter());
        assert_eq!(
            set,
            BTreeMap::from([("content-type".to_owned(), UPLOAD_TYPE.to_owned())])
        );
    }
}
