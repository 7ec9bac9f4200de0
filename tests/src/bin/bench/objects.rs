//! The runner's object store, asked directly through the AWS SDK: what the files of an import take on their way in and out,
//! whatever is done with them in between.

use std::path::Path;
use std::time::Instant;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_s3::primitives::ByteStream;
use serde_json::Value;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt as _, BufWriter};

use crate::Result;

const BUCKET: &str = "millrace-data";
/// What is written, beside what the service keeps.
const OWN_KEY: &str = "bench";

/// As much at a time as the service reads and writes.
const PIECE_BYTES: usize = 512 * 1_024;

/// The object store of a running runner.
pub struct Objects {
    client: Client,
}

impl Objects {
    /// That of the runner over `data_dir`.
    pub fn of(data_dir: &Path) -> Result<Self> {
        let endpoints: Value = serde_json::from_slice(&std::fs::read(data_dir.join("endpoints.json"))?)?;
        let objects = endpoints.get("objects").and_then(Value::as_str);
        let secret = std::fs::read_to_string(data_dir.join("keys/object-store"))?;
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(objects.ok_or("endpoints.json names no objects")?)
            .force_path_style(true)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", secret, None, None, "bench"))
            .build();
        Ok(Self {
            client: Client::from_conf(config),
        })
    }

    /// Milliseconds for an object into a file, and for a file into an object.
    pub async fn get_and_put(&self, key: &str, to: &Path, from: &Path) -> Result<f64> {
        let started = Instant::now();
        let got = self.client.get_object().bucket(BUCKET).key(key).send().await?;
        let mut file = BufWriter::with_capacity(PIECE_BYTES, File::create(to).await?);
        tokio::io::copy_buf(&mut got.body.into_async_read(), &mut file).await?;
        file.flush().await?;
        let body = ByteStream::read_from().path(from).buffer_size(PIECE_BYTES);
        let body = body.build().await?;
        let put = self.client.put_object().bucket(BUCKET).key(OWN_KEY);
        // As the service sends it.
        put.body(body)
            .customize()
            .disable_payload_signing()
            .send()
            .await?;
        let ms = started.elapsed().as_secs_f64() * 1e3;
        // A file that is written again waits for the disk; the service has a new one each time.
        tokio::fs::remove_file(to).await?;
        Ok(ms)
    }
}
