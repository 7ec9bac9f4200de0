//! Tests data stores: versions form one chain, and the head counts all of them.

use futures::future::join_all;
use lake::records::stores::{StoreRecord, StoreStatus, StoreVersion, Stores};
use platform::records::Written;
use platform::{ErrorKind, UtcTime};

use crate::{CALLERS, CHANGES, available, calm, inserted, tenant, troubled};

fn version(id: &str, parent: Option<&str>) -> StoreVersion {
    StoreVersion {
        id: id.to_owned(),
        message: "a change".to_owned(),
        schema_version: 1,
        is_snapshot: false,
        snapshot_name: None,
        created_at: UtcTime::EPOCH,
        created_by: "user:ada".to_owned(),
        parent_version_id: parent.map(str::to_owned),
        changes: Vec::new(),
    }
}

fn store() -> StoreRecord {
    StoreRecord {
        id: "store".to_owned(),
        name: "Orders".to_owned(),
        description: None,
        tags: Vec::new(),
        status: StoreStatus::Active,
        schema_version: 1,
        table_count: 0,
        total_rows: 0,
        storage_bytes: 0,
        version_id: "first".to_owned(),
        version_count: 1,
        revision: 1,
        created: UtcTime::EPOCH,
        updated: UtcTime::EPOCH,
        created_by: "user:ada".to_owned(),
        updated_by: "user:ada".to_owned(),
        last_import_at: None,
    }
}

/// Commits a version as data stores do: after a lost answer the record of the version decides.
async fn commit(stores: &Stores, id: &str, snapshot: bool) {
    let tenant = tenant();
    for attempt in 0.. {
        let mut head = available(async || stores.get(&tenant, "store").await)
            .await
            .unwrap();
        let id = format!("{id}-{attempt}");
        let mut version = version(&id, Some(&head.version_id));
        if snapshot {
            version.is_snapshot = true;
            version.snapshot_name = Some(id.clone());
        }
        head.version_id.clone_from(&id);
        head.version_count += 1;
        head.revision += 1;
        match stores.commit(&tenant, &head, &version, None).await {
            Ok(Written::Done) => return,
            Ok(Written::Refused { .. } | Written::Contended) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable);
                if available(async || stores.has_version(&tenant, "store", &id).await)
                    .await
                    .unwrap()
                {
                    return;
                }
            }
        }
    }
}

async fn story(seed: u64) {
    let (table, faults) = troubled(seed);
    let stores = Stores::new(table);
    inserted(async || stores.insert(&tenant(), &store(), &version("first", None)).await).await;
    let callers = (0..CALLERS).map(|caller| {
        let stores = stores.clone();
        async move {
            for change in 0..CHANGES {
                commit(&stores, &format!("{caller}-{change}"), change % 5 == 0).await;
            }
        }
    });
    join_all(callers).await;
    calm(&faults);

    let head = stores.get(&tenant(), "store").await.unwrap();
    let versions = stores.versions(&tenant(), "store").await.unwrap();
    let expected = CALLERS * CHANGES + 1;
    assert_eq!(
        (head.version_count, head.revision),
        (expected, expected),
        "seed {seed}"
    );
    assert_eq!(versions.len() as u64, expected, "seed {seed}");
    let mut newest_first = stores.version_rows(&tenant(), "store", None, 7);
    for version in versions.iter().rev() {
        assert_eq!(
            newest_first.next().await.unwrap().as_ref(),
            Some(version),
            "seed {seed}"
        );
    }
    assert_eq!(newest_first.next().await.unwrap(), None, "seed {seed}");
    // From the head back to the first version, each is reached once.
    let mut id = Some(head.version_id);
    let mut length = 0;
    while let Some(current) = id {
        let found = stores.version(&tenant(), "store", &current).await.unwrap();
        if let Some(name) = &found.snapshot_name {
            assert!(stores.has_snapshot(&tenant(), "store", name).await.unwrap());
        }
        id = found.parent_version_id;
        length += 1;
        assert!(length <= expected, "seed {seed}: the chain has a circle");
    }
    assert_eq!(length, expected, "seed {seed}");
    let snapshots = stores.snapshots(&tenant(), "store").await.unwrap();
    assert_eq!(snapshots.len() as u64, CALLERS * CHANGES / 5, "seed {seed}");
}

#[tokio::test]
async fn versions_form_one_chain() {
    for seed in 0..50 {
        story(seed).await;
    }
}
