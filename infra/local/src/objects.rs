//! Chooses where objects are: in files of the data directory, or in S3.

use std::sync::Arc;

use embedded::files::{FileObjects, Links};
use platform::Clock;
use platform::config::{ConfigError, Environment, Secret, variables};
use platform::deployment::Backend;
use platform::objects::ObjectStore;

use crate::data_dir::{DataDir, broken};
use crate::layers::{Bare, Layers};
use crate::secrets::secret;

#[derive(Clone)]
pub enum LocalObjects {
    /// In the folder `objects` of the data directory.
    Files {
        files: FileObjects,
        /// Signs links; kept in the data directory.
        link_key: Secret,
        layers: Arc<dyn Layers>,
    },
    /// In the bucket `MILLRACE_DATA_BUCKET`.
    S3(Arc<dyn ObjectStore>),
}

impl LocalObjects {
    /// Opens the objects that `MILLRACE_OBJECTS` selects.
    pub(crate) fn open(
        data: &DataDir,
        environment: &Environment,
        aws: Option<&Arc<dyn Backend>>,
    ) -> Result<Self, ConfigError> {
        match environment.optional(variables::OBJECTS).unwrap_or("files") {
            "files" => {
                let folder = data.path("objects");
                let files = match data.is_ours() {
                    true => FileObjects::open(&folder),
                    false => FileObjects::beside(&folder),
                };
                Ok(Self::Files {
                    files: files.map_err(broken)?,
                    link_key: Secret::new(secret(data, "object-links")?),
                    layers: Arc::new(Bare),
                })
            }
            "s3" => {
                let aws = aws.ok_or_else(|| ConfigError::without_aws(variables::OBJECTS, "s3"))?;
                environment.required(variables::DATA_BUCKET)?;
                Ok(Self::S3(aws.objects()))
            }
            other => Err(ConfigError::new(format!(
                "The variable MILLRACE_OBJECTS is '{other}'. Set it to files or s3."
            ))),
        }
    }

    /// Returns the same objects behind these layers.
    #[must_use]
    pub fn behind(self, layers: Arc<dyn Layers>) -> Self {
        match self {
            Self::Files { files, link_key, .. } => Self::Files {
                files,
                link_key,
                layers,
            },
            Self::S3(store) => Self::S3(store),
        }
    }

    /// Returns the same objects, with links that lead to the runner at `origin`.
    #[must_use]
    pub fn with_links(self, origin: &str, clock: Clock) -> Self {
        match self {
            Self::Files {
                files,
                link_key,
                layers,
            } => Self::Files {
                files: files.with_links(Links::new(origin, link_key.clone(), clock)),
                link_key,
                layers,
            },
            Self::S3(store) => Self::S3(store),
        }
    }

    /// Returns the store of all buckets.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        match self {
            Self::Files { files, layers, .. } => layers.objects(Arc::new(files.clone())),
            Self::S3(store) => Arc::clone(store),
        }
    }
}
