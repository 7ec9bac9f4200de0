//! Tests object stores, queues and clocks with faults: the effect of each fault, and that a seed repeats
//! them.
#![cfg(test)]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use conformance::faults::{
    Counts, Faults, FaultyBus, FaultyObjects, FaultyQueue, MessageCounts, MessageRates, ObjectCounts,
    ObjectRates, Rates, SLOWEST,
};
use embedded::files::FileObjects;
use platform::bus::Bus;
use platform::objects::Objects;
use platform::queue::{Delivery, Queue};
use platform::{Clock, ErrorKind, Result, UtcTime};
use tempfile::TempDir;

struct World {
    folder: TempDir,
    /// The actual state.
    truth: Objects,
    objects: Objects,
    faults: Faults,
}

impl World {
    fn new(rates: ObjectRates) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = FileObjects::open(&folder.path().join("objects")).unwrap();
        let faults = Faults::seeded(1);
        faults.on(Rates {
            objects: rates,
            ..Rates::default()
        });
        let faulty = FaultyObjects::new(Arc::new(files.clone()), &faults);
        Self {
            folder,
            truth: Objects::new(Arc::new(files), "bucket"),
            objects: Objects::new(Arc::new(faulty), "bucket"),
            faults,
        }
    }

    #[track_caller]
    fn expect(&self, objects: ObjectCounts) {
        let expected = Counts {
            objects,
            ..Counts::default()
        };
        assert_eq!(self.faults.counts(), expected);
    }
}

