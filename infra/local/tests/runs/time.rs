//! Tests timers and due times.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use workflow::limits;
use workflow::status::RunStatus;

use crate::world::World;

#[tokio::test]
async fn a_timer_fires_by_a_message_or_where_that_is_lost_by_its_time() {
    let world = World::start().await;
    let run = world.begin("Wait", "w", json!(600)).await;
    world.drive(&run).await;
    let delayed: Vec<_> = world
        .hints()
        .into_iter()
        .filter(|(_, delay)| !delay.is_zero())
        .collect();
    assert_eq!(delayed.len(), 1);
    assert_eq!(delayed[0].1, Duration::from_secs(600));
    // A message before the due time changes nothing.
    world.pass(599);
    assert_eq!(world.drive(&run).await.status, RunStatus::Running);
    world.pass(1);
    assert!(world.due().await.is_empty(), "a message is on its way");
    world.pass(10);
    assert_eq!(world.due().await, std::slice::from_ref(&run));
    assert_eq!(world.drive(&run).await.status, RunStatus::Completed);
    assert!(world.due().await.is_empty());

    // A timer beyond a queue's longest delay has no message, and is due at its time.
    let run = world.begin("Wait", "long", json!(30 * 24 * 3_600)).await;
    world.hints();
    world.drive(&run).await;
    assert!(world.hints().iter().all(|(_, delay)| delay.is_zero()));
    world.pass(30 * 24 * 3_600 - 1);
    assert!(world.due().await.is_empty());
    world.pass(1);
    assert_eq!(world.due().await, std::slice::from_ref(&run));
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
}

#[tokio::test]
async fn the_next_process_sends_the_message_of_a_timer_again() {
    let world = World::start().await;
    let run = world.begin("Wait", "w", json!(10)).await;
    world.drive(&run).await;
    world.pass(4);
    // The message was lost with the process that ended.
    world.hints();
    let next = world.successor();
    assert_eq!(next.take_over().await.unwrap(), 1);
    let delays: Vec<_> = world.hints().into_iter().map(|(_, delay)| delay).collect();
    assert!(delays.contains(&Duration::from_secs(6)), "{delays:?}");
    world.pass(6);
    assert_eq!(world.drive(&run).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn a_run_whose_records_are_away_for_a_moment_is_taken_over_too() {
    let world = World::start().await;
    let run = world.begin("Wait", "w", json!(10)).await;
    world.drive(&run).await;
    world.hints();
    world.failing.store(2, Ordering::SeqCst);
    assert_eq!(world.successor().take_over().await.unwrap(), 1);
    assert_eq!(world.failing.load(Ordering::SeqCst), 0);
    let delays: Vec<_> = world.hints().into_iter().map(|(_, delay)| delay).collect();
    assert!(delays.contains(&Duration::from_secs(10)), "{delays:?}");
}

#[tokio::test]
async fn a_start_whose_message_was_lost_is_due_after_a_while() {
    let world = World::start().await;
    let run = world.begin("Count", "w", json!(1)).await;
    assert!(world.due().await.is_empty());
    world
        .clock
        .advance_ms(i64::try_from(limits::HINT_GRACE_MS).unwrap());
    assert_eq!(world.due().await, std::slice::from_ref(&run));
    // A clock that goes backwards does no harm.
    world.pass(-3_600);
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    assert!(history.windows(2).all(|pair| pair[0].time <= pair[1].time));
}
