//! Tests schedules of shards.

use super::*;

fn time(seconds: i64) -> UtcTime {
    UtcTime::from_millis(seconds * 1_000).unwrap()
}

fn schedule(changes: &[(i64, u16)]) -> ShardSchedule {
    let changes = changes.iter().map(|&(from, shards)| ShardChange {
        from: time(from),
        shards,
    });
    ShardSchedule {
        revision: 1,
        changes: changes.collect(),
    }
}

#[test]
fn without_a_change_there_is_one_shard() {
    let schedule = ShardSchedule::default();
    assert_eq!(schedule.shard_of("x", time(5)), 0);
    assert_eq!(schedule.shards_between(time(0), time(9)), 0..1);
    assert_eq!(schedule.all_shards(), 0..1);
}

#[test]
fn records_are_spread_evenly() {
    let schedule = schedule(&[(0, 10)]);
    let mut counts = [0_u32; 10];
    for number in 0..10_000 {
        let shard = schedule.shard_of(&format!("run-{number}"), time(1));
        counts[usize::from(shard)] += 1;
    }
    assert!(
        counts.iter().all(|count| (870..1_130).contains(count)),
        "{counts:?}"
    );
}

/// For any changes, every record is in a shard that a reader of its time reads.
#[test]
fn readers_ask_the_shard_of_every_record() {
    let changes = [(10, 4), (20, 16), (30, 2), (40, 1), (50, 8)];
    for count in 0..=changes.len() {
        let schedule = schedule(&changes[..count]);
        for created in 0..60 {
            for id in 0..50 {
                let shard = schedule.shard_of(&id.to_string(), time(created));
                for (from, until) in [(created, created), (0, created), (created, 60), (0, 60)] {
                    let asked = schedule.shards_between(time(from), time(until));
                    assert!(asked.contains(&shard), "{count} changes, {id} of {created}");
                }
                assert!(schedule.all_shards().contains(&shard));
            }
        }
    }
}

#[test]
fn a_range_of_few_shards_asks_no_more() {
    let schedule = schedule(&[(10, 4), (20, 16), (30, 2)]);
    assert_eq!(schedule.shards_between(time(0), time(9)), 0..1);
    assert_eq!(schedule.shards_between(time(12), time(19)), 0..4);
    assert_eq!(schedule.shards_between(time(30), time(99)), 0..2);
    assert_eq!(schedule.shards_between(time(5), time(99)), 0..16);
}

#[test]
fn a_change_moves_no_record_of_before() {
    let before = schedule(&[(10, 4)]);
    let after = schedule(&[(10, 4), (20, 16)]);
    for created in 0..20 {
        for id in 0..50 {
            let id = id.to_string();
            assert_eq!(
                before.shard_of(&id, time(created)),
                after.shard_of(&id, time(created))
            );
        }
    }
}
