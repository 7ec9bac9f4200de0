//! Simulated workflows, which wait for each kind of event, alone and in combination.

use std::time::Duration;

use rand::RngExt as _;
use workflow::engine::Sleep as _;
use workflow::future::{Either, join_all, select};
use workflow::{Context, Failure, Registry, RetryPolicy};

use crate::world::Shared;

/// One activity after another.
async fn steps(context: Context, count: u32) -> Result<u32, Failure> {
    for step in 0..count {
        let () = step_of(&context, step).await?;
    }
    Ok(count)
}

async fn step_of(context: &Context, step: u32) -> Result<(), Failure> {
    context
        .activity("step", &step)
        .start_to_close(Duration::from_secs(20))
        .retry(RetryPolicy {
            maximum_interval_ms: 10_000,
            ..RetryPolicy::default()
        })
        .await
}

/// Several concurrent activities, each followed by a timer.
async fn fan_out(context: Context, width: u32) -> Result<(), Failure> {
    let one = |step: u32| {
        let context = context.clone();
        async move {
            step_of(&context, step).await?;
            context.timer(Duration::from_secs(u64::from(step) + 1)).await?;
            step_of(&context, step).await
        }
    };
    join_all((0..width).map(one)).await.into_iter().collect()
}

/// Reads signals until one is marked as the last.
async fn collect(context: Context, (): ()) -> Result<Vec<String>, Failure> {
    let signals = context.signals("Add");
    let mut read = Vec::new();
    loop {
        let signal: String = signals.receive().await?;
        let last = signal.ends_with("last");
        read.push(signal);
        context.publish("PROGRESS", "read", serde_json::json!(read.len()));
        if last {
            return Ok(read);
        }
        if read.len() % 2 == 0 {
            step_of(&context, 0).await?;
        }
    }
}

/// Waits for a signal or a timer, whichever comes first.
async fn race(context: Context, seconds: u64) -> Result<bool, Failure> {
    let scope = context.scope();
    let signals = context.signals("Add");
    let signal = signals.receive::<String>();
    match select(signal, scope.timer(Duration::from_secs(seconds))).await {
        Either::Left((signal, _)) => {
            signal?;
            scope.cancel();
            Ok(true)
        }
        Either::Right((fired, _)) => fired.map(|()| false),
    }
}

/// Several concurrent child runs, one of which fails.
async fn family(context: Context, width: u32) -> Result<u32, Failure> {
    let children = (0..width).map(|child| context.child::<u32>("Steps", &(child % 3)).start());
    let mut completed = 0;
    for child in join_all(children).await {
        completed += u32::from(child.is_ok());
    }
    let failed = context.child::<u32>("Steps", &"no number").await;
    match failed {
        Err(failure) if failure.is_canceled() => Err(failure),
        Err(_) => Ok(completed),
        Ok(_) => Err(Failure::new("Wrong", "A run with a wrong input completed.")),
    }
}

/// Works until it is cancelled, then cleans up.
async fn tidy(context: Context, (): ()) -> Result<(), Failure> {
    let work = async {
        for step in 0..3 {
            step_of(&context, step).await?;
            context.timer(Duration::from_secs(30)).await?;
        }
        Ok(())
    };
    let worked = work.await;
    let shielded = context.shielded();
    step_of(&shielded, 9).await?;
    worked
}

/// Continues as a new run with each signal.
async fn rounds(context: Context, round: u32) -> Result<u32, Failure> {
    let signal: String = context.signals("Add").receive().await?;
    if signal.ends_with("last") {
        return Ok(round);
    }
    step_of(&context, round).await?;
    Err(context.continue_as_new(&(round + 1)))
}

/// Continues as a new run twice, without a signal.
async fn relay(context: Context, round: u32) -> Result<u32, Failure> {
    step_of(&context, round).await?;
    match round {
        0 | 1 => Err(context.continue_as_new(&(round + 1))),
        _ => Ok(round),
    }
}

/// Waits for a child that continues as a new run.
async fn heirs(context: Context, (): ()) -> Result<(), Failure> {
    match context.child::<u32>("Relay", &0).await? {
        2 => Ok(()),
        other => Err(Failure::new(
            "Wrong",
            format!("The child that went on twice returned {other}."),
        )),
    }
}

/// Starts a child under a workflow id for which other runs compete.
async fn claim(context: Context, (): ()) -> Result<bool, Failure> {
    match context.child::<u32>("Steps", &2).workflow_id("taken").await {
        Ok(_) => Ok(true),
        Err(failure) if failure.kind == "WorkflowAlreadyStarted" => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Returns on cancellation or after 20 s, while a timer and an activity of its own are open.
async fn leave(context: Context, (): ()) -> Result<(), Failure> {
    let _timer = context.timer(Duration::from_secs(400));
    let _activity = context.activity::<()>("step", &7).start();
    let stopped = Box::pin(context.canceled());
    let _ = select(stopped, context.timer(Duration::from_secs(20))).await;
    Ok(())
}

/// Workflow types: name, input, whether they need signals to end.
pub const TYPES: [(&str, &str, bool); 10] = [
    ("Steps", "4", false),
    ("FanOut", "5", false),
    ("Collect", "null", true),
    ("Race", "40", false),
    ("Family", "3", false),
    ("Tidy", "null", false),
    ("Rounds", "0", true),
    ("Heirs", "null", false),
    ("Claim", "null", false),
    ("Leave", "null", false),
];

pub fn registry(world: &Shared) -> Registry {
    let world = world.clone();
    Registry::new()
        .workflow("Steps", steps)
        .workflow("FanOut", fan_out)
        .workflow("Collect", collect)
        .workflow("Race", race)
        .workflow("Family", family)
        .workflow("Tidy", tidy)
        .workflow("Rounds", rounds)
        .workflow("Relay", relay)
        .workflow("Heirs", heirs)
        .workflow("Claim", claim)
        .workflow("Leave", leave)
        .activity("step", move |context, _: u32| {
            let world = world.clone();
            async move {
                // Counts the call before anything can fail.
                let (pause, fails) = {
                    let mut world = world.lock();
                    let id = (context.run_id.clone(), context.activity_id.clone());
                    *world.calls.entry(id).or_default() += 1;
                    let pause = match world.pick(10) {
                        0 => world.random.random_range(0..1_000),
                        1 => world.random.random_range(0..25_000),
                        _ => 0,
                    };
                    let fails = world.troubled && world.chance(15);
                    (pause, fails)
                };
                world.pause().await;
                if pause > 0 {
                    world.sleep(pause).await;
                    context.heartbeat(&pause).await?;
                }
                if fails {
                    return Err(Failure::new("Simulated", "It failed."));
                }
                Ok(())
            }
        })
}
