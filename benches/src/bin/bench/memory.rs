//! Measures the memory of a process and its descendants together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two measurements.
const PAUSE: Duration = Duration::from_millis(5);

/// Watches a process and its descendants through Linux's `/proc`.
pub struct Watch {
    is_over: Arc<AtomicBool>,
    peak_kib: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn over(process: u32) -> Self {
        let (is_over, peak_kib) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (over, peak) = (is_over.clone(), peak_kib.clone());
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                peak.fetch_max(resident_kib(process), Ordering::Relaxed);
                std::thread::sleep(PAUSE);
            }
        });
        Self {
            is_over,
            peak_kib,
            thread: Some(thread),
        }
    }

    /// Stops watching. Returns the highest total resident memory, in millions of bytes. Pages of files, such
    /// as the library, which the processes share, count once: those of the process with most. Returns 0 where
    /// there is no `/proc`.
    pub fn peak_megabytes(mut self) -> f64 {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.peak_kib.load(Ordering::Relaxed) as f64 * 1_024.0 / 1e6
    }
}

pub fn resident_kib(process: u32) -> u64 {
    let (own, files) = resident(process);
    own + files
}

/// Returns the resident memory of a process and its descendants: what is theirs alone, together, and the most
/// pages of files that one of them has.
fn resident(process: u32) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        number.unwrap_or(0)
    };
    let (mut own, mut files) = (kib("RssAnon:") + kib("RssShmem:"), kib("RssFile:"));
    for child in children(process) {
        let (child_own, child_files) = resident(child);
        own += child_own;
        files = files.max(child_files);
    }
    (own, files)
}

fn children(process: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let lists = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let lists: Vec<_> = lists.collect();
    let ids = lists.iter().flat_map(|list| list.split_whitespace());
    ids.filter_map(|id| id.parse().ok()).collect()
}
