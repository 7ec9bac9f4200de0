//! Tests what `ops backup` and `ops restore` refuse, with which sentence, and that a refusal leaves nothing
//! behind.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use tests::samples::prompt;
use tests::{Operator, Persona, Service};

/// Files of an archive: name, kind and bytes.
type Files = Vec<(String, tar::EntryType, Vec<u8>)>;

struct Backup {
    service: Service,
    file: PathBuf,
}

impl Backup {
    /// Backs up a directory with a record; its runner is stopped.
    async fn take() -> Self {
        let mut service = Service::start_local().await;
        let token = service.scope().token(Persona::Developer);
        service
            .post(&token, "/prompts", &prompt("Kept"))
            .await
            .expect_status(201);
        // Larger than a block of zstd.
        let artifact = service.folder().join("large");
        fs::write(&artifact, noise(600_000)).unwrap();
        let put = ["artifact", "put", text(&artifact), "out/large.csv"];
        service.operator().run(&put).expect_success();
        service.process().kill();
        let file = service.folder().join("backup.tar.zst");
        service.operator().run(&["backup", text(&file)]).expect_success();
        Self { service, file }
    }

    fn files(&self) -> Files {
        let bytes = fs::read(&self.file).unwrap();
        let mut archive = tar::Archive::new(zstd::Decoder::new(&bytes[..]).unwrap());
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (name, entry.header().entry_type(), bytes)
        });
        entries.collect()
    }

    /// Returns the refusal of an archive, and asserts that it left nothing.
    fn refusal(&self, what: &str, archive: &[u8]) -> String {
        let file = self.service.folder().join("changed.tar.zst");
        fs::write(&file, archive).unwrap();
        let folder = self.service.folder().join("above/restored");
        let refused = Operator::new(&folder)
            .run(&["restore", text(&file)])
            .expect_refusal();
        assert!(
            !self.service.folder().join("above").exists(),
            "{what}: {refused:?}"
        );
        assert_eq!(refused.stderr.lines().count(), 1, "{what}: {refused:?}");
        assert_eq!(refused.stdout, "", "{what}");
        refused.stderr
    }
}

