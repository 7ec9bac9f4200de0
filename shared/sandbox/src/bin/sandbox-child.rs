//! Child process for the tests of this crate; its input selects what it does.

use std::hint::black_box;

fn main() {
    sandbox::run_if_child("tests", |input| match input {
        b"spin" => loop {
            black_box(input);
        },
        b"allocate" => {
            let mut kept = Vec::new();
            loop {
                kept.push(vec![1_u8; 1 << 20]);
                black_box(&kept);
            }
        }
        b"overflow" => vec![deep(1)],
        b"panic" => input.iter().map(|byte| 255 / (byte - b'p')).collect(),
        b"wait" => loop {
            std::thread::park();
        },
        other => other.to_vec(),
    });
}

fn deep(level: u8) -> u8 {
    let below = [level; 1_024];
    match black_box(level) {
        0 => 0,
        _ => deep(black_box(below)[1_023]).wrapping_add(1),
    }
}
