//! Runs `faulty-millrace`: the local runner with seeded faults in its stores, queues and clock.
//!
//! It is a program of its own, so that `millrace` contains no code that makes faults.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use conformance::faults::{Faults, Faulty, FaultyBus, FaultyObjects, FaultyQueue, Rates};
use local::arguments::{Arguments, Mode};
use local::layers::Layers;
use local::program;
use local::services::TABLES;
use platform::Clock;
use platform::bus::Bus;
use platform::objects::ObjectStore;
use platform::queue::Queue;
use platform::records::store::RecordStore;

/// Time between two jumps of the clock.
const JUMP: Duration = Duration::from_secs(1);
/// Time between two writes of the counts.
const COUNT: Duration = Duration::from_millis(100);

/// Runs Millrace with faults.
#[derive(Parser)]
struct FaultArguments {
    #[command(flatten)]
    runner: Arguments,
    /// Seed of the faults.
    #[arg(long, env = "FAULTS_SEED", default_value_t = 1)]
    seed: u64,
    /// How often each fault happens, in percent of the calls: throttled=2,objects.failed=1.
    #[arg(long, env = "FAULTS", default_value = "")]
    faults: Rates,
    /// Largest jump of the clock from the machine's, in milliseconds.
    #[arg(long, env = "FAULTS_CLOCK_MS", default_value_t = 0)]
    clock_ms: i64,
    /// How far the clock is ahead of the machine's from the start, in hours; negative for behind.
    #[arg(
        long,
        env = "FAULTS_CLOCK_AHEAD_HOURS",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    clock_ahead_hours: i64,
    /// File that the number of each fault is written to.
    #[arg(long, env = "FAULTS_COUNTS")]
    counts: Option<PathBuf>,
}

/// Puts faults around every store, queue, bus and clock.
struct Around {
    faults: Faults,
    clock: Clock,
}

impl Layers for Around {
    fn records(&self, store: Arc<dyn RecordStore>) -> Arc<dyn RecordStore> {
        Arc::new(Faulty::with(store, &TABLES, &self.faults))
    }

    fn objects(&self, store: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        Arc::new(FaultyObjects::new(store, &self.faults))
    }

    fn queue(&self, queue: Arc<dyn Queue>) -> Arc<dyn Queue> {
        Arc::new(FaultyQueue::new(queue, &self.faults))
    }

    fn bus(&self, bus: Arc<dyn Bus>) -> Arc<dyn Bus> {
        Arc::new(FaultyBus::new(bus, &self.faults))
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}

fn main() -> ExitCode {
    program::run_if_child();
    let arguments = FaultArguments::parse();
    let (faults, clock) = (Faults::seeded(arguments.seed), Clock::shifted());
    faults.on(arguments.faults);
    clock.advance_ms(arguments.clock_ahead_hours.saturating_mul(3_600_000));
    if arguments.clock_ms > 0 {
        let (faults, clock) = (faults.clone(), clock.clone());
        std::thread::spawn(move || {
            loop {
                faults.jump(&clock, arguments.clock_ms);
                std::thread::sleep(JUMP);
            }
        });
    }
    if let Some(path) = arguments.counts {
        let faults = faults.clone();
        std::thread::spawn(move || {
            loop {
                let _ = std::fs::write(&path, faults.counts().to_string());
                std::thread::sleep(COUNT);
            }
        });
    }
    program::run(
        arguments.runner,
        Mode::Development,
        Arc::new(Around { faults, clock }),
    )
}
