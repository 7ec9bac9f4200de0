//! Makes links by which a client uploads a file for an import.

use platform::objects::{UploadLink, artifact_key};
use platform::{Result, Tenant};

use super::{DataStores, LINK_LIFETIME, MAX_BACKGROUND_INPUT_BYTES};

/// Largest file that is uploaded, in bytes: what an import reads. A single write of S3 takes 5 GiB.
pub const MAX_UPLOAD_BYTES: u64 = MAX_BACKGROUND_INPUT_BYTES;

/// A place for a file that an import will read.
pub struct Upload {
    pub link: UploadLink,
    /// Path among the project's artifacts.
    pub path: String,
}

impl DataStores {
    /// Returns a link that writes a file of this name and size, valid for [`LINK_LIFETIME`]. The file has a
    /// folder of its own. Fails with 404 if the store is missing or archived.
    pub async fn upload(
        &self,
        tenant: &Tenant,
        store: &str,
        (id, name): (&str, &str),
        bytes: u64,
    ) -> Result<Upload> {
        self.inner.records.get(tenant, store).await?;
        let path = format!("uploads/{id}/{name}");
        let key = artifact_key(tenant, &path)?;
        let link = self.inner.objects.upload_link(&key, LINK_LIFETIME, bytes).await?;
        Ok(Upload { link, path })
    }
}
