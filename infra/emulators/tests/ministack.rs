//! Runs the conformance suites over the AWS adapters and MiniStack, which `make test-ministack` starts.
//! Without `MINISTACK_ENDPOINT` each test passes at once.
#![cfg(test)]

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use aws::{DynamoDb, Keys, S3Objects, SdkConfig, create_table, sdk_config_for};
use conformance::objects::BUCKETS;
use conformance::{Gap, Subject, Tables};
use futures::FutureExt as _;
use platform::config::Secret;
use platform::objects::ObjectStore;

#[expect(
    clippy::disallowed_methods,
    reason = "where the emulator is, is said when it is run"
)]
fn sdk() -> Option<SdkConfig> {
    let endpoint = std::env::var("MINISTACK_ENDPOINT").ok()?;
    Some(sdk_config_for(&endpoint, Keys::signing(&Secret::new("test"))))
}

/// Makes a test of each topic. `$world` returns the subject of the test. A topic with a reason is one where
/// MiniStack differs from AWS; its test fails once MiniStack behaves as AWS does.
macro_rules! topics {
    ($suite:ident, $world:ident: $($topic:ident),+ $(; $($different:ident = $reason:literal);+)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $topic() {
                if let Some(subject) = $world().await {
                    conformance::$suite::$topic(&subject).await;
                }
            }
        )+
        $($(
            #[tokio::test(flavor = "multi_thread")]
            async fn $different() {
                if let Some(subject) = $world().await {
                    let topic = AssertUnwindSafe(conformance::$suite::$different(&subject));
                    assert!(topic.catch_unwind().await.is_err(), "MiniStack is now as AWS here: {}", $reason);
                }
            }
        )+)?
    };
}

mod records {
    use super::*;

    async fn world() -> Option<Subject> {
        let (sdk, tables) = (sdk()?, Tables::named());
        for (name, kind) in tables.kinds() {
            create_table(&sdk, name, kind).await.unwrap();
        }
        // MiniStack accepts index keys of more than 2,048 or 1,024 bytes.
        let gaps = [Gap::IndexKeyLength];
        Some(Subject::new(Arc::new(DynamoDb::new(&sdk)), tables).lacking(&gaps))
    }

    topics! {
        records, world: add, conditions, counts, due, expiry, index_pages, items, keys, listed, pages, scans,
        transaction_limits, transactions;
        limits = "a key that is too long is taken";
        updates = "an amount is added to, and a list appended to, what is of another type";
        values = "an attribute without a name is taken"
    }
}

mod objects {
    use super::*;

    async fn world() -> Option<Arc<dyn ObjectStore>> {
        let sdk = sdk()?;
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        for bucket in BUCKETS {
            let url = format!("{}/{bucket}", sdk.endpoint_url().unwrap());
            client.put(url).send().await.unwrap();
        }
        Some(Arc::new(S3Objects::new(&sdk)))
    }

    topics! {
        objects, world: buckets, files, folder_races, folders, found, keys, listings, new_object_races, new_objects,
        ranges, writers;
        refused_keys = "a key that is too long is taken"
    }
}
