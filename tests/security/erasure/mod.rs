//! Tests `ops tenant`: an export has everything of a project, an erasure leaves nothing of it but its signed
//! statements, and other projects stay as they are.
//!
//! What a project has is looked for in the bytes of the data directory, not by the service's own lists.

mod extras;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tests::samples::prompt;
use tests::{Finished, Operator, Persona};

use crate::isolation::household::Household;
use crate::isolation::world::World;

/// Numbers of the steps at which the command dies, in `MILLRACE_CRASH_AT`.
const STEPS: std::ops::RangeInclusive<u32> = 201..=209;
/// Steps after which files of the log are left that are signed as erased.
const FILES_LEFT: std::ops::RangeInclusive<u32> = 206..=207;
/// Arguments of an erasure, without its confirmation.
const REASON: [&str; 4] = ["--operator", "ann", "--reason", "end of contract"];
const BUCKET: &str = "objects/millrace-data";

/// A data directory with the household and its neighbours, in which nothing runs.
struct Stopped {
    data_dir: PathBuf,
    folder: TempDir,
}

fn of(account: &str, project: &str) -> Vec<String> {
    ["--account", account, "--project", project]
        .map(str::to_owned)
        .to_vec()
}

fn run(data_dir: &Path, tenant: &[String], arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
    let mut all = arguments.to_vec();
    all.extend(tenant.iter().map(String::as_str));
    Operator::new(data_dir).run_with(&all, variables)
}

