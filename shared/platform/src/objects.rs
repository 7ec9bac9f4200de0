//! Objects in S3: immutable files, written once under keys that begin with their tenant.

use std::path::Path;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::DisplayErrorContext;
use aws_sdk_s3::error::ProvideErrorMetadata as _;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use tokio::io::{AsyncWriteExt as _, BufWriter};

use crate::clock::UtcTime;
use crate::error::{Error, Result};
use crate::tenant::Tenant;

/// The bytes of a file that are read or written at a time: each time costs a change of threads.
const PIECE_BYTES: usize = 512 * 1_024;

/// The key of a project's artifact, a file that imports read. 400 for a path that could leave the project's folder.
pub fn artifact_key(tenant: &Tenant, path: &str) -> Result<String> {
    let fits =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.chars().any(char::is_control);
    if path.len() > 700 || !path.split('/').all(fits) {
        let shown: String = path.chars().take(100).collect();
        return Err(Error::invalid(format!(
            "'{shown}' is not the path of an artifact; write it as in out/sales.csv."
        )));
    }
    Ok(format!(
        "artifacts/{}/{}/{path}",
        tenant.account(),
        tenant.project()
    ))
}

/// A client of S3, for buckets of ours and of others.
pub(crate) fn client(sdk: &SdkConfig) -> Client {
    // A large object takes its time. What stalls is ended by the SDK's stalled stream protection. What is only left out here
    // would be as it is for the other services.
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .disable_operation_timeout()
        .disable_operation_attempt_timeout()
        .build();
    let config = aws_sdk_s3::config::Builder::from(sdk)
        .force_path_style(sdk.endpoint_url().is_some())
        .timeout_config(timeouts)
        .build();
    Client::from_conf(config)
}

/// An object, as a listing has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key.
    pub key: String,
    /// When it was written.
    pub modified: UtcTime,
    /// Its size.
    pub bytes: u64,
}

/// One bucket.
#[derive(Clone)]
pub struct Objects {
    client: Client,
    bucket: std::sync::Arc<str>,
}

impl Objects {
    /// The bucket of this name. An endpoint of one's own is asked by path, not by a host name for each bucket.
    pub fn connect(sdk: &SdkConfig, bucket: &str) -> Self {
        Self {
            client: client(sdk),
            bucket: bucket.into(),
        }
    }

