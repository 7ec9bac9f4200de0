//! Compares a disk after a loss of power with the earlier answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use embedded::files::FileObjects;
use embedded::sqlite::SqliteRecords;
use platform::objects::Objects;
use platform::records::store::{Key, Query, RecordStore as _};

use crate::writer::{OBJECTS, RECORDS, TABLES, object};

/// Answers before the loss: the last commit of each task, and for each object its number and whether it may
/// have been removed.
#[derive(Default)]
struct Answered<'a> {
    is_open: bool,
    commits: BTreeMap<&'a str, u64>,
    objects: BTreeMap<&'a str, (u64, bool)>,
    removed: Vec<&'a str>,
}

impl<'a> Answered<'a> {
    fn from_answers(answers: &[&'a str]) -> Self {
        let mut answered = Self::default();
        for answer in answers {
            let words: Vec<_> = answer.split(' ').collect();
            let number = || words[2].parse().unwrap();
            match words[0] {
                "opened" => answered.is_open = true,
                "commit" => drop(answered.commits.insert(words[1], number())),
                "put" | "replaced" => drop(answered.objects.insert(words[1], (number(), false))),
                "removing" => answered.objects.get_mut(words[1]).unwrap().1 = true,
                "removed" => answered.removed.push(words[1]),
                _ => {}
            }
        }
        answered
    }
}

/// Opens the disk as after a start; returns the number of its commits.
pub fn whole(image: &Path, answers: &[&str], point: usize) -> usize {
    let answered = Answered::from_answers(answers);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        objects(image, &answered, point).await;
        records(image, &answered, point).await
    })
}

async fn records(image: &Path, answered: &Answered<'_>, point: usize) -> usize {
    let path = image.join(RECORDS);
    if !answered.is_open {
        // The file may have been lost during its creation; then it is created again.
        for name in [RECORDS, "records.db-wal", "records.db-shm"] {
            let _ = fs::remove_file(image.join(name));
        }
    }
    let store = SqliteRecords::open(&path, &TABLES);
    let store = store.unwrap_or_else(|error| panic!("point {point}: {error}"));
    store
        .check_integrity()
        .unwrap_or_else(|error| panic!("point {point}: {error}"));
    let (mut all, mut indexed) = (0, 0);
    for task in 0..4_u64 {
        let partition = format!("task-{task}");
        let answered = answered
            .commits
            .get(task.to_string().as_str())
            .copied()
            .unwrap_or_default();
        let mut numbers = Vec::new();
        for half in ["a", "b"] {
            let found = store.find("records", &Key::new(&partition, half)).await.unwrap();
            numbers.push(found.map(|item| item.get("number").unwrap().as_u64().unwrap()));
        }
        assert_eq!(
            numbers[0], numbers[1],
            "point {point}: half of a commit of task {task}"
        );
        let number = numbers[0].unwrap_or_default();
        assert!(
            number == answered || number == answered + 1,
            "point {point}: task {task} is at {number}, and {answered} was answered"
        );
        let count = store
            .count("records", &Query::partition(&partition))
            .await
            .unwrap();
        let halves = u64::from(number > 0) * 2;
        assert_eq!(count, number + halves, "point {point}: commits of task {task}");
        indexed += halves;
        all += number as usize;
    }
    let in_index = store
        .count("records", &Query::partition("all").gsi1())
        .await
        .unwrap();
    assert_eq!(in_index, indexed, "point {point}: the index");
    all
}

async fn objects(image: &Path, answered: &Answered<'_>, point: usize) {
    let files = FileObjects::open(&image.join(OBJECTS)).unwrap();
    let objects = Objects::new(Arc::new(files), "data");
    for listed in objects.list("").await.unwrap() {
        let key = listed.key.as_str();
        let bytes = objects.find(key).await.unwrap().unwrap();
        let (first, _) = std::str::from_utf8(&bytes)
            .unwrap()
            .split_once('\n')
            .unwrap_or_else(|| panic!("point {point}: {key} is empty"));
        let number = first.rsplit_once(' ').unwrap().1.parse().unwrap();
        assert_eq!(bytes, object(key, number), "point {point}: {key} is not whole");
        let least = answered.objects.get(key).map_or(0, |(number, _)| *number);
        assert!(
            number >= least,
            "point {point}: {key} is older than what was answered"
        );
        assert!(
            !answered.removed.contains(&key),
            "point {point}: {key} was removed"
        );
    }
    for (key, (_, may_be_gone)) in &answered.objects {
        let is_there = objects.exists(key).await.unwrap();
        assert!(is_there || *may_be_gone, "point {point}: {key} was answered");
    }
}
