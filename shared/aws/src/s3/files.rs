//! Downloads files from buckets of callers.

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::{DisplayErrorContext, ProvideErrorMetadata as _, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectError;
use platform::objects::remote::{Download, Place, RemoteObjects, SourceError};
use tracing::warn;

use super::client;

/// S3, read with the credentials of the service.
pub struct S3Files {
    client: Client,
}

impl S3Files {
    /// Does not connect yet.
    pub fn new(sdk: &SdkConfig) -> Self {
        Self { client: client(sdk) }
    }

    async fn fetch(&self, place: Place<'_>, download: Download<'_>) -> Result<(), SourceError> {
        let request = self.client.get_object().bucket(place.bucket).key(place.key);
        let answer = request.send().await.map_err(|error| refusal(&error))?;
        let bytes = answer
            .content_length()
            .and_then(|bytes| u64::try_from(bytes).ok());
        let mut body = answer.body;
        let mut file = download.begin(bytes).await?;
        while let Some(chunk) = body.try_next().await.map_err(|error| {
            warn!(%error, "a file of S3 broke off");
            SourceError::Failed("S3 broke off".to_owned())
        })? {
            file.write(&chunk).await?;
        }
        file.finish().await
    }
}

#[async_trait]
impl RemoteObjects for S3Files {
    async fn get_to_file(&self, place: Place<'_>, download: Download<'_>) -> Result<(), SourceError> {
        self.fetch(place, download).await
    }
}

fn refusal(error: &SdkError<GetObjectError>) -> SourceError {
    warn!(error = %DisplayErrorContext(error), "a file of S3 cannot be read");
    let status = error.raw_response().map(|answer| answer.status().as_u16());
    SourceError::Failed(match (error.code(), status) {
        (Some("NoSuchBucket"), _) => "there is no such bucket".to_owned(),
        (Some("NoSuchKey"), _) | (_, Some(404)) => "there is no such object".to_owned(),
        (_, Some(403)) => {
            "S3 does not let this service read it; let its functions read the bucket".to_owned()
        }
        (_, Some(301 | 307)) => "its bucket is in another region".to_owned(),
        (_, Some(status)) => format!("S3 answered with the status {status}"),
        (_, None) => "S3 cannot be reached".to_owned(),
    })
}
