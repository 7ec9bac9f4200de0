//! Tests that a task affects only its child.
#![cfg(test)]

use std::time::Duration;

use sandbox::{Exceeded, Limits, Sandbox};

const LIMITS: Limits = Limits {
    processor: Duration::from_millis(100),
    memory_bytes: 128 * 1_024 * 1_024,
    patience: Duration::from_secs(60),
};

fn sandbox(limits: Limits) -> Sandbox {
    Sandbox::with_program(env!("CARGO_BIN_EXE_sandbox-child").into(), "tests", limits, 2)
}

#[tokio::test]
async fn a_task_that_exceeds_its_limits_ends_and_the_next_one_works() {
    let sandbox = sandbox(LIMITS);
    for bomb in ["spin", "allocate", "overflow", "panic"] {
        assert_eq!(
            sandbox.run("a", bomb.as_bytes()).await.unwrap(),
            Err(Exceeded),
            "{bomb}"
        );
        assert_eq!(
            sandbox.run("a", b"echo").await.unwrap(),
            Ok(b"echo".to_vec()),
            "{bomb}"
        );
    }
    let long = vec![b'x'; 3_000_000];
    assert_eq!(sandbox.run("a", &long).await.unwrap(), Ok(long.clone()));
}

/// Idle time does not count towards the budget: only the parent's patience ends such a task.
#[tokio::test]
async fn a_task_that_waits_is_late() {
    let limits = Limits {
        patience: Duration::from_millis(300),
        ..LIMITS
    };
    assert_eq!(sandbox(limits).run("a", b"wait").await.unwrap_err().status(), 503);
}

/// The budget applies to each task, whatever earlier tasks used.
#[tokio::test]
async fn each_task_has_the_whole_budget() {
    let sandbox = sandbox(LIMITS);
    let large = vec![0; 1_000_000];
    for _ in 0..300 {
        assert!(sandbox.run("a", &large).await.unwrap().is_ok());
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_that_was_killed_while_it_waited_is_replaced() {
    let sandbox = sandbox(LIMITS);
    sandbox.warm().unwrap();
    let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    for child in children.split_whitespace() {
        let killed = std::process::Command::new("kill").args(["-9", child]).status();
        assert!(killed.unwrap().success());
    }
    assert_eq!(sandbox.run("a", b"echo").await.unwrap(), Ok(b"echo".to_vec()));
}