    /// Writes an object.
    pub async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        self.put_stream(key, ByteStream::from(bytes)).await
    }

    /// Writes an object from a file.
    pub async fn put_file(&self, key: &str, path: &Path) -> Result<()> {
        let body = ByteStream::read_from().path(path).buffer_size(PIECE_BYTES);
        let body = body.build().await.map_err(Error::internal)?;
        self.put_stream(key, body).await
    }

    async fn put_stream(&self, key: &str, body: ByteStream) -> Result<()> {
        let sent = self
            .client
            .put_object()
            .bucket(&*self.bucket)
            .key(key)
            .body(body)
            .customize()
            // Its checksum is sent with it, and goes with the TLS that S3 is asked over; without TLS, at a laptop's object
            // store, the SDK would take a second hash of everything.
            .disable_payload_signing()
            .send()
            .await;
        sent.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        Ok(())
    }

    /// Reads an object whole; None where there is none.
    pub async fn find(&self, key: &str) -> Result<Option<Vec<u8>>> {
        match self.body(key).await? {
            Some(body) => Ok(Some(body.collect().await.map_err(Error::unavailable)?.to_vec())),
            None => Ok(None),
        }
    }

    /// Reads at most so many bytes from the beginning of an object; None where there is none.
    pub async fn find_beginning(&self, key: &str, max_bytes: usize) -> Result<Option<Vec<u8>>> {
        let Some(mut body) = self.body(key).await? else {
            return Ok(None);
        };
        let mut read = Vec::new();
        while read.len() < max_bytes
            && let Some(chunk) = body.try_next().await.map_err(Error::unavailable)?
        {
            read.extend_from_slice(&chunk);
        }
        read.truncate(max_bytes);
        Ok(Some(read))
    }

    /// Reads an object into a new file, at most `max_bytes` of it. False where there is none, 413 where it is larger.
    pub async fn find_to_file(&self, key: &str, path: &Path, max_bytes: u64) -> Result<bool> {
        let Some(mut body) = self.body(key).await? else {
            return Ok(false);
        };
        let file = tokio::fs::File::create(path).await.map_err(Error::internal)?;
        let mut file = BufWriter::with_capacity(PIECE_BYTES, file);
        let mut written = 0_u64;
        while let Some(chunk) = body.try_next().await.map_err(Error::unavailable)? {
            written += chunk.len() as u64;
            if written > max_bytes {
                return Err(Error::new(
                    crate::ErrorKind::PayloadTooLarge,
                    format!("The file is larger than the {max_bytes} bytes that can be read."),
                ));
            }
            file.write_all(&chunk).await.map_err(Error::internal)?;
        }
        file.flush().await.map_err(Error::internal)?;
        Ok(true)
    }

    async fn body(&self, key: &str) -> Result<Option<ByteStream>> {
        match self
            .client
            .get_object()
            .bucket(&*self.bucket)
            .key(key)
            .send()
            .await
        {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if error.code() == Some("NoSuchKey") => Ok(None),
            Err(error) => Err(Error::unavailable(DisplayErrorContext(error).to_string())),
        }
    }

    /// A link that reads an object without credentials for as long as `lifetime`, and saves it as `file_name`.
    pub async fn link(&self, key: &str, lifetime: Duration, file_name: &str) -> Result<String> {
        let request = self
            .client
            .get_object()
            .bucket(&*self.bucket)
            .key(key)
            .response_content_disposition(format!("attachment; filename=\"{file_name}\""))
            .presigned(PresigningConfig::expires_in(lifetime).map_err(Error::internal)?)
            .await
            .map_err(|error| Error::internal(DisplayErrorContext(error).to_string()))?;
        Ok(request.uri().to_owned())
    }

    /// The objects whose keys begin with `prefix`, by key.
    pub async fn list(&self, prefix: &str) -> Result<Vec<ListedObject>> {
        let request = self.client.list_objects_v2().bucket(&*self.bucket).prefix(prefix);
        let mut pages = request.into_paginator().send();
        let mut listed = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
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

    /// The folders right below a prefix that ends in a slash, such as `stores/acme/`, each with that prefix and a slash.
    pub async fn folders(&self, prefix: &str) -> Result<Vec<String>> {
        let request = self
            .client
            .list_objects_v2()
            .bucket(&*self.bucket)
            .prefix(prefix)
            .delimiter("/");
        let mut pages = request.into_paginator().send();
        let mut folders = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
            let found = page.common_prefixes().iter();
            folders.extend(found.filter_map(|folder| folder.prefix().map(str::to_owned)));
        }
        Ok(folders)
    }

    /// Removes an object; one that is gone already is no error.
    pub async fn remove(&self, key: &str) -> Result<()> {
        let sent = self
            .client
            .delete_object()
            .bucket(&*self.bucket)
            .key(key)
            .send()
            .await;
        sent.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        Ok(())
    }

    /// Whether there is an object.
    pub async fn exists(&self, key: &str) -> Result<bool> {
        match self
            .client
            .head_object()
            .bucket(&*self.bucket)
            .key(key)
            .send()
            .await
        {
            Ok(_) => Ok(true),
            Err(error)
                if error
                    .raw_response()
                    .is_some_and(|response| response.status().as_u16() == 404) =>
            {
                Ok(false)
            }
            Err(error) => Err(Error::unavailable(DisplayErrorContext(error).to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leaves_the_projects_folder() {
        let tenant = Tenant::new("acme", "demo").unwrap();
        assert_eq!(
            artifact_key(&tenant, "out/a b.csv").unwrap(),
            "artifacts/acme/demo/out/a b.csv"
        );
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "out/../../x",
            "out//x",
            "out/",
            ".",
            "a\0b",
        ] {
            assert!(artifact_key(&tenant, path).is_err(), "{path:?}");
        }
    }
}
