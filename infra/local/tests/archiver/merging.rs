//! Tests the merging of small files.

use crate::world::World;

const NOON: &str = "2026-11-24T12:00:00Z";

#[tokio::test]
async fn small_files_of_a_day_are_merged_and_at_its_end_all() {
    let world = World::new().await;
    let archiver = world.archiver();
    for number in 0..17 {
        world.events(number * 3..number * 3 + 3, NOON).await;
        archiver.pass(&world.log).await.unwrap();
        world.advance_minutes(1);
    }
    let files = world.files().await;
    assert_eq!(files.iter().map(|file| file.records).collect::<Vec<_>>(), [48, 3]);
    assert_eq!(files[0].replaces.len(), 16);
    let archived = world.archived().await;
    assert_eq!(archived.len(), 51);
    assert!(archived.values().all(|count| *count == 1));

    assert_eq!(world.objects_of_log().await.len(), 18);

    // Two hours after the day's end, with a record of that day that came on the next one.
    world.advance_minutes(60 * 14 + 60);
    world.event("late", NOON).await;
    archiver.pass(&world.log).await.unwrap();
    assert_eq!(world.files().await.len(), 3);
    world.advance_minutes(61);
    archiver.pass(&world.log).await.unwrap();
    let files = world.files().await;
    assert_eq!(files.iter().map(|file| file.records).collect::<Vec<_>>(), [51, 1]);

    // Replaced files are removed once a digest covers the merged file.
    world.advance_minutes(61);
    archiver.pass(&world.log).await.unwrap();
    world.advance_minutes(61);
    archiver.pass(&world.log).await.unwrap();
    let data: Vec<_> = world.objects_of_log().await;
    let data: Vec<_> = data.iter().filter(|key| key.ends_with(".parquet")).collect();
    assert_eq!(data.len(), 2, "{data:?}");
    assert_eq!(world.logs.all_files(&world.log).await.unwrap().len(), 2);
    assert_eq!(world.archived().await.len(), 52);
    let copy = world.copy().await;
    let report = world.verify(copy.path(), &[]).await.unwrap();
    assert!(report.holds(), "{report:?}");
    assert_eq!(report.logs[0].records, 52);
}

#[tokio::test]
async fn an_object_that_no_commit_names_is_removed_and_no_other() {
    let world = World::new().await;
    world.events(0..3, NOON).await;
    world.pass().await;
    let orphan = |time: &str| {
        let id = platform::ids::derived_id(crate::world::at(time), "orphan");
        world.log.file_key("2026-11-24", &id)
    };
    let (old, young) = (orphan("2026-11-24T10:20:00Z"), orphan("2026-11-24T11:11:00Z"));
    let audit = old.replace("/events/", "/audit/");
    for key in [&old, &young, &audit] {
        world.objects.put(key, b"x".to_vec()).await.unwrap();
    }
    // Until a digest covers the time, an unknown object may be about to be committed.
    world.advance_minutes(10);
    world.pass().await;
    assert_eq!(world.objects_of_log().await.len(), 4);
    world.advance_minutes(51);
    let passed = world.pass().await;
    assert_eq!((passed.digests, passed.removed), (1, 1), "{passed:?}");
    let objects = world.objects_of_log().await;
    assert!(!objects.contains(&old) && objects.contains(&young) && objects.contains(&audit));
    assert_eq!(world.archived().await.len(), 3);
}