/// Returns incompressible bytes.
fn noise(length: usize) -> Vec<u8> {
    (0..length).map(|_| rand::random()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns an archive with these files, as another program would write it.
fn packed(files: &Files) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, kind, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o600);
        header.set_size(bytes.len() as u64);
        // The crate's own method refuses names that leave the folder.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        if *kind == tar::EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        tar.extend_from_slice(header.as_bytes());
        tar.extend_from_slice(bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.extend_from_slice(&[0; 1_024]);
    zstd::encode_all(&tar[..], 1).unwrap()
}

#[tokio::test]
async fn a_cut_or_changed_archive_is_refused_and_leaves_nothing_locally() {
    let backup = Backup::take().await;
    let whole = fs::read(&backup.file).unwrap();
    for length in [whole.len() - 1, whole.len() - 5, whole.len() / 2] {
        let message = backup.refusal("cut", &whole[..length]);
        assert!(message.contains("is damaged or not whole"), "{length}: {message}");
        assert!(message.contains("take another backup"), "{length}: {message}");
    }
    let beginning = backup.refusal("cut", &whole[..100]);
    assert!(beginning.contains("its beginning is damaged"), "{beginning}");
    for place in (600..whole.len()).step_by(whole.len() / 12) {
        let mut changed = whole.clone();
        changed[place] ^= 4;
        let message = backup.refusal("a bit", &changed);
        assert!(message.contains("damaged"), "{place}: {message}");
    }
}

#[tokio::test]
async fn a_file_of_another_kind_is_refused_locally() {
    let backup = Backup::take().await;
    let foreign = [("readme".to_owned(), tar::EntryType::Regular, b"hello".to_vec())];
    for (what, archive) in [
        ("empty", Vec::new()),
        ("text", b"hello\n".repeat(1_000)),
        (
            "zstd of text",
            zstd::encode_all(&b"hello".repeat(1_000)[..], 1).unwrap(),
        ),
        ("another tar", packed(&foreign.to_vec())),
        (
            "a tar alone",
            zstd::decode_all(&fs::read(&backup.file).unwrap()[..]).unwrap(),
        ),
    ] {
        let message = backup.refusal(what, &archive);
        assert!(message.contains("is no backup of Millrace"), "{what}: {message}");
        assert!(
            message.contains("`ops backup FILE` makes one"),
            "{what}: {message}"
        );
    }
    let restored = Operator::new(&backup.service.folder().join("restored"));
    let missing = restored.run(&["restore", "/nowhere/backup"]).expect_refusal();
    assert!(
        missing.stderr.contains("/nowhere/backup cannot be read"),
        "{missing:?}"
    );
    let folder = restored
        .run(&["restore", text(backup.service.folder())])
        .expect_refusal();
    assert!(folder.stderr.contains("is no backup of Millrace"), "{folder:?}");
}

#[tokio::test]
async fn an_archive_that_another_program_changed_is_refused_locally() {
    let backup = Backup::take().await;
    let files = backup.files();
    let file = |name: &str| (name.to_owned(), tar::EntryType::Regular, b"x".to_vec());
    let at_the_end = |added: (String, tar::EntryType, Vec<u8>)| {
        let mut files = files.clone();
        files.insert(files.len() - 1, added);
        files
    };
    for name in [
        "../lock",
        "/tmp/millrace-outside",
        "keys/../../outside",
        "objects/../../outside",
        "lock",
        "keys/.a",
    ] {
        let message = backup.refusal(name, &packed(&at_the_end(file(name))));
        assert!(
            message.contains("no data directory has a file"),
            "{name}: {message}"
        );
    }
    assert!(!Path::new("/tmp/millrace-outside").exists());
    for kind in [
        tar::EntryType::Symlink,
        tar::EntryType::Link,
        tar::EntryType::Directory,
        tar::EntryType::Fifo,
    ] {
        let link = ("keys/link".to_owned(), kind, Vec::new());
        let message = backup.refusal("a link", &packed(&at_the_end(link)));
        assert!(
            message.contains("a name in it is not valid"),
            "{kind:?}: {message}"
        );
    }
    let twice = backup.refusal("twice", &packed(&at_the_end(file("format.json"))));
    assert!(twice.contains("format.json is in it twice"), "{twice}");
    let more = backup.refusal("more", &packed(&at_the_end(file("objects/millrace-data/a.json"))));
    assert!(
        more.contains("is not the one that was put in, or is missing"),
        "{more}"
    );
    let without = |name: &str| {
        files
            .iter()
            .filter(|file| file.0 != name)
            .cloned()
            .collect::<Files>()
    };
    let key = files
        .iter()
        .find(|file| file.0.starts_with("keys/"))
        .unwrap()
        .0
        .clone();
    for name in [key.as_str(), "records.sqlite", "format.json"] {
        let less = backup.refusal(name, &packed(&without(name)));
        assert!(
            less.contains("is not the one that was put in, or is missing"),
            "{name}: {less}"
        );
    }
    let no_end = backup.refusal("no end", &packed(&without("SHA256SUMS")));
    assert!(no_end.contains("its end is missing"), "{no_end}");
    let mut newer = files.clone();
    newer[0].2 = json!({ "backup_format": 2, "data_format": 2, "version": "9.1.0", "made_at": "" })
        .to_string()
        .into();
    let newer = backup.refusal("newer", &packed(&newer));
    assert!(
        newer.contains("was made by version 9.1.0 of Millrace") && newer.contains("Restore it with"),
        "{newer}"
    );
}

#[tokio::test]
async fn a_restore_overwrites_nothing_locally() {
    let mut backup = Backup::take().await;
    let file = backup.file.clone();
    let restore = |folder: &Path| Operator::new(folder).run(&["restore", text(&file)]);
    let data_dir = backup.service.data_dir();
    let full = restore(&data_dir).expect_refusal();
    assert!(
        full.stderr.contains("is not empty") && full.stderr.contains("--data-dir"),
        "{full:?}"
    );
    backup.service.restart();
    let in_use = restore(&data_dir).expect_refusal();
    assert!(
        in_use.stderr.contains("Another process has the data directory"),
        "{in_use:?}"
    );
    backup.service.operator().run(&["check"]).expect_success();

    let folder = backup.service.folder().join("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("note"), "mine").unwrap();
    restore(&folder).expect_refusal();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_file(folder.join("note")).unwrap();
    restore(&folder).expect_success();
    restore(&folder).expect_refusal();
    let place = restore(&backup.file).expect_refusal();
    assert!(
        place.stderr.contains("cannot become a data directory"),
        "{place:?}"
    );

    // An interrupted restore leaves this folder.
    fs::create_dir(folder.join("restoring")).unwrap();
    let unfinished = restore(&folder).expect_refusal();
    assert!(
        unfinished.stderr.contains("was cut off. Remove the folder"),
        "{unfinished:?}"
    );
    let started = tests::run("millrace", &["--port", "0", "--data-dir", text(&folder)], &[]).expect_refusal();
    assert!(
        started.stderr.contains("is under way or was cut off"),
        "{started:?}"
    );
}

#[tokio::test]
async fn a_backup_overwrites_nothing_and_says_where_it_cannot_be_locally() {
    let backup = Backup::take().await;
    let operator = backup.service.operator();
    let before = fs::read(&backup.file).unwrap();
    let again = operator.run(&["backup", text(&backup.file)]).expect_refusal();
    assert!(
        again.stderr.contains("exists already. Choose another name"),
        "{again:?}"
    );
    assert_eq!(fs::read(&backup.file).unwrap(), before);
    let inside = backup.service.data_dir().join("objects/backup.tar.zst");
    let inside = operator.run(&["backup", text(&inside)]).expect_refusal();
    assert!(
        inside.stderr.contains("Choose a place outside of it"),
        "{inside:?}"
    );
    let nowhere = operator
        .run(&["backup", "/nowhere/backup.tar.zst"])
        .expect_refusal();
    assert!(nowhere.stderr.contains("Its folder must exist"), "{nowhere:?}");
    let empty = Operator::new(&backup.service.folder().join("empty"));
    let empty = empty.run(&["backup", "/tmp/backup.tar.zst"]).expect_refusal();
    assert!(
        empty.stderr.contains("There is no data directory of Millrace"),
        "{empty:?}"
    );
    let file = backup.service.folder().join("other");
    for (command, variables, part) in [
        (
            "backup",
            &[("MILLRACE_RECORDS", "dynamodb")][..],
            "point-in-time recovery",
        ),
        (
            "restore",
            &[("MILLRACE_RECORDS", "dynamodb")],
            "point-in-time recovery",
        ),
        (
            "backup",
            &[("MILLRACE_OBJECTS", "s3")],
            "versioning of the bucket",
        ),
    ] {
        let refused = operator
            .run_with(&[command, text(&file)], variables)
            .expect_refusal();
        assert!(refused.stderr.contains(part), "{refused:?}");
    }
    let deployed = operator
        .run(&["backup", text(&file), "--deployed"])
        .expect_refusal();
    assert!(deployed.stderr.contains("point-in-time recovery"), "{deployed:?}");
    assert!(!file.exists());
}
