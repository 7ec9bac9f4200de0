//! Objects as files, also those with long keys.
//!
//! The object store that this stands before keeps beside each object a file whose name holds the object's whole key, and a
//! file name ends at 255 bytes. A long key is therefore kept under its SHA-256, and beside it what it is, for listings.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use bytes::BytesMut;
use futures::stream;
use s3s::dto::{
    CommonPrefix, DeleteObjectInput, DeleteObjectOutput, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output, Object, PutObjectInput, PutObjectOutput,
    StreamingBlob,
};
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};
use s3s_fs::FileSystem;
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

/// Longest key that is kept as it is, in bytes: its base64, the bucket's and the rest of the name stay below 255.
const MAX_KEY_BYTES: usize = 120;

/// The bytes of a file that are read at a time.
const PIECE_BYTES: usize = 512 * 1_024;

/// Where long keys are kept.
const LONG: &str = "long/";

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

    /// Where the names of a bucket's long keys are, by their hashes.
    fn names(&self, bucket: &str) -> PathBuf {
        self.root.join(format!("{bucket}-long-names"))
    }

    /// The long keys that begin with `prefix`, and their files.
    fn long_keys(&self, bucket: &str, prefix: &str) -> io::Result<Vec<(String, Metadata)>> {
        let mut found = Vec::new();
        let names = match fs::read_dir(self.names(bucket)) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            Err(error) => return Err(error),
        };
        for name in names {
            let key = fs::read_to_string(name?.path())?;
            if !key.starts_with(prefix) {
                continue;
            }
            // A name is written before its object.
            if let Ok(file) = fs::metadata(self.root.join(bucket).join(short(key.clone()))) {
                found.push((key, file));
            }
        }
        Ok(found)
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
        format!("{LONG}{}", hex::encode(Sha256::digest(key.as_bytes())))
    }
}

/// What a file holds, in pieces that are large enough for a large file to be read fast.
fn body(file: File) -> StreamingBlob {
    StreamingBlob::wrap(stream::try_unfold(file, |mut file| async {
        let mut piece = BytesMut::with_capacity(PIECE_BYTES);
        let read = file.read_buf(&mut piece).await?;
        Ok::<_, io::Error>((read > 0).then(|| (piece.freeze(), file)))
    }))
}

/// Adds objects to the last page of a listing, behind those that are in its order: nobody here relies on that.
fn add(page: &mut ListObjectsV2Output, keys: Vec<(String, Metadata)>, prefix: &str, delimiter: Option<&str>) {
    let (mut objects, mut folders) = (Vec::new(), BTreeSet::new());
    for (key, file) in keys {
        let below = key.get(prefix.len()..).unwrap_or_default();
        match delimiter.and_then(|delimiter| below.split_once(delimiter).map(|parts| (parts.0, delimiter))) {
            Some((folder, delimiter)) => {
                folders.insert(format!("{prefix}{folder}{delimiter}"));
            }
            None => objects.push(Object {
                size: i64::try_from(file.len()).ok(),
                last_modified: file.modified().ok().map(Into::into),
                key: Some(key),
                ..Object::default()
            }),
        }
    }
    let known = page.common_prefixes.get_or_insert_default();
    folders.retain(|folder| known.iter().all(|known| known.prefix.as_ref() != Some(folder)));
    known.extend(
        folders
            .into_iter()
            .map(|folder| CommonPrefix { prefix: Some(folder) }),
    );
    page.contents.get_or_insert_default().extend(objects);
}

#[async_trait]
impl S3 for ObjectFiles {
    async fn get_object(
        &self,
        mut request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        request.input.key = short(request.input.key);
        let (bucket, key) = (&request.input.bucket, &request.input.key);
        self.check(bucket, key)?;
        let is_whole = request.input.range.is_none();
        let file = File::open(self.root.join(bucket).join(key)).await;
        let mut answer = self.files.get_object(request).await?;
        if let (Ok(file), true) = (file, is_whole) {
            let bytes = file.metadata().await.map_err(S3Error::internal_error)?.len();
            // Unless the object was replaced meanwhile.
            if answer.output.content_length == i64::try_from(bytes).ok() {
                answer.output.body = Some(body(file));
            }
        }
        Ok(answer)
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
        // How the SDK sends a body. S3 takes it out of the object's own encoding, and a client that decodes
        // would fail.
        request
            .input
            .content_encoding
            .take_if(|encoding| encoding == "aws-chunked");
        let key = std::mem::take(&mut request.input.key);
        request.input.key = short(key.clone());
        if let Some(hash) = request.input.key.strip_prefix(LONG) {
            let names = self.names(&request.input.bucket);
            fs::create_dir_all(&names).map_err(S3Error::internal_error)?;
            fs::write(names.join(hash), key).map_err(S3Error::internal_error)?;
        }
        self.files.put_object(request).await
    }

    async fn delete_object(
        &self,
        mut request: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        request.input.key = short(request.input.key);
        let name = request.input.key.strip_prefix(LONG);
        let name = name.map(|hash| self.names(&request.input.bucket).join(hash));
        let answer = self.files.delete_object(request).await?;
        if let Some(name) = name {
            let _ = fs::remove_file(name);
        }
        Ok(answer)
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let (bucket, delimiter) = (request.input.bucket.clone(), request.input.delimiter.clone());
        let prefix = request.input.prefix.clone().unwrap_or_default();
        let mut answer = self.files.list_objects_v2(request).await?;
        if answer.output.is_truncated != Some(true) {
            let long = self
                .long_keys(&bucket, &prefix)
                .map_err(S3Error::internal_error)?;
            add(&mut answer.output, long, &prefix, delimiter.as_deref());
        }
        Ok(answer)
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
