//! Simulates the engine with faults drawn from a seed, so that a failure can be repeated.
//!
//! Several workers, clients and a sweeper share one memory for records, one queue and one clock. The seed
//! decides the order of their steps, which messages are lost or doubled, which writes fail or succeed and
//! report a failure, where a process dies and how the clock jumps. `SIM_SEED=7` runs one seed and prints its
//! steps; `SIM_SEEDS=20000` sets the number of seeds.

#![cfg(test)]

mod executor;
mod invariants;
mod memory;
mod scenario;
mod workloads;
mod world;

use scenario::{Mutant, Outcome, simulate};

/// Number of seeds without `SIM_SEEDS`.
const SEEDS: u64 = 500;
/// Number of seeds within which each mutant must be caught.
const MUTANT_SEEDS: u64 = 400;

#[expect(
    clippy::disallowed_methods,
    reason = "a simulation is told its seeds by its environment"
)]
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn the_invariants_hold_under_every_seed() {
    if let Some(seed) = variable("SIM_SEED") {
        let outcome = simulate(seed, Mutant::None);
        println!("{}", outcome.story.join("\n"));
        assert_eq!(outcome.violations, [""; 0], "seed {seed}");
        return;
    }
    let seeds = variable("SIM_SEEDS").unwrap_or(SEEDS);
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let mut totals = Outcome::default();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    let mut totals = Outcome::default();
                    for seed in (thread..seeds).step_by(threads as usize) {
                        let outcome = simulate(seed, Mutant::None);
                        assert!(
                            outcome.violations.is_empty(),
                            "seed {seed}: {:#?}\nits story:\n{}\nagain with SIM_SEED={seed}",
                            outcome.violations,
                            outcome.story.join("\n")
                        );
                        totals.add(&outcome);
                    }
                    totals
                })
            })
            .collect();
        for thread in all {
            totals.add(&thread.join().unwrap());
        }
    });
    println!("{seeds} seeds: {}", totals.counts());
    // Without faults of each kind the simulation proves nothing.
    for (what, count) in totals.each() {
        assert!(count > 0, "no seed had {what}");
    }
}

/// Asserts that some seed reports a violation when the mutant breaks one part of the protocol.
fn caught(mutant: Mutant) {
    let noticed = (0..MUTANT_SEEDS).find(|seed| !simulate(*seed, mutant).violations.is_empty());
    assert!(
        noticed.is_some(),
        "{mutant:?} was not caught within {MUTANT_SEEDS} seeds"
    );
}

#[test]
fn without_the_version_condition_it_is_noticed() {
    caught(Mutant::NoVersionCondition);
}

#[test]
fn without_the_outbox_it_is_noticed() {
    caught(Mutant::NoOutbox);
}

#[test]
fn without_the_check_that_a_run_has_ended_it_is_noticed() {
    caught(Mutant::NoTerminalCheck);
}

#[test]
fn without_the_deduplication_of_completions_it_is_noticed() {
    caught(Mutant::CompletionsNotDeduplicated);
}

#[test]
fn without_the_due_entry_it_is_noticed() {
    caught(Mutant::DueEntryForgotten);
}

#[test]
fn the_same_seed_is_the_same_story() {
    for seed in [3, 17, 99] {
        assert_eq!(
            simulate(seed, Mutant::None).story,
            simulate(seed, Mutant::None).story
        );
    }
}
