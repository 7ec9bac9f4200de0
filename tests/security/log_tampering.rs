//! Tests tampering with the log of events and audit records: `ops audit verify` notices each, over the
//! runner's data directory, over a copy of its files, and over a copy with the names of a bucket.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use tests::samples::prompt;
use tests::{Finished, Operator, Service};

/// Account and project of each log; a store of files escapes capital letters.
const LOGS: [(&str, &str); 2] = [("Acme", "Demo"), ("other", "demo")];
/// Digests of each log.
const DIGESTS: usize = 3;
const ASSURANCE: &str = "Everything is as it was signed.";

/// Where a log is checked.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The data directory, which also has the records.
    DataDirectory,
    /// A copy of the data directory's objects.
    Files,
    /// A copy with the keys of the objects as names, as from a bucket.
    Bucket,
}

const PLACES: [Place; 3] = [Place::DataDirectory, Place::Files, Place::Bucket];

/// What the test keeps of the log before it is touched.
struct Original {
    folder: TempDir,
    data_dir: PathBuf,
}

/// A copy to tamper with.
struct Copy {
    folder: TempDir,
    place: Place,
    /// Path of each object of the log, by its key.
    objects: BTreeMap<String, PathBuf>,
}

impl Original {
    /// Writes three digests of each log through the service, and stops it.
    async fn write(service: &mut Service) -> Self {
        let operator = service.operator();
        for number in 0..DIGESTS {
            for (account, project) in LOGS {
                let of_log = ["--account", account, "--project", project];
                let token = operator.token(&[&of_log[..], &["--roles", "developer,project_admin"]].concat());
                let body = prompt(&format!("prompt {number}"));
                service.post(&token, "/prompts", &body).await.expect_status(201);
                operator.json(&[&of_log[..], &["audit", "archive", "--sign"]].concat());
            }
        }
        service.process().stop();
        let original = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            data_dir: service.data_dir(),
        };
        let key = operator.run(&["audit", "key"]).expect_success();
        fs::write(original.key(), key.stdout).expect("the key can be written");
        original
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// Returns the file with the last digests of the untouched log.
    fn notes(&self) -> PathBuf {
        self.folder.path().join("notes")
    }

    fn copy(&self, place: Place) -> Copy {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bucket = match place {
            Place::DataDirectory => {
                copy_folder(&self.data_dir, folder.path(), &str::to_owned);
                folder.path().join("objects/millrace-data")
            }
            Place::Files => {
                copy_folder(&bucket_of(&self.data_dir), folder.path(), &str::to_owned);
                folder.path().to_owned()
            }
            Place::Bucket => {
                copy_folder(&bucket_of(&self.data_dir), folder.path(), &key_of);
                folder.path().to_owned()
            }
        };
        let mut objects = BTreeMap::new();
        find(&bucket.join("log"), "log", &mut objects);
        Copy {
            folder,
            place,
            objects,
        }
    }

    fn verify(&self, copy: &Copy, notes: &Path) -> Finished {
        let (folder, key) = (copy.folder.path().to_string_lossy(), self.key());
        let (key, notes) = (key.to_string_lossy(), notes.to_string_lossy());
        match copy.place {
            Place::DataDirectory => Operator::new(copy.folder.path()).run(&["audit", "verify"]),
            Place::Files | Place::Bucket => {
                let arguments = ["audit", "verify", &*folder, "--key", &*key, "--notes", &*notes];
                Operator::new(&self.data_dir).run(&arguments)
            }
        }
    }
}

impl Copy {
    /// Returns the keys of a log's objects that contain a text, in their order.
    fn keys(&self, log: usize, part: &str) -> Vec<String> {
        let (account, project) = LOGS[log];
        let folder = format!("log/{account}/{project}/");
        let keys = self.objects.keys();
        let keys = keys.filter(|key| key.starts_with(&folder) && key.contains(part));
        keys.cloned().collect()
    }

    fn path(&self, key: &str) -> &Path {
        &self.objects[key]
    }

    fn remove(&self, keys: &[String]) {
        for key in keys {
            fs::remove_file(self.path(key)).expect("the object can be removed");
        }
    }

    /// Adds a file beside another one, with this id.
    fn add(&self, beside: &str, id: &str) {
        let path = self.path(beside);
        fs::copy(path, path.with_file_name(format!("{id}.parquet"))).expect("the file can be copied");
    }
}

fn bucket_of(data_dir: &Path) -> PathBuf {
    data_dir.join("objects/millrace-data")
}

fn copy_folder(from: &Path, to: &Path, name: &dyn Fn(&str) -> String) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("the folder can be read") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a type");
        let to = to.join(name(&entry.file_name().to_string_lossy()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &to, name);
        } else if kind.is_file() {
            fs::copy(entry.path(), to).expect("the file can be copied");
        }
    }
}

/// Returns the part of an object's key that a name in the data directory stands for.
fn key_of(name: &str) -> String {
    let mut parts = name.strip_suffix(".object").unwrap_or(name).split('%');
    let mut key = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (escaped, rest) = part.split_at(2);
        key.push(char::from(u8::from_str_radix(escaped, 16).expect("an escape")));
        key.push_str(rest);
    }
    key
}

