//! Downloads files from Google Cloud Storage.
//!
//! The crate `object_store` gets tokens for the service account, retries failures on Google's side, and
//! resumes a broken body with a range request.

use std::time::Duration;

use futures::StreamExt as _;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as ObjectPath;
use object_store::{BackoffConfig, ClientOptions, Error as StoreError, ObjectStoreExt as _, RetryConfig};
use tracing::{error, warn};

use super::{Download, Place, SourceError};
use crate::config::{ConfigError, Secret};
use crate::secrets::SecretSource;

/// Google Cloud Storage, read as a service account.
pub(super) struct Gcs {
    key: SecretSource,
}

impl Gcs {
    /// `key` is the JSON key of the service account.
    pub(super) fn new(key: SecretSource) -> Result<Self, ConfigError> {
        // The cause may quote the key, so it is left out.
        if key
            .value()
            .is_some_and(|key| builder(key, "any").build().is_err())
        {
            return Err(ConfigError::new(
                "The variable MILLRACE_GCS_CREDENTIALS is not the JSON key of a Google service account. Set it to the content \
                 of the key file.",
            ));
        }
        Ok(Self { key })
    }

    pub(super) async fn get_to_file(
        &self,
        place: &Place<'_>,
        download: Download<'_>,
    ) -> Result<(), SourceError> {
        let key = self.key.versions().await.map_err(|cause| {
            error!(%cause, "the Google credentials cannot be fetched");
            SourceError::Failed("the credentials for Google Cloud Storage cannot be fetched".to_owned())
        })?;
        let store = builder(&key.current, place.bucket).build().map_err(|_| {
            error!("the secret with the Google credentials is not the JSON key of a service account");
            SourceError::Failed("the credentials for Google Cloud Storage are not valid".to_owned())
        })?;
        let path = ObjectPath::parse(place.key)
            .map_err(|_| SourceError::Malformed("it does not name an object".to_owned()))?;
        let object = store.get(&path).await.map_err(refusal)?;
        let mut file = download.begin(Some(object.meta.size)).await?;
        let mut body = object.into_stream();
        while let Some(chunk) = body.next().await {
            file.write(&chunk.map_err(refusal)?).await?;
        }
        file.finish().await
    }
}

fn builder(key: &Secret, bucket: &str) -> GoogleCloudStorageBuilder {
    let client = ClientOptions::new()
        // For a stand-in that the key names; Google's own address is https.
        .with_allow_http(true)
        .with_connect_timeout(Duration::from_secs(10))
        // The whole download has a deadline.
        .with_timeout_disabled();
    let retry = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: 5,
        retry_timeout: Duration::from_secs(60),
    };
    GoogleCloudStorageBuilder::new()
        .with_bucket_name(bucket)
        .with_service_account_key(key.expose())
        .with_client_options(client)
        .with_retry(retry)
}

fn refusal(error: StoreError) -> SourceError {
    warn!(%error, "a file of Google Cloud Storage cannot be read");
    SourceError::Failed(
        match error {
            StoreError::NotFound { .. } => "there is no such object",
            StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
                "Google Cloud Storage does not let this service read it; let its service account read the bucket"
            }
            _ => "Google Cloud Storage cannot be reached, or broke off",
        }
        .to_owned(),
    )
}
