//! Fuzzes backup archives: an archive is refused and leaves nothing, or becomes a data directory whose files
//! all have names of one. The input describes the entries of an archive.
#![no_main]

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use local::backup;
use local::data_dir::DataDir;
use platform::Clock;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

const HEAD: &str = "millrace-backup.json";
const SUMS: &str = "SHA256SUMS";

#[derive(Arbitrary, Debug)]
struct Archive {
    entries: Vec<Entry>,
    /// Sums of the entries as they are; otherwise the entries end without them.
    has_sums: bool,
    /// Changes of the compressed bytes: a position and a byte.
    changes: Vec<(u16, u8)>,
    cut: Option<u16>,
}

#[derive(Arbitrary, Debug)]
enum Entry {
    /// An entry of a true backup, by its number.
    True(u8),
    Made { name: Name, kind: Kind, size: Option<u64>, content: Vec<u8> },
}

#[derive(Arbitrary, Debug)]
enum Name {
    True(u8),
    Object(String),
    Any(String),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Kind {
    File,
    Folder,
    Symlink,
    Link,
    Sparse,
    LongName,
    Extended,
    Fifo,
    Any(u8),
}

/// Entries of a true backup, without its sums.
static TRUE: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let data = DataDir::open(&folder.path().join("data")).expect("a data directory");
    fs::create_dir_all(data.path("objects/data")).expect("a bucket");
    fs::write(data.path("objects/data/a.object"), b"an object").expect("an object");
    let file = folder.path().join("backup");
    backup::take(&data, &file, &Clock::System).expect("a backup");
    let decoder = zstd::Decoder::new(File::open(file).expect("the backup")).expect("zstd");
    let mut entries = Vec::new();
    for entry in tar::Archive::new(decoder).entries().expect("entries") {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a name").to_str().expect("a text").to_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("its content");
        if name != SUMS {
            entries.push((name, content));
        }
    }
    entries
});

impl Name {
    fn text(&self) -> String {
        match self {
            Self::True(number) => TRUE[usize::from(*number) % TRUE.len()].0.clone(),
            Self::Object(name) => format!("objects/data/{name}"),
            Self::Any(name) => name.clone(),
        }
    }
}

impl Kind {
    fn entry_type(self) -> tar::EntryType {
        match self {
            Self::File => tar::EntryType::Regular,
            Self::Folder => tar::EntryType::Directory,
            Self::Symlink => tar::EntryType::Symlink,
            Self::Link => tar::EntryType::Link,
            Self::Sparse => tar::EntryType::GNUSparse,
            Self::LongName => tar::EntryType::GNULongName,
            Self::Extended => tar::EntryType::XHeader,
            Self::Fifo => tar::EntryType::Fifo,
            Self::Any(byte) => tar::EntryType::new(byte),
        }
    }
}

impl Archive {
    fn bytes(&self) -> Vec<u8> {
        let (mut tar, mut sums) = (Vec::new(), String::new());
        for entry in &self.entries {
            let (name, content, kind, size) = match entry {
                Entry::True(number) => {
                    let (name, content) = &TRUE[usize::from(*number) % TRUE.len()];
                    (name.clone(), content.clone(), Kind::File, None)
                }
                Entry::Made { name, kind, size, content } => (name.text(), content.clone(), *kind, *size),
            };
            sums.push_str(&format!("{}  {name}\n", hex::encode(Sha256::digest(&content))));
            add(&mut tar, &name, &content, kind, size);
        }
        if self.has_sums {
            add(&mut tar, SUMS, sums.as_bytes(), Kind::File, None);
        }
        tar.extend([0; 1_024]);
        let mut bytes = zstd::encode_all(tar.as_slice(), 1).expect("zstd");
        for (at, byte) in &self.changes {
            let at = usize::from(*at) % bytes.len();
            bytes[at] = *byte;
        }
        bytes.truncate(self.cut.map_or(usize::MAX, usize::from));
        bytes
    }
}

/// Appends an entry as its parts say, also where a tar program would not make it.
fn add(tar: &mut Vec<u8>, name: &str, content: &[u8], kind: Kind, size: Option<u64>) {
    let mut header = tar::Header::new_gnu();
    let field = &mut header.as_gnu_mut().expect("a GNU header").name;
    for (to, from) in field.iter_mut().zip(name.bytes()) {
        *to = from;
    }
    header.set_entry_type(kind.entry_type());
    if matches!(kind, Kind::Symlink | Kind::Link) {
        let _ = header.set_link_name_literal(content.get(..100).unwrap_or(content));
    }
    header.set_mode(0o600);
    header.set_size(size.unwrap_or(content.len() as u64));
    header.set_cksum();
    tar.extend(header.as_bytes());
    tar.extend(content);
    tar.resize(tar.len().next_multiple_of(512), 0);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            match entry.file_type().expect("its type").is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    files
}

fn check(folder: &TempDir, archive: &Archive) {
    let (file, root) = (folder.path().join("backup"), folder.path().join("restored"));
    fs::write(&file, archive.bytes()).expect("a file");
    match backup::restore(&file, &root) {
        Ok(_) => {
            for path in files(folder.path()) {
                let name = path.strip_prefix(&root).ok().and_then(Path::to_str);
                let is_expected = |name: &str| {
                    ["format.json", "records.sqlite", "lock"].contains(&name)
                        || ["keys/", "objects/"].iter().any(|folder| name.starts_with(folder))
                };
                assert!(path == file || name.is_some_and(is_expected), "{path:?} was written");
                assert!(!path.is_symlink(), "{path:?} is a link");
            }
        }
        Err(error) => {
            assert!(error.status() < 500, "{error}: {:?}", std::error::Error::source(&error));
            assert!(!root.exists(), "a refused backup left {:?}", files(&root));
        }
    }
}

fuzz_target!(|archive: Archive| {
    assert_eq!(TRUE[0].0, HEAD);
    check(&tempfile::tempdir().expect("a folder"), &archive);
});
