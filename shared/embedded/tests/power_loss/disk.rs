//! Simulates a disk that keeps all synced data, and a random part of the rest.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use crate::calls::{Call, Traced};

/// Unit that a disk writes atomically.
const SECTOR_BYTES: usize = 512;

pub enum Moment<'a> {
    Begins(&'a Traced),
    Ends(&'a Traced),
}

/// Returns what happened up to a line of the trace, in order.
pub fn until(calls: &[Traced], line: usize) -> Vec<Moment<'_>> {
    let begins = calls.iter().map(|call| (call.began, 0, Moment::Begins(call)));
    let ends = calls
        .iter()
        .filter_map(|call| Some((call.ended?, 1, Moment::Ends(call))));
    let mut moments: Vec<_> = begins.chain(ends).filter(|(at, ..)| *at <= line).collect();
    moments.sort_by_key(|(at, kind, _)| (*at, *kind));
    moments.into_iter().map(|(.., moment)| moment).collect()
}

/// Files and folders; the first is the folder of the writer.
pub struct Disk {
    nodes: Vec<Node>,
    /// As visible to the writer.
    names: HashMap<PathBuf, usize>,
}

#[derive(Default)]
struct Node {
    is_folder: bool,
    /// Durable content of a file.
    bytes: Vec<u8>,
    /// Durable names in a folder.
    names: BTreeMap<PathBuf, usize>,
    /// Changes without a sync, with the line where the call ended.
    pending: Vec<(Option<usize>, Change)>,
    /// Length of a file, as visible to the writer.
    length: u64,
}

enum Change {
    Write { at: u64, bytes: Vec<u8> },
    Truncate(u64),
    Name(PathBuf, Option<usize>),
}

impl Default for Disk {
    fn default() -> Self {
        let root = Node {
            is_folder: true,
            ..Node::default()
        };
        Self {
            nodes: vec![root],
            names: HashMap::from([(PathBuf::new(), 0)]),
        }
    }
}

impl Disk {
    /// From now on the call may be on the disk.
    pub fn begin(&mut self, traced: &Traced) {
        let ended = traced.ended;
        match &traced.call {
            Call::Create { path } if !self.names.contains_key(path) => self.make(path, false, ended),
            Call::MakeFolder { path } => self.make(path, true, ended),
            Call::Create { .. } | Call::Sync { .. } | Call::Answer(_) => {}
            Call::Write { path, at, bytes } => {
                let file = self.file(path);
                let at = at.unwrap_or(file.length);
                file.length = file.length.max(at + bytes.len() as u64);
                let bytes = bytes.clone();
                file.pending.push((ended, Change::Write { at, bytes }));
            }
            Call::Truncate { path, length } => {
                let file = self.file(path);
                file.length = *length;
                file.pending.push((ended, Change::Truncate(*length)));
            }
            Call::Link { from, to, is_rename } => {
                let node = self.names[from];
                self.name(to, Some(node), ended);
                if *is_rename {
                    self.name(from, None, ended);
                }
            }
            Call::Remove { path } => self.name(path, None, ended),
        }
    }

    /// From now on everything is durable that ended before this sync started.
    pub fn end(&mut self, traced: &Traced) {
        let Call::Sync { path } = &traced.call else {
            return;
        };
        let Some(node) = self.names.get(path) else {
            return;
        };
        let node = &mut self.nodes[*node];
        let is_synced = |ended: &Option<usize>| ended.is_some_and(|ended| ended < traced.began);
        let (synced, pending) = std::mem::take(&mut node.pending)
            .into_iter()
            .partition(|(ended, _)| is_synced(ended));
        node.pending = pending;
        let synced: Vec<_> = synced;
        for (_, change) in synced {
            match change {
                Change::Name(name, Some(of)) => drop(node.names.insert(name, of)),
                Change::Name(name, None) => drop(node.names.remove(&name)),
                of_file => apply(&mut node.bytes, &of_file, |_| true),
            }
        }
    }

