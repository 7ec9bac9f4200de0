//! Tests the keys of all tables.

use super::*;
use crate::queue::Priority;
use crate::records::logs::{LogId, LogKind};

#[test]
fn every_key_begins_with_account_and_project() {
    let tenant = Tenant::new("acme", "demo").unwrap();
    let keys = [
        prompt(&tenant, "x").pk,
        prompt_version(&tenant, "x", 1).pk,
        prompt_fork(&tenant, "x", "y").pk,
        interaction(&tenant, "x").pk,
        interaction_name(&tenant, "x", "y").pk,
        prompt_interaction(&tenant, "x", "y").pk,
        api_key(&tenant, "x").pk,
        store(&tenant, "x").pk,
        store_name(&tenant, "x").pk,
        store_version(&tenant, "x", "y").pk,
        store_snapshot(&tenant, "x", "y").pk,
        store_import(&tenant, "x", "y").pk,
        store_import_job(&tenant, "x", "y").pk,
        dashboard(&tenant, "x", "y").pk,
        dashboard_name(&tenant, "x", "y").pk,
        dashboard_version(&tenant, "x", 1).pk,
        dashboard_content(&tenant, "x", "y").pk,
        dashboard_snapshot_name(&tenant, "x", "y").pk,
        run(&tenant, "x").pk,
        run_history(&tenant, "x", 1).pk,
        run_updates(&tenant, "x").pk,
        run_update(&tenant, "x", 1).pk,
        workflow(&tenant, "x").pk,
        listing_shards(&tenant).pk,
        runs(&tenant, 0),
        runs(&tenant, 3),
        runs_by(&runs(&tenant, 3), "type", "x"),
        subscription(&tenant, "x").pk,
        subscriptions_changed(&tenant).pk,
        subscription_change(&tenant, 1).pk,
        subscription_override(&tenant, "x").pk,
        process(&tenant, "x", "y", "z").pk,
        process_definition(&tenant, "x").pk,
        process_secret(&tenant, "x").pk,
        listener(&tenant, "x", "y").pk,
        channel(&tenant, "x").pk,
        channels_changed(&tenant).pk,
        ingested(&tenant, "x", "y").pk,
        delivery(&tenant, "x").pk,
        deliveries(&tenant, 0),
        deliveries_by(&tenant, 3, "status", "x"),
        event(&tenant, "x").pk,
        audit("acme", Some("demo")),
    ];
    assert!(keys.iter().all(|pk| pk.starts_with("acme#demo#")), "{keys:?}");
}

#[test]
fn record_of_another_project_is_not_of_this_one() {
    let tenant = |account, project| Tenant::new(account, project).unwrap();
    let all = |tenant: &Tenant| {
        let log = |kind| LogId::new(tenant.account(), Some(tenant.project()), kind).head_key();
        let heads = LogKind::ALL.map(log);
        let audit = Key::new(audit(tenant.account(), Some(tenant.project())), "x");
        let [events, audits] = heads;
        [
            prompt(tenant, "x"),
            membership("x", tenant),
            events,
            audits,
            audit,
        ]
    };
    let own = tenant("acme", "demo");
    assert!(all(&own).iter().all(|key| is_of(&own, key)));
    for (account, project) in [
        ("acme", "demo2"),
        ("acme", "dem"),
        ("acme2", "demo"),
        ("acm", "demo"),
        ("demo", "acme"),
    ] {
        let other = tenant(account, project);
        assert!(!all(&other).iter().any(|key| is_of(&own, key)), "{other}");
    }
    assert!(!is_of(&own, &Key::new(audit("acme", None), "demo#x")));
}

#[test]
fn a_runs_key_names_the_run() {
    let tenant = Tenant::new("acme", "demo").unwrap();
    let pk = run(&tenant, "x").pk;
    assert_eq!(run_of(&pk), Some((tenant.clone(), "x")));
    assert_eq!(run_of(&store(&tenant, "x").pk), None);
}

#[test]
fn due_work_is_spread_evenly() {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut counts = std::collections::BTreeMap::<_, u32>::new();
    for _ in 0..64_000 {
        let shard = DueKind::Runs(Priority::Normal).shard_of(&crate::ids::new_id(now));
        *counts.entry(shard).or_default() += 1;
    }
    let all: Vec<_> = DueKind::Runs(Priority::Normal).shards().collect();
    assert!(all.iter().all(|shard| counts.contains_key(shard)));
    assert_eq!(counts.len(), all.len());
    // 1,000 on average; a random spread is within six standard deviations of it.
    assert!(
        counts.values().all(|count| (810..1_190).contains(count)),
        "{counts:?}"
    );
}

/// DynamoDB's documented limit: 1,000 write units a second for each partition, those of indexes too. An event
/// with a webhook writes to the index when it is stored and matched; its run, when it starts, begins the
/// attempt, and ends.
#[test]
fn no_partition_of_due_work_is_at_its_limit_with_10_000_events_a_second() {
    let start: UtcTime = "2026-01-01T00:00:00Z".parse().unwrap();
    for second in 0..5 {
        let mut writes = std::collections::BTreeMap::<_, u32>::new();
        for event in 0..10_000_u64 {
            let now = start.plus_ms(second * 1_000 + event / 10);
            *writes
                .entry(DueKind::Events.shard_of(&crate::ids::new_id(now)))
                .or_default() += 2;
            *writes
                .entry(DueKind::Runs(Priority::Normal).shard_of(&crate::ids::new_id(now)))
                .or_default() += 3;
        }
        assert!(writes.values().all(|units| *units < 1_000), "{writes:?}");
    }
}

#[test]
fn partition_is_of_one_kind() {
    for kind in [
        DueKind::Events,
        DueKind::EventBatches,
        DueKind::Runs(Priority::High),
        DueKind::Runs(Priority::Normal),
        DueKind::Runs(Priority::Low),
        DueKind::RunRemovals,
    ] {
        for other in [
            DueKind::Events,
            DueKind::EventBatches,
            DueKind::Runs(Priority::High),
            DueKind::Runs(Priority::Normal),
            DueKind::Runs(Priority::Low),
            DueKind::RunRemovals,
        ] {
            assert!(other.shards().all(|shard| kind.has(&shard) == (kind == other)));
        }
        assert!(!kind.has(EVENT_REMOVALS) && !kind.has("imports"));
    }
}

#[test]
fn versions_sort_as_numbers() {
    let tenant = Tenant::new("acme", "demo").unwrap();
    assert!(prompt_version(&tenant, "x", 9).sk < prompt_version(&tenant, "x", 10).sk);
}

/// Types, documents and statuses are any text, and one may look like the name of a shard.
#[test]
fn a_shard_is_no_other_listing() {
    let tenant = Tenant::new("acme", "demo").unwrap();
    let mut seen = std::collections::HashSet::new();
    for shard in [0, 1, 11] {
        assert!(seen.insert(runs(&tenant, shard)));
        for value in ["a", "a.1", "a#.1", "1", ".1"] {
            assert!(
                seen.insert(runs_by(&runs(&tenant, shard), "type", value)),
                "{shard} {value}"
            );
        }
    }
    assert_eq!(runs(&tenant, 0), "acme#demo#runs");
    assert_eq!(runs_by(&runs(&tenant, 2), "type", "a"), "acme#demo#runs.2#type#a");
}
