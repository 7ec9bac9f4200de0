//! Runs the suite of object stores over files, and over S3 through its SDK.
#![cfg(test)]

use std::sync::Arc;

use aws::S3Objects;
use embedded::files::FileObjects;
use emulators::Emulators;
use platform::objects::ObjectStore;
use tempfile::TempDir;

mod files {
    use super::*;

    async fn world() -> (Arc<dyn ObjectStore>, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let files = FileObjects::open(&folder.path().join("objects")).unwrap();
        (Arc::new(files), folder)
    }

    conformance::objects_suite!(world);
}

mod s3 {
    use super::*;

    async fn world() -> (Arc<dyn ObjectStore>, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let emulators = Emulators::start(folder.path(), &[]).await.unwrap();
        (Arc::new(S3Objects::new(&emulators.sdk())), folder)
    }

    conformance::objects_suite!(world);

    // Over files, the runner that serves the links has this test.
    conformance::objects_suite!(world: uploads);
}
