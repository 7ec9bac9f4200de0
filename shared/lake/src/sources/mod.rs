//! Downloads files that a caller names: from a URL, or a bucket of S3 or Google Cloud Storage.
//!
//! A URL is requested as any caller's URL, see [`platform::outbound`]. Buckets are read with the service's
//! own credentials, so a caller reaches only what the operator opened, see [`Places`]. Errors contain neither
//! credentials nor the URL, which may be signed.

mod gcs;
mod places;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gcs::Gcs;
use places::Service;
use platform::Tenant;
use platform::config::{ConfigError, Environment, WITHOUT_AWS, variables};
use platform::deployment::Deployment;
use platform::objects::remote::{Download, RemoteObjects, SourceError};
use platform::outbound::{Outbound, OutboundError, Request};
use platform::secrets::{SecretSource, SecretStore};
use serde::{Deserialize, Serialize};

pub use places::Places;

/// A file outside the service.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "source", content = "uri")]
pub enum RemoteFile {
    /// An https URL.
    Url(String),
    /// An object in S3: `s3://<bucket>/<key>`.
    S3(String),
    /// An object in Google Cloud Storage: `gs://<bucket>/<object>`.
    Gcs(String),
}

impl fmt::Debug for RemoteFile {
    /// Omits the address, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Url(_) => "Url(…)",
            Self::S3(_) => "S3(…)",
            Self::Gcs(_) => "Gcs(…)",
        })
    }
}

/// Downloads files outside the service; cheap to clone.
#[derive(Clone)]
pub struct Sources {
    inner: Arc<Inner>,
}

struct Inner {
    outbound: Outbound,
    places: Places,
    /// None in a program that is built without AWS; it starts only without places of S3.
    s3: Option<Arc<dyn RemoteObjects>>,
    gcs: Option<Gcs>,
}

impl Inner {
    async fn url_to_file(
        &self,
        url: &str,
        download: Download<'_>,
        deadline: Duration,
    ) -> Result<(), OutboundError> {
        let request = Request::get(url, download.max_bytes, deadline);
        let mut opened = self.outbound.send(request).await?.success()?;
        opened.to_file(download.path).await
    }
}

fn failure(error: OutboundError) -> SourceError {
    match error {
        OutboundError::File(error) => SourceError::File(error),
        error => SourceError::Failed(error.to_string()),
    }
}

impl Sources {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let (secrets, s3) = (deployment.secrets(), deployment.remote_objects());
        let outbound = Outbound::from_deployment(deployment)?;
        Self::from_environment(deployment.environment(), secrets.as_ref(), s3, outbound)
    }

    /// Reads the places of `MILLRACE_IMPORT_BUCKETS`, none if it is missing, and the Google credentials of
    /// `MILLRACE_GCS_CREDENTIALS` or of the secret named in `MILLRACE_GCS_CREDENTIALS_SECRET`.
    pub fn from_environment(
        environment: &Environment,
        secrets: Option<&Arc<dyn SecretStore>>,
        s3: Option<Arc<dyn RemoteObjects>>,
        outbound: Outbound,
    ) -> Result<Self, ConfigError> {
        let given = environment
            .optional(variables::IMPORT_BUCKETS)
            .unwrap_or_default();
        let places = Places::read(given)?;
        if places.any_of(Service::S3) && s3.is_none() {
            return Err(ConfigError::without_aws(variables::IMPORT_BUCKETS, given));
        }
        let (value, name) = (variables::GCS_CREDENTIALS, variables::GCS_CREDENTIALS_SECRET);
        let key = SecretSource::from_environment(environment, secrets, value, name)?;
        if places.any_of(Service::Gcs) && key.is_none() {
            return Err(ConfigError::new(
                "The variable MILLRACE_IMPORT_BUCKETS names a place of gs://. Set MILLRACE_GCS_CREDENTIALS to the JSON key \
                 of a service account that may read it, or MILLRACE_GCS_CREDENTIALS_SECRET to the name of a secret that has one.",
            ));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                outbound,
                places,
                s3,
                gcs: key.map(Gcs::new).transpose()?,
            }),
        })
    }

    /// Checks whether a tenant may download a file, without using the network.
    pub fn check(&self, tenant: &Tenant, file: &RemoteFile) -> Result<(), SourceError> {
        match file {
            RemoteFile::Url(url) => self
                .inner
                .outbound
                .check(url)
                .map_err(|error| SourceError::Malformed(error.to_string())),
            RemoteFile::S3(uri) => self.inner.places.find(tenant, Service::S3, uri).map(drop),
            RemoteFile::Gcs(uri) => self.inner.places.find(tenant, Service::Gcs, uri).map(drop),
        }
    }

    /// Downloads up to `max_bytes` into a new file, within `deadline`.
    pub async fn get_to_file(
        &self,
        tenant: &Tenant,
        file: &RemoteFile,
        path: &Path,
        max_bytes: u64,
        deadline: Duration,
    ) -> Result<(), SourceError> {
        let inner = &*self.inner;
        let download = Download { path, max_bytes };
        let fetched = async {
            match file {
                RemoteFile::Url(url) => inner.url_to_file(url, download, deadline).await.map_err(failure),
                RemoteFile::S3(uri) => {
                    let place = inner.places.find(tenant, Service::S3, uri)?;
                    let s3 = inner.s3.as_ref();
                    let s3 = s3.ok_or_else(|| SourceError::Failed(WITHOUT_AWS.to_owned()))?;
                    s3.get_to_file(place, download).await
                }
                RemoteFile::Gcs(uri) => {
                    let place = inner.places.find(tenant, Service::Gcs, uri)?;
                    let gcs = inner.gcs.as_ref();
                    let gcs = gcs.ok_or_else(|| {
                        SourceError::Failed("there are no credentials for Google Cloud Storage".to_owned())
                    })?;
                    gcs.get_to_file(&place, download, deadline).await
                }
            }
        };
        let too_slow = || SourceError::Failed(OutboundError::TooSlow(deadline).to_string());
        tokio::time::timeout(deadline, fetched)
            .await
            .unwrap_or_else(|_| Err(too_slow()))
    }
}