fn find(folder: &Path, key: &str, objects: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let entry = entry.expect("an entry");
        let key = format!("{key}/{}", key_of(&entry.file_name().to_string_lossy()));
        match entry.file_type().expect("a type").is_dir() {
            true => find(&entry.path(), &key, objects),
            false => drop(objects.insert(key, entry.path())),
        }
    }
}

/// Name of an attempt, and what it does.
type Attempt = (&'static str, fn(&Copy));

const ATTEMPTS: [Attempt; 14] = [
    ("a file is altered", |copy| {
        let path = copy.path(&copy.keys(0, "/audit/")[0]).to_owned();
        let mut bytes = fs::read(&path).expect("the file can be read");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).expect("the file can be written");
    }),
    ("a file is removed", |copy| {
        let files = files(copy, 0);
        copy.remove(&files[..1]);
    }),
    ("all files are removed", |copy| copy.remove(&files(copy, 0))),
    ("a file with an old id is added", |copy| {
        copy.add(&files(copy, 0)[0], "0197f3c2-8a41-7d0e-9b1c-5e2f6a7d8c90");
    }),
    ("a file with an id of the future is added", |copy| {
        copy.add(&files(copy, 0)[0], "7197f3c2-8a41-7d0e-9b1c-5e2f6a7d8c90");
    }),
    ("a file without an id is added", |copy| {
        copy.add(&files(copy, 0)[0], "extra");
    }),
    ("a file with another ending is added", |copy| {
        let path = copy.path(&files(copy, 0)[0]);
        fs::copy(path, path.with_file_name("part-0.parq.object")).expect("the file can be copied");
    }),
    ("the first digest is removed", |copy| {
        copy.remove(&copy.keys(0, "/digests/")[..1]);
    }),
    ("the chain is cut in the middle", |copy| {
        copy.remove(&copy.keys(0, "/digests/")[1..2]);
    }),
    ("the end of the chain is cut off", |copy| {
        copy.remove(&copy.keys(0, "/digests/")[DIGESTS - 1..]);
        copy.remove(&files(copy, 0)[DIGESTS - 1..]);
    }),
    ("a digest of another log takes the place of one", |copy| {
        let (to, from) = (copy.keys(0, "/digests/"), copy.keys(1, "/digests/"));
        fs::copy(copy.path(&from[1]), copy.path(&to[1])).expect("the digest can be copied");
    }),
    ("all digests are removed", |copy| {
        copy.remove(&copy.keys(0, "/digests/"));
    }),
    ("all digests of all logs are removed", |copy| {
        copy.remove(&[copy.keys(0, "/digests/"), copy.keys(1, "/digests/")].concat());
    }),
    ("the log of another account is removed", |copy| {
        copy.remove(&copy.keys(1, ""));
    }),
];

fn files(copy: &Copy, log: usize) -> Vec<String> {
    copy.keys(log, ".parquet")
}

#[tokio::test]
async fn no_tampering_with_the_log_goes_unnoticed_locally() {
    let mut service = Service::start_local().await;
    let original = Original::write(&mut service).await;
    for place in PLACES {
        let copy = original.copy(place);
        for log in 0..LOGS.len() {
            let counts = (files(&copy, log).len(), copy.keys(log, "/digests/").len());
            assert_eq!(counts, (DIGESTS, DIGESTS), "{place:?}: {:?}", copy.objects.keys());
        }
        let verified = original.verify(&copy, &original.notes());
        assert!(
            verified.code == Some(0) && verified.stdout.contains(ASSURANCE),
            "{place:?}, untouched: {verified:?}"
        );
    }
    let notes = fs::read_to_string(original.notes()).expect("the check writes its notes");
    assert_eq!(notes.lines().count(), LOGS.len(), "{notes}");
    let mut unnoticed = Vec::new();
    for (name, tamper) in ATTEMPTS {
        for place in PLACES {
            let copy = original.copy(place);
            tamper(&copy);
            let verified = original.verify(&copy, &original.notes());
            if verified.code != Some(1) || verified.stdout.contains(ASSURANCE) {
                unnoticed.push(format!("{name}, {place:?}: {verified:?}"));
            }
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
    // A check that fails notes nothing.
    let text = fs::read_to_string(original.notes()).expect("the notes are still there");
    assert_eq!(text, notes);
}

#[tokio::test]
async fn a_log_without_a_digest_is_not_called_signed_locally() {
    let mut service = Service::start_local().await;
    let operator = service.operator();
    let (account, project) = LOGS[0];
    let of_log = ["--account", account, "--project", project];
    let token = operator.token(&[&of_log[..], &["--roles", "developer,project_admin"]].concat());
    service
        .post(&token, "/prompts", &prompt("new"))
        .await
        .expect_status(201);
    operator.json(&[&of_log[..], &["audit", "archive"]].concat());
    service.process().stop();
    let verified = operator.run(&["--json", "audit", "verify"]);
    let report: Value = serde_json::from_str(&verified.stdout).expect("a report");
    assert_eq!(verified.code, Some(1), "{report}");
    let verified = operator.run(&["audit", "verify"]);
    assert!(!verified.stdout.contains(ASSURANCE), "{verified:?}");
    assert!(verified.stdout.contains("audit archive --sign"), "{verified:?}");
}