#[track_caller]
fn unavailable<T: std::fmt::Debug>(answer: Result<T>) {
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_failed_call_has_changed_nothing() {
    let world = World::new(ObjectRates {
        failed: 100,
        ..ObjectRates::default()
    });
    let file = world.folder.path().join("file");
    std::fs::write(&file, "file").unwrap();
    world.truth.put("there", b"there".to_vec()).await.unwrap();
    unavailable(world.objects.put("a", Vec::new()).await);
    unavailable(world.objects.put_new("b", Vec::new()).await);
    unavailable(world.objects.put_file("c", &file).await);
    unavailable(world.objects.find("there").await);
    unavailable(world.objects.find_to_file("there", &file, 10).await);
    unavailable(world.objects.exists("there").await);
    unavailable(world.objects.list("").await);
    unavailable(world.objects.folders("").await);
    unavailable(world.objects.remove("there").await);
    let left = world.truth.list("").await.unwrap();
    assert_eq!((left.len(), left[0].key.as_str()), (1, "there"));
    world.expect(ObjectCounts {
        failed: 9,
        ..ObjectCounts::default()
    });
    world.faults.off();
    assert_eq!(world.objects.find("there").await.unwrap().unwrap(), b"there");
}

#[tokio::test]
async fn a_lost_answer_has_written() {
    let world = World::new(ObjectRates {
        lost: 100,
        ..ObjectRates::default()
    });
    let file = world.folder.path().join("file");
    std::fs::write(&file, "file").unwrap();
    unavailable(world.objects.put("a", b"a".to_vec()).await);
    unavailable(world.objects.put_new("b", b"b".to_vec()).await);
    unavailable(world.objects.put_file("c", &file).await);
    assert_eq!(world.objects.list("").await.unwrap().len(), 3);
    unavailable(world.objects.remove("a").await);
    let found = [
        world.truth.find("a").await.unwrap(),
        world.truth.find("b").await.unwrap(),
        world.truth.find("c").await.unwrap(),
    ];
    assert_eq!(found, [None, Some(b"b".to_vec()), Some(b"file".to_vec())]);
    world.expect(ObjectCounts {
        lost: 4,
        ..ObjectCounts::default()
    });
}

#[tokio::test]
async fn a_new_object_is_refused_by_itself() {
    let world = World::new(ObjectRates {
        repeated: 100,
        ..ObjectRates::default()
    });
    assert!(!world.objects.put_new("a", b"one".to_vec()).await.unwrap());
    assert_eq!(world.truth.find("a").await.unwrap().unwrap(), b"one");
    // The existing object is not a fault.
    assert!(!world.objects.put_new("a", b"two".to_vec()).await.unwrap());
    assert_eq!(world.truth.find("a").await.unwrap().unwrap(), b"one");
    world.expect(ObjectCounts {
        repeated: 1,
        ..ObjectCounts::default()
    });
}

#[tokio::test]
async fn a_read_ends_in_the_middle() {
    let world = World::new(ObjectRates {
        cut: 100,
        ..ObjectRates::default()
    });
    let file = world.folder.path().join("file");
    world.objects.put("a", b"whole".to_vec()).await.unwrap();
    unavailable(world.objects.list("").await);
    unavailable(world.objects.folders("").await);
    unavailable(world.objects.find_to_file("a", &file, 10).await);
    assert_eq!(std::fs::read(&file).unwrap(), b"wh");
    assert!(
        !world
            .objects
            .find_to_file("none", &file, 10)
            .await
            .is_ok_and(|found| found)
    );
    assert_eq!(world.objects.find("a").await.unwrap().unwrap(), b"whole");
    assert!(world.faults.counts().objects.cut >= 3);
}

#[tokio::test]
async fn a_slow_call_is_answered_as_any_other() {
    let world = World::new(ObjectRates {
        slow: 100,
        ..ObjectRates::default()
    });
    let begun = tokio::time::Instant::now();
    world.objects.put("a", b"a".to_vec()).await.unwrap();
    assert_eq!(world.objects.find("a").await.unwrap().unwrap(), b"a");
    assert!(begun.elapsed() >= SLOWEST / 50);
    world.expect(ObjectCounts {
        slow: 2,
        ..ObjectCounts::default()
    });
}

#[derive(Default)]
struct Kept(Mutex<Vec<String>>);

#[async_trait]
impl Queue for Kept {
    async fn send_as(&self, body: &str, _: Delivery<'_>) -> Result<()> {
        self.0.lock().unwrap().push(body.to_owned());
        Ok(())
    }
}

#[async_trait]
impl Bus for Kept {
    async fn publish(&self, detail: &str) -> Result<()> {
        self.send(detail).await
    }
}

/// Returns what a sender to a queue and to a bus learns, and the number of messages afterwards.
async fn sent(messages: MessageRates) -> [(bool, usize); 2] {
    let (queue, bus, faults) = (
        Arc::new(Kept::default()),
        Arc::new(Kept::default()),
        Faults::seeded(1),
    );
    faults.on(Rates {
        messages,
        ..Rates::default()
    });
    let told = FaultyQueue::new(queue.clone(), &faults).send("a").await.is_ok();
    let published = FaultyBus::new(bus.clone(), &faults).publish("a").await.is_ok();
    let counts = faults.counts().messages;
    let MessageCounts {
        failed,
        lost,
        dropped,
        doubled,
    } = counts;
    let is_on = messages.failed + messages.lost + messages.dropped + messages.doubled > 0;
    assert_eq!(failed + lost + dropped + doubled, 2 * u64::from(is_on));
    let [queue, bus] = [queue, bus].map(|kept| kept.0.lock().unwrap().len());
    [(told, queue), (published, bus)]
}

#[tokio::test]
async fn each_fault_of_messages_happens() {
    let none = MessageRates::default();
    let (failed, lost) = (
        MessageRates { failed: 100, ..none },
        MessageRates { lost: 100, ..none },
    );
    let (dropped, doubled) = (
        MessageRates { dropped: 100, ..none },
        MessageRates { doubled: 100, ..none },
    );
    for (rates, told, kept) in [
        (none, true, 1),
        (failed, false, 0),
        (lost, false, 1),
        (dropped, true, 0),
        (doubled, true, 2),
    ] {
        assert_eq!(sent(rates).await, [(told, kept); 2], "{rates:?}");
    }
}

/// Returns the outcomes of a hundred objects and a hundred messages.
async fn hundred(seed: u64) -> (Vec<bool>, Vec<bool>) {
    let folder = tempfile::tempdir().unwrap();
    let files = FileObjects::open(&folder.path().join("objects")).unwrap();
    let faults = Faults::seeded(seed);
    faults.on("objects.failed=10,objects.lost=10,messages.failed=20"
        .parse()
        .unwrap());
    let objects = Objects::new(Arc::new(FaultyObjects::new(Arc::new(files), &faults)), "bucket");
    let queue = FaultyQueue::new(Arc::new(Kept::default()), &faults);
    let (mut put, mut sent) = (Vec::new(), Vec::new());
    for number in 0..100 {
        put.push(objects.put(&number.to_string(), Vec::new()).await.is_ok());
        sent.push(queue.send("a").await.is_ok());
    }
    (put, sent)
}

#[tokio::test]
async fn a_seed_repeats_its_faults() {
    let (put, sent) = hundred(1).await;
    for answers in [&put, &sent] {
        let failed = answers.iter().filter(|is_ok| !**is_ok).count();
        assert!((5..40).contains(&failed), "{failed}");
    }
    assert_eq!(hundred(1).await, (put.clone(), sent.clone()));
    let (other_put, other_sent) = hundred(2).await;
    assert!(other_put != put && other_sent != sent);
}

/// Returns the offset of a clock from its undisturbed time after each of several jumps.
fn jumps(seed: u64) -> Vec<i64> {
    let (clock, faults) = (Clock::manual(UtcTime::EPOCH), Faults::seeded(seed));
    let jumped = (0..50).map(|_| {
        faults.jump(&clock, 5_000);
        clock.now().as_millis()
    });
    let jumped = jumped.collect();
    assert_eq!(faults.counts().jumps, 50);
    jumped
}

#[test]
fn a_clock_jumps_forwards_and_backwards() {
    let places = jumps(1);
    assert!(places.iter().all(|place| (-5_000..=5_000).contains(place)));
    assert!(places.windows(2).any(|pair| pair[0] < pair[1]));
    assert!(places.windows(2).any(|pair| pair[0] > pair[1]));
    assert_eq!(jumps(1), places);
    assert_ne!(jumps(2), places);
}

#[test]
fn rates_are_read_by_their_names() {
    let rates: Rates = "throttled=2,objects.cut=100,messages.doubled=7".parse().unwrap();
    let read = (
        rates.throttled,
        rates.objects.cut,
        rates.messages.doubled,
        rates.lost,
    );
    assert_eq!(read, (2, 100, 7, 0));
    for wrong in [
        "throttled",
        "throttled=x",
        "throttled=101",
        "other=1",
        "objects=1",
    ] {
        assert!(wrong.parse::<Rates>().is_err(), "{wrong}");
    }
    let counts = Counts {
        late: 3,
        jumps: 1,
        ..Counts::default()
    };
    assert_eq!(counts.to_string(), "late=3 jumps=1");
}
