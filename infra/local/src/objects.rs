//! Chooses where objects are: in files of the data directory, or in a bucket of S3.

use std::sync::Arc;

use embedded::files::{FileObjects, Links};
use platform::Clock;
use platform::config::{ConfigError, Environment, Secret};
use platform::objects::{ObjectStore, Objects};

use crate::cloud::Cloud;
use crate::data_dir::DataDir;
use crate::layers::{Bare, Layers};
use crate::services::{broken, secret};

#[derive(Clone)]
pub enum LocalObjects {
    /// In the folder `objects` of the data directory.
    Files {
        files: FileObjects,
        /// Signs links; kept in the data directory.
        link_key: Secret,
        layers: Arc<dyn Layers>,
    },
    /// In one bucket of S3, whatever bucket name is requested.
    S3(Objects),
}

impl LocalObjects {
    /// Opens the objects that `MILLRACE_OBJECTS` selects.
    pub fn open(data: &DataDir, environment: &Environment) -> Result<Self, ConfigError> {
        match environment.optional("MILLRACE_OBJECTS").unwrap_or("files") {
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
                let bucket = environment.required("MILLRACE_DATA_BUCKET")?;
                Ok(Self::S3(Cloud::from_environment().bucket(&bucket)?))
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
            Self::S3(objects) => Self::S3(objects),
        }
    }

    /// Returns the same objects, with links that lead to the runner at `origin`.
    #[must_use]
    pub fn with_links(&self, origin: &str, clock: &Clock) -> Self {
        match self {
            Self::Files {
                files,
                link_key,
                layers,
            } => Self::Files {
                files: files.with_links(Links::new(origin, link_key.clone(), clock.clone())),
                link_key: link_key.clone(),
                layers: Arc::clone(layers),
            },
            Self::S3(objects) => Self::S3(objects.clone()),
        }
    }

    /// Returns a bucket. In S3 it is the configured bucket, whatever the name.
    pub fn bucket(&self, name: &str) -> Objects {
        match self {
            Self::Files { files, layers, .. } => {
                let store: Arc<dyn ObjectStore> = Arc::new(files.clone());
                Objects::new(layers.objects(store), name)
            }
            Self::S3(objects) => objects.clone(),
        }
    }
}
