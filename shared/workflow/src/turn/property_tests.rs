//! Tests that code and history agree in any batching of events.

use std::time::Duration;

use proptest::prelude::*;

use super::tests::Run;
use crate::event::EventKind;
use crate::future::{Either, join_all, select};
use crate::{Context, Failure};

/// Starts many activities at once and follows each with a second one, so that the order of results shows in
/// the history.
async fn fan_out(context: Context, width: usize) -> Result<Vec<String>, Failure> {
    let one = |index: usize| {
        let context = context.clone();
        async move {
            let first: String = context.activity("first", &index).await?;
            let signals = context.signals("Go");
            match select(signals.receive::<String>(), context.timer(Duration::from_secs(5))).await {
                Either::Left((signal, _)) => context.activity("signalled", &signal?).await,
                Either::Right((fired, _)) => {
                    fired?;
                    Ok(first)
                }
            }
        }
    };
    join_all((0..width).map(one)).await.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In any batching of events into turns, code and history agree and the result is the same.
    #[test]
    fn batches_do_not_matter(width in 1_usize..60, choices in prop::collection::vec((0_usize..5, 0_usize..60), 1..200)) {
        let mut run = Run::start(fan_out, &width.to_string());
        run.turn();
        let mut ended = std::collections::BTreeSet::new();
        for (choice, index) in choices {
            if run.history.last().is_some_and(|event| event.kind.is_terminal()) {
                break;
            }
            let begun: Vec<_> = run.history.iter().filter(|event| match event.kind {
                EventKind::ActivityTaskScheduled { .. } => true,
                EventKind::TimerStarted { .. } => choice == 1,
                _ => false,
            } && !ended.contains(&event.id)).map(|event| (event.id, event.kind.clone())).collect();
            match (choice, begun.get(index % begun.len().max(1))) {
                (0 | 1, Some((id, EventKind::TimerStarted { .. }))) => {
                    ended.insert(*id);
                    run.append(EventKind::TimerFired { started_event_id: *id });
                }
                (0..=2, Some((id, _))) => {
                    ended.insert(*id);
                    run.complete(*id, "done");
                }
                (3, _) => run.signal("Go", "go"),
                _ => { run.turn(); }
            }
        }
        if !run.history.last().is_some_and(|event| event.kind.is_terminal()) {
            run.turn();
        }
    }
}