fn erase(data_dir: &Path, tenant: &[String], variables: &[(&str, &str)]) -> Finished {
    let confirmed = format!("{}/{}", tenant[1], tenant[3]);
    let arguments = [&["tenant", "erase", "--yes", &confirmed], &REASON[..]].concat();
    run(data_dir, tenant, &arguments, variables)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Returns the contents of all files below a folder, by their paths below it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn add(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => add(root, &path, files),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, fs::read(&path).unwrap());
                }
            }
        }
    }
    let mut all = BTreeMap::new();
    add(folder, folder, &mut all);
    all
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Returns what surrounds each place of a text.
fn places(bytes: &[u8], text: &str) -> Vec<String> {
    let parts = bytes.windows(text.len()).enumerate();
    let equal = parts.filter(|(_, part)| *part == text.as_bytes());
    let around = equal.map(|(at, part)| {
        let end = (at + part.len() + 10).min(bytes.len());
        String::from_utf8_lossy(&bytes[at.saturating_sub(5)..end]).into_owned()
    });
    around.collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

impl Stopped {
    /// Runs a command over a copy of the data directory.
    fn copy(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        copy_folder(&self.data_dir, &copy);
        copy
    }

    /// Returns the files of an export, without the manifest, which has its time.
    fn export(&self, data_dir: &Path, tenant: &[String]) -> BTreeMap<String, Vec<u8>> {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap();
        let path = folder.path().join("export");
        let path = path.to_str().unwrap();
        run(data_dir, tenant, &["tenant", "export", path], &[]).expect_success();
        let mut files = files(Path::new(path));
        let manifest = files.remove("manifest.json").unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        for file in manifest["files"].as_array().unwrap() {
            let bytes = &files[file["file"].as_str().unwrap()];
            assert_eq!(file["sha256"], sha256(bytes), "{file}");
            assert_eq!(file["bytes"], bytes.len(), "{file}");
            assert_eq!(file["lines"], bytes.iter().filter(|byte| **byte == b'\n').count());
        }
        files
    }
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Kind of a record that is there only while its request is handled.
const BRIEF: &str = "event-batch";

/// Returns the kinds of partitions of a project, from the table of all keys.
fn kinds_of_keys() -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/platform/src/records/keys/mod.rs");
    let text = fs::read_to_string(file).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | "));
    let of_tables = rows.filter_map(|row| {
        let [_, table, pk, _] = row.split(" | ").collect::<Vec<_>>()[..] else {
            return None;
        };
        // An index has no records of its own.
        (!table.contains(", ")).then_some(pk.to_owned())
    });
    let kinds = of_tables.flat_map(|pk| {
        let parts = pk.split('`').filter_map(|part| part.strip_prefix("A#P#"));
        let kinds = parts.filter_map(|part| part.split('#').next());
        kinds.map(str::to_owned).collect::<Vec<_>>()
    });
    kinds.collect()
}

/// Checks an export against the data directory: it has every object, and every value of the household.
fn check_export(export: &BTreeMap<String, Vec<u8>>, data_dir: &Path, victim: &Household) {
    let own = format!("/{}/{}/", victim.value("account"), victim.value("project"));
    let mut objects = 0;
    for (path, bytes) in files(&data_dir.join(BUCKET)) {
        if format!("/{path}").contains(&own) {
            assert_eq!(export.get(&format!("objects/{path}")), Some(&bytes), "{path}");
            objects += 1;
        }
    }
    let listed = lines(&export["objects.ndjson"]);
    assert_eq!(listed.len(), objects);
    for object in &listed {
        let bytes = &export[object["file"].as_str().unwrap()];
        assert_eq!(object["sha256"], sha256(bytes), "{object}");
        assert_eq!(object["bytes"], bytes.len(), "{object}");
        assert!(
            format!("/{}", object["key"].as_str().unwrap()).contains(&own),
            "{object}"
        );
    }
    let kinds = [
        "artifacts/",
        "content/",
        "later/",
        "log/",
        "payloads/",
        "payloads/~later/",
        "payloads/~updates/",
        "states/",
        "stores/",
    ];
    for kind in kinds {
        let folder = format!("{kind}{}", &own[1..]);
        let is_of_kind = |object: &Value| object["key"].as_str().unwrap().starts_with(&folder);
        assert!(listed.iter().any(is_of_kind), "no object of {kind}");
    }
    let mut items = Vec::new();
    for table in ["records", "runs", "events", "audit"] {
        let of_table = lines(&export[&format!("items/{table}.ndjson")]);
        assert!(!of_table.is_empty(), "{table}");
        items.extend(of_table);
    }
    // What is stored compressed is JSON for its reader.
    for name in ["envelope", "state", "summary"] {
        let texts = items.iter().filter_map(|item| item["item"][name].as_str());
        // Large ones are objects, which the text names.
        let texts: Vec<_> = texts
            .filter(|text| !text.is_empty() && !text.starts_with('@'))
            .collect();
        assert!(!texts.is_empty(), "no {name}");
        for text in texts {
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{name}: {text}");
        }
    }
    let project = format!("{}#{}#", victim.value("account"), victim.value("project"));
    let partitions = items
        .iter()
        .filter_map(|item| item["key"]["pk"].as_str()?.strip_prefix(&project));
    let kinds: BTreeSet<&str> = partitions.filter_map(|rest| rest.split('#').next()).collect();
    let missing: Vec<_> = kinds_of_keys()
        .into_iter()
        .filter(|kind| !kinds.contains(kind.as_str()) && kind != BRIEF)
        .collect();
    assert!(
        missing.is_empty(),
        "the household has no record of {missing:?}: add it to `extras`"
    );
    let others = items
        .iter()
        .filter(|item| !item["key"]["pk"].as_str().unwrap().starts_with(&project));
    let others: Vec<_> = others.map(|item| item["key"]["pk"].as_str().unwrap()).collect();
    assert_eq!(others.len(), 3, "a membership and two heads of logs: {others:?}");
}

/// Checks that nothing of the household is in any file, except what states its erasure.
fn check_erased(data_dir: &Path, victim: &Household, context: &str) {
    let (account, project) = (victim.value("account"), victim.value("project"));
    let own = format!("/{account}/{project}/");
    let (keys, folder) = (format!("{account}#{project}#"), format!("{account}/{project}"));
    let mut left = Vec::new();
    for (path, bytes) in files(data_dir) {
        if path.starts_with("keys/") {
            continue;
        }
        for secret in victim.secrets() {
            if has(&bytes, &secret) {
                left.push(format!("{secret} in {path}"));
            }
        }
        if has(&bytes, &keys) {
            left.push(format!("{keys} in {path}"));
        }
        // The heads of the logs name the statements.
        for place in places(&bytes, &folder) {
            let of_next = format!("{folder}-other");
            let is_statement = place.contains(&format!("log/{folder}/digests/"));
            if !is_statement && !place.contains(&of_next) {
                left.push(format!("{place} in {path}"));
            }
        }
        let is_statement = path.contains(&format!("/log{own}digests/"));
        if path.contains(&own) && !is_statement {
            left.push(path);
        }
    }
    assert!(left.is_empty(), "{context}: {left:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erased_project_leaves_its_signed_statements_alone_locally() {
    let mut world = World::start().await;
    extras::add(&mut world).await;
    let victim = world.victim.clone();
    let (account, project) = (victim.value("account"), victim.value("project"));
    let tenant = of(&account, &project);
    let neighbours = [
        of(&account, &victim.scope.other_project()),
        of(&format!("{account}-other"), &project),
    ];
    let data_dir = world.service.data_dir();
    for tenant in neighbours.iter().chain([&tenant]) {
        run(&data_dir, tenant, &["audit", "archive", "--sign"], &[]).expect_success();
    }
    // A running service is refused, and loses nothing.
    let refused = erase(&data_dir, &tenant, &[]).expect_refusal();
    assert!(refused.stderr.contains("Stop it"), "{refused:?}");
    world.service.process().stop();
    extras::add_objects(&data_dir, &victim);
    let stopped = Stopped {
        data_dir: data_dir.clone(),
        folder: tempfile::tempdir().unwrap(),
    };
    check_names(&stopped, &tenant, &account);

    let before = stopped.export(&data_dir, &tenant);
    check_export(&before, &data_dir, &victim);
    let neighbours_before = neighbours
        .each_ref()
        .map(|other| stopped.export(&data_dir, other));
    let notes = stopped.folder.path().join("notes");
    let notes = notes.to_str().unwrap();
    run(&data_dir, &tenant, &["audit", "verify", "--notes", notes], &[]).expect_success();
    let noted = fs::read(notes).unwrap();
    let log = stopped.folder.path().join("copy/log");
    copy_folder(&data_dir.join(BUCKET).join("log"), &log);

    for step in STEPS {
        let copy = stopped.copy(&format!("crash-{step}"));
        let number = step.to_string();
        let crashed = erase(&copy, &tenant, &[("MILLRACE_CRASH_AT", &number)]);
        assert_eq!(crashed.code, None, "step {step}: {crashed:?}");
        if FILES_LEFT.contains(&step) {
            let checked = run(&copy, &tenant, &["check"], &[]);
            let is_told = checked.code == Some(1) && checked.stdout.contains("repeat `ops tenant erase`");
            assert!(is_told, "step {step}: {checked:?}");
        }
        erase(&copy, &tenant, &[]).expect_success();
        check_erased(&copy, &victim, &format!("after a crash at step {step}"));
        // The check writes new notes.
        fs::write(notes, &noted).unwrap();
        let checks = [&["check"][..], &["audit", "verify", "--notes", notes]];
        for arguments in checks {
            run(&copy, &tenant, arguments, &[]).expect_success();
        }
        for (other, before) in neighbours.iter().zip(&neighbours_before) {
            assert!(stopped.export(&copy, other) == *before, "step {step}: {other:?}");
        }
        fs::remove_dir_all(copy).unwrap();
    }

    fs::write(notes, &noted).unwrap();
    check_erasure(&stopped, &tenant, &victim, notes);
    for (other, before) in neighbours.iter().zip(&neighbours_before) {
        assert!(stopped.export(&data_dir, other) == *before, "{other:?}");
    }
    check_statement(&stopped, &tenant, &log);

    // A new project of the same name begins with nothing.
    world.service.restart();
    let token = victim.scope.token(Persona::Developer);
    let service = &world.service;
    let listed = service.get(&token, "/prompts").await.expect_status(200);
    assert!(!listed.text().contains(&victim.mark), "{}", listed.text());
    service
        .post(&token, "/prompts", &prompt("again"))
        .await
        .expect_status(201);
    run(&data_dir, &tenant, &["audit", "archive", "--sign"], &[]).expect_success();
    victim.scope.check().await;
    let verified = run(&data_dir, &tenant, &["audit", "verify", "--notes", notes], &[]).expect_success();
    assert!(verified.stdout.contains("erased at"), "{verified:?}");
    let trail = service.get(&token, "/audit-trail").await.expect_status(200);
    assert!(
        !trail.text().contains(&victim.value("prompt")),
        "{}",
        trail.text()
    );
}

/// Names of no project are refused, and change nothing.
fn check_names(stopped: &Stopped, tenant: &[String], account: &str) {
    let data_dir = &stopped.data_dir;
    let folder = stopped.folder.path().join("nothing");
    let folder = folder.to_str().unwrap();
    for project in ["nothing", "project", "a#b"] {
        let unknown = of(account, project);
        erase(data_dir, &unknown, &[]).expect_refusal();
        for arguments in [&["tenant", "erase"][..], &["tenant", "export", folder]] {
            run(data_dir, &unknown, arguments, &[]).expect_refusal();
        }
    }
    assert!(!Path::new(folder).exists());
    let full = stopped.folder.path().to_str().unwrap();
    fs::write(stopped.folder.path().join("a"), "a").unwrap();
    let refused = run(data_dir, tenant, &["tenant", "export", full], &[]).expect_refusal();
    assert!(refused.stderr.contains("is not empty"), "{refused:?}");
    let own = format!("{}/{}", tenant[1], tenant[3]);
    let (other, long) = (format!("{own}-other"), "x".repeat(201));
    for arguments in [
        &["--yes"][..],
        &["--yes", &own],
        &["--yes", &own, "--operator", "ann"],
        &["--yes", &own, "--operator", "ann", "--reason", " "],
        &["--yes", &own, "--operator", &long, "--reason", "x"],
        &["--yes", &other, "--operator", "ann", "--reason", "x"],
    ] {
        let arguments = [&["tenant", "erase"], arguments].concat();
        run(data_dir, tenant, &arguments, &[]).expect_refusal();
    }
}

/// Shows what would be erased, erases it, and does so again.
fn check_erasure(stopped: &Stopped, tenant: &[String], victim: &Household, notes: &str) {
    let data_dir = &stopped.data_dir;
    let export = stopped.export(data_dir, tenant);
    let shown = run(data_dir, tenant, &["tenant", "erase"], &[]).expect_success();
    assert!(shown.stdout.contains("Nothing was erased."), "{shown:?}");
    assert!(stopped.export(data_dir, tenant) == export, "nothing was erased");
    let erased = erase(data_dir, tenant, &[]).expect_success();
    assert!(erased.stdout.contains("is erased."), "{erased:?}");
    check_erased(data_dir, victim, "after the erasure");
    let again = erase(data_dir, tenant, &[]).expect_success();
    assert!(again.stdout.contains("is erased already."), "{again:?}");

    let checked = run(data_dir, tenant, &["check"], &[]).expect_success();
    assert!(checked.stdout.contains("was erased at"), "{checked:?}");
    run(data_dir, tenant, &["audit", "verify", "--notes", notes], &[]).expect_success();
    let left = stopped.export(data_dir, tenant);
    let objects = lines(&left["objects.ndjson"]);
    assert_eq!(objects.len(), 2, "one statement of each log: {objects:?}");
    let items: Vec<_> = ["records", "runs", "events", "audit"]
        .iter()
        .flat_map(|table| lines(&left[&format!("items/{table}.ndjson")]))
        .collect();
    assert_eq!(items.len(), 2, "one head of each log: {items:?}");
}

/// Checks the copy of the log from before, and attacks on the statement.
fn check_statement(stopped: &Stopped, tenant: &[String], copy: &Path) {
    let data_dir = &stopped.data_dir;
    let key = stopped.folder.path().join("key.pem");
    let pem = run(data_dir, tenant, &["audit", "key"], &[])
        .expect_success()
        .stdout;
    fs::write(&key, pem).unwrap();
    let key = key.to_str().unwrap();
    let verify = |folder: &Path| {
        let arguments = ["audit", "verify", folder.to_str().unwrap(), "--key", key];
        run(data_dir, tenant, &arguments, &[])
    };
    let old = verify(copy).expect_success();
    assert!(!old.stdout.contains("erased at"), "{old:?}");
    let new = stopped.folder.path().join("new/log");
    copy_folder(&data_dir.join(BUCKET).join("log"), &new);
    let erased = verify(&new).expect_success();
    assert_eq!(erased.stdout.matches("erased at").count(), 2, "{erased:?}");
    assert!(
        erased.stdout.contains("by ann, because: end of contract"),
        "{erased:?}"
    );
    // What was copied before, brought up to date without removals, holds as well.
    let both = stopped.folder.path().join("both/log");
    copy_folder(copy, &both);
    copy_folder(&new, &both);
    assert_eq!(
        verify(&both).expect_success().stdout.matches("erased at").count(),
        2
    );

    let own = format!("{}/{}/digests/audit", tenant[1], tenant[3]);
    let name = fs::read_dir(new.join(&own))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let text = fs::read_to_string(&name).unwrap();
    let unsigned = format!("{}.", text.rsplit_once('.').unwrap().0);
    let events = new.join(own.replace("audit", "events"));
    let of_events = fs::read_dir(events).unwrap().next().unwrap().unwrap().path();
    let of_events = fs::read_to_string(of_events).unwrap();
    for forged in [unsigned, of_events, text.replacen("ey", "eZ", 1), String::new()] {
        fs::write(&name, &forged).unwrap();
        let refused = verify(&new);
        assert_eq!(refused.code, Some(1), "{forged}: {refused:?}");
    }
    // In the data directory the head tells of the statement.
    let copy = stopped.copy("removed");
    let place = copy
        .join(BUCKET)
        .join("log")
        .join(&own)
        .join(name.file_name().unwrap());
    fs::remove_file(place).unwrap();
    assert_eq!(run(&copy, tenant, &["audit", "verify"], &[]).code, Some(1));
    assert_eq!(run(&copy, tenant, &["check"], &[]).code, Some(1));
}
