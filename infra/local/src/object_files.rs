//! Objects as files, also those with long keys.
//!
//! The object store that this stands before keeps beside each object a file whose name holds the object's whole key, and a
//! file name ends at 255 bytes. A long key is therefore kept under its SHA-256.

use std::path::PathBuf;

use async_trait::async_trait;
use s3s::dto::{
    GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, PutObjectInput, PutObjectOutput,
};
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};
use s3s_fs::FileSystem;
use sha2::{Digest as _, Sha256};

/// Longest key that is kept as it is, in bytes: its base64, the bucket's and the rest of the name stay below 255.
const MAX_KEY_BYTES: usize = 120;

/// The operations that Millrace uses, over files.
pub struct ObjectFiles {
    files: FileSystem,
    root: PathBuf,
}

impl ObjectFiles {
    /// Over an object store of files below `root`.
    pub fn new(files: FileSystem, root: PathBuf) -> Self {
        Self { files, root }
    }

    /// A key that is a folder of files is no object.
    fn check(&self, bucket: &str, key: &str) -> S3Result<()> {
        if self.root.join(bucket).join(key).is_dir() {
            return Err(s3_error!(NoSuchKey));
        }
        Ok(())
    }
}

fn short(key: String) -> String {
    if key.len() <= MAX_KEY_BYTES {
        key
    } else {
        format!("long/{}", hex::encode(Sha256::digest(key.as_bytes())))
    }
}

#[async_trait]
impl S3 for ObjectFiles {
    async fn get_object(
        &self,
        mut request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        request.input.key = short(request.input.key);
        self.check(&request.input.bucket, &request.input.key)?;
        self.files.get_object(request).await
    }

    async fn head_object(
        &self,
        mut request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        request.input.key = short(request.input.key);
        self.check(&request.input.bucket, &request.input.key)?;
        self.files.head_object(request).await
    }

    async fn put_object(
        &self,
        mut request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        request.input.key = short(request.input.key);
        self.files.put_object(request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_keys_change() {
        assert_eq!(
            short("stores/acme/demo/x.json".to_owned()),
            "stores/acme/demo/x.json"
        );
        let long = short("k".repeat(900));
        assert!(long.starts_with("long/") && long.len() == 69, "{long}");
        assert_ne!(long, short("k".repeat(901)));
    }
}
