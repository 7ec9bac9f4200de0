//! Checks that a statement that passes the checker leaves the files, the tables and the child unchanged. The
//! input is a statement.
#![no_main]

use std::path::Path;
use std::process::abort;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{LazyLock, Mutex};
use std::thread;

use lake::fuzzing::{Outcome, Target};
use libfuzzer_sys::{Corpus, fuzz_target};

/// The stack size of a child's worker thread.
const STACK_BYTES: usize = 64 * 1024 * 1024;
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/data/tpch");

/// Channels to a child: sends statements, and receives whether they passed the checker.
static CHILD: LazyLock<Mutex<(Sender<String>, Receiver<bool>)>> = LazyLock::new(|| {
    let (statements, work) = mpsc::channel();
    let (done, outcomes) = mpsc::channel();
    let child = thread::Builder::new().stack_size(STACK_BYTES);
    child.spawn(move || run(&work, &done)).expect("a thread");
    Mutex::new((statements, outcomes))
});

fn run(work: &Receiver<String>, done: &Sender<bool>) {
    let folder = tempfile::tempdir().expect("a folder");
    // Makes a file visible that a statement writes without a path.
    std::env::set_current_dir(folder.path()).expect("the folder");
    let mut target = Target::open(folder.path(), Path::new(SAMPLES)).expect("a store");
    let mut counts = [0_u64; 5];
    while let Ok(statement) = work.recv() {
        let outcome = match target.run(&statement) {
            Ok(outcome) => outcome,
            Err(found) => {
                eprintln!("{statement}\n{found}");
                abort();
            }
        };
        if outcome == Outcome::Broken {
            eprintln!("broken by {statement}");
        }
        counts[outcome as usize] += 1;
        let all: u64 = counts.iter().sum();
        if all.is_multiple_of(1_000) {
            let [refused, failed, stopped, answered, broken] = counts;
            eprintln!(
                "{all} statements: {refused} refused; of the rest {answered} answered, {failed} failed, {stopped} stopped, \
                 {broken} broke DuckDB"
            );
        }
        if done.send(outcome != Outcome::Refused).is_err() {
            return;
        }
    }
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(statement) = str::from_utf8(data) else {
        return Corpus::Reject;
    };
    let child = CHILD.lock().expect("no thread panicked");
    child.0.send(statement.to_owned()).expect("the child works");
    child.1.recv().expect("the child answers");
    Corpus::Keep
});
