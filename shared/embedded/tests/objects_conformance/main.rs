//! The suite that every store of objects passes: files, and S3 behind its SDK.
#![cfg(test)]

mod listings;
#[expect(dead_code, reason = "the black-box suite uses the rest of it")]
#[path = "../../../../tests/src/object_store.rs"]
mod object_store;
mod suite;

use std::sync::Arc;

use embedded::files::FileObjects;
use object_store::{ObjectStore, SECRET_KEY};
use platform::aws::{Keys, sdk_config_for};
use platform::config::Secret;
use platform::objects::S3Objects;

#[tokio::test(flavor = "multi_thread")]
async fn files_pass_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let files = FileObjects::open(&folder.path().join("objects")).unwrap();
    suite::all(Arc::new(files)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_passes_the_suite() {
    let server = ObjectStore::start().await;
    let sdk = sdk_config_for(server.endpoint(), Keys::signing(&Secret::new(SECRET_KEY)));
    suite::all(Arc::new(S3Objects::new(&sdk))).await;
}