    /// Writes one of the possible disks after a loss of power; returns how many changes are missing or
    /// incomplete.
    pub fn write(&self, to: &Path, seed: u64) -> usize {
        let mut chance = Chance::new(seed);
        let mut lost = 0;
        // A file may have several names.
        let files: Vec<_> = self
            .nodes
            .iter()
            .map(|node| self.bytes(node, &mut chance, &mut lost))
            .collect();
        let mut folders = vec![(0, to.to_owned())];
        while let Some((node, path)) = folders.pop() {
            fs::create_dir_all(&path).unwrap();
            for (name, node) in self.names(&self.nodes[node], &mut chance, &mut lost) {
                let path = path.join(name);
                match self.nodes[node].is_folder {
                    true => folders.push((node, path)),
                    false => fs::write(path, &files[node]).unwrap(),
                }
            }
        }
        lost
    }

    fn bytes(&self, node: &Node, chance: &mut Chance, lost: &mut usize) -> Vec<u8> {
        let mut bytes = node.bytes.clone();
        for (_, change) in node.pending.iter().filter(|_| !node.is_folder) {
            match chance.of(3) {
                0 => *lost += 1,
                1 => apply(&mut bytes, change, |_| true),
                _ => {
                    *lost += 1;
                    apply(&mut bytes, change, |_| chance.of(2) == 0);
                }
            }
        }
        bytes
    }

    /// Each name refers to any of its files since the last sync.
    fn names(&self, folder: &Node, chance: &mut Chance, lost: &mut usize) -> BTreeMap<PathBuf, usize> {
        let mut states: BTreeMap<&PathBuf, Vec<Option<usize>>> = BTreeMap::new();
        for (_, change) in &folder.pending {
            if let Change::Name(name, of) = change {
                let first = || vec![folder.names.get(name).copied()];
                states.entry(name).or_insert_with(first).push(*of);
            }
        }
        let mut names = folder.names.clone();
        for (name, states) in states {
            let chosen = chance.of(states.len());
            *lost += states.len() - 1 - chosen;
            match states[chosen] {
                Some(node) => drop(names.insert(name.clone(), node)),
                None => drop(names.remove(name)),
            }
        }
        names
    }

    fn make(&mut self, path: &Path, is_folder: bool, ended: Option<usize>) {
        self.nodes.push(Node {
            is_folder,
            ..Node::default()
        });
        self.name(path, Some(self.nodes.len() - 1), ended);
    }

    fn name(&mut self, path: &Path, node: Option<usize>, ended: Option<usize>) {
        match node {
            Some(node) => drop(self.names.insert(path.to_owned(), node)),
            None => drop(self.names.remove(path)),
        }
        let folder = self.names[path.parent().unwrap()];
        let name = PathBuf::from(path.file_name().unwrap());
        self.nodes[folder].pending.push((ended, Change::Name(name, node)));
    }

    fn file(&mut self, path: &Path) -> &mut Node {
        let node = self
            .names
            .get(path)
            .unwrap_or_else(|| panic!("{} is not known", path.display()));
        &mut self.nodes[*node]
    }
}

/// Changes those sectors of a file for which `is_there` returns true.
fn apply(bytes: &mut Vec<u8>, change: &Change, mut is_there: impl FnMut(usize) -> bool) {
    match change {
        Change::Truncate(length) => bytes.resize(usize::try_from(*length).unwrap(), 0),
        Change::Write { at, bytes: written } => {
            let mut place = usize::try_from(*at).unwrap();
            let mut rest = &written[..];
            while !rest.is_empty() {
                let length = (SECTOR_BYTES - place % SECTOR_BYTES).min(rest.len());
                let (sector, behind) = rest.split_at(length);
                if is_there(place) {
                    bytes.resize(bytes.len().max(place + length), 0);
                    bytes[place..place + length].copy_from_slice(sector);
                }
                (place, rest) = (place + length, behind);
            }
        }
        Change::Name(..) => {}
    }
}

/// Random numbers from a seed: SplitMix64.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn of(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((number ^ (number >> 31)) % count as u64).unwrap()
    }
}
