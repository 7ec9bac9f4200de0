//! The suite that every store of objects passes: files, and S3 behind its SDK.
#![cfg(test)]

mod listings;
mod suite;

use std::sync::Arc;

use aws::S3Objects;
use embedded::files::FileObjects;
use emulators::Emulators;

#[tokio::test(flavor = "multi_thread")]
async fn files_pass_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let files = FileObjects::open(&folder.path().join("objects")).unwrap();
    suite::all(Arc::new(files)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_passes_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let emulators = Emulators::start(folder.path(), &[]).await.unwrap();
    suite::all(Arc::new(S3Objects::new(&emulators.sdk()))).await;
}
