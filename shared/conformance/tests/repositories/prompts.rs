//! Tests prompt templates: no update is lost or executed twice, version numbers have no gaps, each fork is
//! linked once, and at most one version is published.

use std::collections::BTreeMap;

use futures::future::join_all;
use platform::records::Written;
use platform::{ErrorKind, UtcTime};
use prompts::records::prompts::{ContentType, PromptRecord, PromptStatus, Prompts};

use crate::{CALLERS, CHANGES, available, calm, inserted, tenant, troubled};

fn prompt(id: &str) -> PromptRecord {
    PromptRecord {
        id: id.to_owned(),
        name: "name".to_owned(),
        role: "user".to_owned(),
        status: PromptStatus::Draft,
        version: 1,
        description: None,
        content_type: ContentType::Text,
        content: "first".to_owned(),
        test_data: None,
        input_schema: None,
        tags: Vec::new(),
        parent: None,
        created_by: "user:ada".to_owned(),
        updated_by: "user:ada".to_owned(),
        created_at: UtcTime::EPOCH,
        updated_at: UtcTime::EPOCH,
        message: None,
        published_version: 0,
        revision: 0,
    }
}

/// Creates a version with this content. After a lost answer the caller checks whether the version is its own.
async fn update(prompts: &Prompts, id: &str, content: &str) {
    let tenant = tenant();
    loop {
        let mut next = available(async || prompts.get(&tenant, id).await).await.unwrap();
        next.version += 1;
        next.status = PromptStatus::Draft;
        next.content = content.to_owned();
        match prompts.save(&tenant, &mut next).await {
            Ok(Written::Done) => return,
            Ok(Written::Refused { .. } | Written::Contended) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable);
                let version = async || prompts.version(&tenant, id, Some(next.version)).await;
                match available(version).await {
                    Ok(found) if found.content == content => return,
                    Ok(_) => {}
                    Err(missing) => assert_eq!(missing.kind(), ErrorKind::NotFound),
                }
            }
        }
    }
}

async fn fork(prompts: &Prompts, parent: &str, id: &str) {
    let tenant = tenant();
    let fork = PromptRecord {
        parent: Some(parent.to_owned()),
        ..prompt(id)
    };
    inserted(async || prompts.insert_fork(&tenant, &tenant, &fork).await).await;
}

async fn story(seed: u64) {
    let (table, faults) = troubled(seed);
    let prompts = Prompts::new(table);
    inserted(async || prompts.insert(&tenant(), &prompt("parent")).await).await;
    let callers = (0..CALLERS).map(|caller| {
        let prompts = prompts.clone();
        async move {
            for change in 0..CHANGES {
                update(&prompts, "parent", &format!("{caller} {change}")).await;
                if change % 5 == 0 {
                    fork(&prompts, "parent", &format!("fork-{caller}-{change}")).await;
                }
                if change % 3 == caller % 3 {
                    // The first version, and versions that are the newest for a moment.
                    let version = (change % 2 == 0).then_some(1);
                    let publish = async || {
                        prompts
                            .publish(&tenant(), "parent", version, UtcTime::EPOCH)
                            .await
                    };
                    available(publish).await.unwrap();
                }
            }
        }
    });
    join_all(callers).await;
    calm(&faults);

    let head = prompts.get(&tenant(), "parent").await.unwrap();
    let mut rows = prompts.versions(&tenant(), "parent", None, 7);
    let mut versions = Vec::new();
    while let Some(version) = rows.next().await.unwrap() {
        versions.push(version);
    }
    assert_eq!(versions.first(), Some(&head), "seed {seed}");
    let published = versions
        .iter()
        .filter(|version| version.status == PromptStatus::Published);
    let published: Vec<_> = published.map(|version| version.version).collect();
    assert_eq!(published, [head.published_version], "seed {seed}");
    versions.reverse();
    let numbers: Vec<_> = versions.iter().map(|version| version.version).collect();
    let expected: Vec<_> = (1..=CALLERS * CHANGES + 1).collect();
    assert_eq!(numbers, expected, "seed {seed}: an update is lost or done twice");
    // The updates of one caller keep their order.
    let mut next = BTreeMap::new();
    for version in &versions[1..] {
        let (caller, change) = version.content.split_once(' ').unwrap();
        let next: &mut u64 = next.entry(caller.to_owned()).or_default();
        assert_eq!(change, next.to_string(), "seed {seed}: caller {caller}");
        *next += 1;
    }

    let mut forks = prompts.forks(&tenant(), "parent", None, 3);
    let mut found = Vec::new();
    while let Some(fork) = forks.next().await.unwrap() {
        assert_eq!(fork.parent.as_deref(), Some("parent"));
        found.push(fork.id);
    }
    let expected = (0..CALLERS).flat_map(|caller| {
        (0..CHANGES)
            .step_by(5)
            .map(move |change| format!("fork-{caller}-{change}"))
    });
    let mut expected: Vec<_> = expected.collect();
    expected.sort();
    assert_eq!(found, expected, "seed {seed}");
    assert_eq!(prompts.list(&tenant()).await.unwrap().len(), expected.len() + 1);
}

#[tokio::test]
async fn updates_and_forks_happen_once() {
    for seed in 0..50 {
        story(seed).await;
    }
}
