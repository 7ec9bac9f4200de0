//! Tests a loss of power: synced data survives, and other data survives in part.
//!
//! A writer runs under `strace`, which records the order of its writes, syncs and answers. From that the test
//! builds disks that a loss of power could have left at any point: without a sync, each name, each write and
//! each sector of 512 bytes may be present or not, by a seed. Each disk is opened as after a start, and must
//! contain everything that was answered, and nothing incomplete.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod calls;
mod check;
mod disk;
mod writer;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use calls::{Call, Traced};
use disk::Disk;

/// Number of points at which the power fails.
const POINTS: usize = 250;

/// Runs the writer in a folder.
fn traced(folder: &Path) -> Vec<Traced> {
    let (trace, output) = (folder.join("trace"), folder.join("output"));
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    File::create(data.join(writer::MARK)).unwrap();
    let program = std::env::current_exe().unwrap();
    let ran = Command::new("strace")
        .args(["-f", "-y", "-xx", "-s", "1000000", "-e", calls::TRACED, "-o"])
        .arg(&trace)
        .arg(program)
        .args(["--exact", writer::NAME, "--ignored", "--nocapture"])
        .current_dir(&data)
        .stdout(File::create(&output).unwrap())
        .output();
    let ran = ran.expect("strace is missing: install it, or leave the test out by `-- --skip _under_strace`");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "the writer failed: {said}");
    calls::read(&trace, &data, &output)
}

#[test]
fn files_after_a_power_loss_are_whole_and_have_all_that_was_answered_under_strace() {
    let folder = tempfile::tempdir().unwrap();
    // As in the trace.
    let path = folder.path().canonicalize().unwrap();
    let traced = traced(&path);
    let lines = traced.iter().filter_map(|call| call.ended).max().unwrap();
    let (mut kept, mut lost) = (0, 0);
    for point in 0..POINTS {
        let line = lines * (point + 1) / POINTS;
        let mut disk = Disk::default();
        let mut answers = Vec::new();
        for call in disk::until(&traced, line) {
            match call {
                disk::Moment::Begins(Traced {
                    call: Call::Answer(text),
                    ..
                }) => answers.push(text.as_str()),
                disk::Moment::Begins(call) => disk.begin(call),
                disk::Moment::Ends(call) => disk.end(call),
            }
        }
        let image = path.join(format!("image-{point}"));
        lost += disk.write(&image, point as u64);
        kept += check::whole(&image, &answers, point);
        fs::remove_dir_all(&image).unwrap();
    }
    // The test would prove nothing if every write were synced immediately, or none.
    assert!(
        lost > POINTS && kept > POINTS,
        "{lost} writes were lost, {kept} commits kept"
    );
}
