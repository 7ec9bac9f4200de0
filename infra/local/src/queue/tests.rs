//! Tests the emulated queue.

use platform::Error;

use super::*;

/// Returns a handler that fails a message the first `times` times, and the log of its messages.
fn failing(times: usize) -> (Handler, Arc<Mutex<Vec<String>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&bodies);
    let handler: Handler = Arc::new(move |batch| {
        let log = Arc::clone(&log);
        Box::pin(async move {
            let handle = async |body: String| {
                let mut log = log.lock();
                log.push(body.clone());
                match log.iter().filter(|earlier| **earlier == body).count() <= times {
                    true => Err(Error::unavailable("not now")),
                    false => Ok(()),
                }
            };
            batch.each(handle).await
        })
    });
    (handler, bodies)
}

fn started(settings: Settings, handler: Handler) -> Arc<LocalQueue> {
    let queue = LocalQueue::new(settings);
    queue.consume(handler);
    queue
}

const SETTINGS: Settings = Settings {
    name: "test",
    batch_size: 10,
    max_receives: 5,
    concurrency: 1,
    group_share: usize::MAX,
};

#[tokio::test(start_paused = true)]
async fn a_failed_message_comes_again_after_its_back_off() {
    let (handler, bodies) = failing(1);
    let queue = started(SETTINGS, handler);
    let began = Instant::now();
    queue.send("a").await.unwrap();
    queue.send("b").await.unwrap();
    queue.drain().await;
    assert_eq!(*bodies.lock(), ["a", "b", "a", "b"]);
    assert!(began.elapsed() >= back_off(1));
    assert!(queue.dead_letters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_message_is_held_back_until_its_time_and_overtaken_until_then() {
    let (handler, bodies) = failing(0);
    let queue = started(SETTINGS, handler);
    let began = Instant::now();
    let delivery = Delivery {
        delay: Duration::from_secs(300),
        ..Delivery::default()
    };
    queue.send_as("late", delivery).await.unwrap();
    queue.send("early").await.unwrap();
    queue.drain().await;
    assert_eq!(*bodies.lock(), ["early", "late"]);
    assert!(began.elapsed() >= delivery.delay);
}

#[tokio::test(start_paused = true)]
async fn as_many_batches_are_handled_at_once_as_the_settings_say() {
    let most = Arc::new(Mutex::new((0, 0)));
    let counts = Arc::clone(&most);
    let handler: Handler = Arc::new(move |_| {
        let counts = Arc::clone(&counts);
        Box::pin(async move {
            let now = {
                let mut now_and_most = counts.lock();
                now_and_most.0 += 1;
                now_and_most.1 = now_and_most.1.max(now_and_most.0);
                now_and_most.0
            };
            tokio::time::sleep(Duration::from_secs(now)).await;
            counts.lock().0 -= 1;
            Vec::new()
        })
    });
    let settings = Settings {
        batch_size: 1,
        concurrency: 3,
        ..SETTINGS
    };
    let queue = started(settings, handler);
    for body in ["a", "b", "c", "d", "e", "f", "g"] {
        queue.send(body).await.unwrap();
    }
    queue.drain().await;
    assert_eq!(*most.lock(), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn a_group_does_not_hold_up_another() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&order);
    let handler: Handler = Arc::new(move |batch| {
        let log = Arc::clone(&log);
        Box::pin(async move {
            let handle = async |body: String| {
                if body.starts_with("slow") {
                    tokio::time::sleep(Duration::from_secs(10)).await;
                }
                log.lock().push(body);
                Ok(())
            };
            batch.each(handle).await
        })
    });
    let settings = Settings {
        batch_size: 1,
        concurrency: 4,
        group_share: 2,
        ..SETTINGS
    };
    let queue = started(settings, handler);
    let of = |group| Delivery {
        group: Some(group),
        ..Delivery::default()
    };
    for number in 0..6 {
        queue.send_as(&format!("slow {number}"), of("a")).await.unwrap();
    }
    for number in 0..3 {
        queue.send_as(&format!("quick {number}"), of("b")).await.unwrap();
    }
    let began = Instant::now();
    queue.drain().await;
    assert_eq!(began.elapsed().as_secs(), 30, "two of the slow group at a time");
    let order = order.lock();
    assert_eq!(order[..3], ["quick 0", "quick 1", "quick 2"]);
    assert_eq!(order.len(), 9);
}

#[tokio::test(start_paused = true)]
async fn an_account_has_half_however_many_groups_it_has() {
    let most = Arc::new(Mutex::new((0, 0)));
    let counts = Arc::clone(&most);
    let handler: Handler = Arc::new(move |_| {
        let counts = Arc::clone(&counts);
        Box::pin(async move {
            {
                let mut now_and_most = counts.lock();
                now_and_most.0 += 1;
                now_and_most.1 = now_and_most.1.max(now_and_most.0);
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
            counts.lock().0 -= 1;
            Vec::new()
        })
    });
    let settings = Settings {
        batch_size: 1,
        concurrency: 8,
        group_share: 2,
        ..SETTINGS
    };
    let queue = started(settings, handler);
    for group in 0..12 {
        let group = format!("subscription {group}");
        let delivery = Delivery {
            group: Some(&group),
            account: Some("a"),
            ..Delivery::default()
        };
        queue.send_as("a", delivery).await.unwrap();
    }
    queue.drain().await;
    assert_eq!(*most.lock(), (0, 4));
}

#[tokio::test(start_paused = true)]
async fn groups_take_turns() {
    let (handler, bodies) = failing(0);
    let settings = Settings {
        batch_size: 1,
        ..SETTINGS
    };
    let queue = started(settings, handler);
    for body in ["a 1", "a 2", "a 3", "a 4", "b 1", "c 1"] {
        let delivery = Delivery {
            group: body.get(..1),
            ..Delivery::default()
        };
        queue.send_as(body, delivery).await.unwrap();
    }
    queue.drain().await;
    assert_eq!(*bodies.lock(), ["a 1", "b 1", "c 1", "a 2", "a 3", "a 4"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_always_fails_is_set_aside() {
    let (handler, bodies) = failing(usize::MAX);
    let queue = started(SETTINGS, handler);
    queue.send("bad").await.unwrap();
    queue.drain().await;
    assert_eq!(bodies.lock().len(), 5);
    assert_eq!(queue.dead_letters(), ["bad"]);
}

#[tokio::test(start_paused = true)]
async fn depth_tells_ready_messages_from_later_ones() {
    let queue = LocalQueue::new(SETTINGS);
    queue.send("a").await.unwrap();
    tokio::time::advance(Duration::from_secs(2)).await;
    queue.send("b").await.unwrap();
    let delivery = Delivery {
        delay: Duration::from_secs(300),
        ..Delivery::default()
    };
    queue.send_as("late", delivery).await.unwrap();
    tokio::time::advance(Duration::from_secs(3)).await;
    let depth = queue.depth();
    assert_eq!(
        (depth.ready, depth.delayed, depth.in_flight, depth.dead),
        (2, 1, 0, 0)
    );
    assert_eq!(depth.oldest, Duration::from_secs(5));
}

/// Sends messages in this order to a queue that handles one at a time; returns the order in which it does.
async fn order_of(messages: &[(&str, Delivery<'_>)]) -> Vec<String> {
    let (handler, bodies) = failing(0);
    let settings = Settings {
        batch_size: 1,
        ..SETTINGS
    };
    let queue = LocalQueue::new(settings);
    for (body, delivery) in messages {
        queue.send_as(body, *delivery).await.unwrap();
    }
    queue.consume(handler);
    queue.drain().await;
    bodies.lock().clone()
}

fn of_project<'a>(project: &'a str, group: &'a str, priority: Priority) -> Delivery<'a> {
    Delivery {
        group: Some(group),
        account: Some("acme"),
        project: Some(project),
        priority,
        ..Delivery::default()
    }
}

#[tokio::test(start_paused = true)]
async fn messages_of_a_project_come_by_priority() {
    let of = |group, priority| of_project("shop", group, priority);
    let order = order_of(&[
        ("low 1", of("a", Priority::Low)),
        ("normal 1", of("b", Priority::Normal)),
        ("high 1", of("c", Priority::High)),
        ("low 2", of("a", Priority::Low)),
        ("normal 2", of("c", Priority::Normal)),
        ("high 2", of("c", Priority::High)),
    ])
    .await;
    assert_eq!(
        order,
        ["high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2"]
    );
}

#[tokio::test(start_paused = true)]
async fn high_priority_takes_no_turn_of_another_project_or_account() {
    let busy = of_project("busy", "a", Priority::High);
    let quiet = of_project("quiet", "b", Priority::Low);
    let other = Delivery {
        account: Some("globex"),
        ..quiet
    };
    let order = order_of(&[
        ("busy 1", busy),
        ("busy 2", busy),
        ("busy 3", busy),
        ("quiet 1", quiet),
        ("quiet 2", quiet),
        (
            "other 1",
            Delivery {
                group: Some("c"),
                ..other
            },
        ),
    ])
    .await;
    assert_eq!(
        order,
        ["busy 1", "other 1", "quiet 1", "busy 2", "quiet 2", "busy 3"]
    );
}
