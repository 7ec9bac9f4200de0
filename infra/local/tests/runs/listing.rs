//! Tests which runs a listing finds by several indexes at once, and where it continues.

use platform::auth::Viewer;
use platform::config::Secret;
use platform::page_token::PageTokens;
use serde_json::{Value, json};
use workflow::Payload;
use workflow::engine::StartRun;
use workflow::listing::{RunListings, RunSelection};
use workflow::state::About;
use workflow::status::RunStatus;

use crate::world::World;

const TYPES: [&str; 2] = ["Listen", "Echo"];

#[derive(Debug)]
struct StartedRun {
    run_id: String,
    workflow_type: &'static str,
    about: About,
    status: RunStatus,
}

/// Starts runs with every combination of properties, unevenly spread, several in the same millisecond.
async fn fill(world: &World) -> Vec<StartedRun> {
    let mut all = Vec::new();
    for number in 0..96_usize {
        let workflow_type = TYPES[usize::from(number % 7 == 3)];
        let id = |what: &str, count: usize| format!("{what}-{}", number % count);
        let about = About {
            initiated_by: id("user:u", 2),
            rule_id: (number % 3 > 0).then(|| id("rule", 5)),
            document_id: (number % 4 > 0).then(|| id("document", 11)),
            ..About::default()
        };
        let input = Payload::from_value(&match workflow_type {
            "Echo" => json!("text"),
            _ => Value::Null,
        });
        let start = StartRun {
            about: about.clone(),
            ..StartRun::new(workflow_type, &format!("w{number}"), input.unwrap())
        };
        let run_id = world.engine.start(&world.tenant, &start).await.unwrap().run_id;
        let status = if number.is_multiple_of(2) {
            world.drive(&run_id).await.status
        } else {
            RunStatus::Running
        };
        all.insert(
            0,
            StartedRun {
                run_id,
                workflow_type,
                about,
                status,
            },
        );
        world.clock.advance_ms(i64::from(number % 5 == 0));
    }
    all
}

/// Returns the ids of all runs of a listing, and the number of its pages.
async fn list(
    world: &World,
    looking_ms: u64,
    selection: &RunSelection,
    page_size: usize,
) -> (Vec<String>, usize) {
    let tokens = PageTokens::new(Secret::new("key"));
    let listings = RunListings::new(world.runs.clone(), tokens, world.clock.clone()).looking_ms(looking_ms);
    let (mut ids, mut pages, mut token) = (Vec::new(), 0, None);
    loop {
        let page = listings
            .list(
                &world.tenant,
                &Viewer::operator(),
                selection,
                page_size,
                token.as_deref(),
            )
            .await
            .unwrap();
        assert!(page.runs.len() <= page_size);
        ids.extend(page.runs.into_iter().map(|run| run.run_id));
        pages += 1;
        token = page.next_page_token;
        if token.is_none() {
            return (ids, pages);
        }
        assert!(pages < 1_000, "the listing does not end");
    }
}

fn selections() -> Vec<RunSelection> {
    let texts = |values: &[&str]| -> Vec<Option<String>> {
        let values = values.iter().map(|value| Some((*value).to_owned()));
        std::iter::once(None).chain(values).collect()
    };
    let statuses = [
        vec![],
        vec![RunStatus::Running],
        vec![RunStatus::Completed],
        vec![RunStatus::Failed, RunStatus::Running, RunStatus::Canceled],
        vec![RunStatus::Failed],
    ];
    let mut selections = Vec::new();
    for workflow_type in texts(&TYPES) {
        for rule_id in texts(&["rule-1", "rule-4", "none"]) {
            for document_id in texts(&["document-6"]) {
                for statuses in &statuses {
                    selections.push(RunSelection {
                        workflow_type: workflow_type.clone(),
                        rule_id: rule_id.clone(),
                        document_id: document_id.clone(),
                        statuses: statuses.clone(),
                        ..RunSelection::default()
                    });
                }
            }
        }
    }
    selections
}

fn expected(all: &[StartedRun], selection: &RunSelection) -> Vec<String> {
    let is = |expected: &Option<String>, had: Option<&str>| expected.is_none() || expected.as_deref() == had;
    let runs = all.iter().filter(|run| {
        is(&selection.workflow_type, Some(run.workflow_type))
            && is(&selection.rule_id, run.about.rule_id.as_deref())
            && is(&selection.document_id, run.about.document_id.as_deref())
            && is(&selection.initiated_by, Some(&run.about.initiated_by))
            && (selection.statuses.is_empty() || selection.statuses.contains(&run.status))
    });
    runs.map(|run| run.run_id.clone()).collect()
}

#[tokio::test]
async fn listing_by_several_properties_has_full_pages_of_the_runs_with_all_of_them() {
    let world = World::start().await;
    let all = fill(&world).await;
    for selection in selections() {
        let expected = expected(&all, &selection);
        for page_size in [1, 7, 500] {
            let pages = expected.len().div_ceil(page_size).max(1);
            let listed = list(&world, 10_000, &selection, page_size).await;
            assert_eq!(listed, (expected.clone(), pages), "{selection:?}");
        }
    }
}

#[tokio::test]
async fn listing_that_runs_out_of_time_continues_where_it_ended() {
    let world = World::start().await;
    let all = fill(&world).await;
    let of_user = RunSelection {
        initiated_by: Some("user:u-1".to_owned()),
        ..RunSelection::default()
    };
    for selection in selections().into_iter().chain([of_user]) {
        // Without time each page takes one step.
        let (ids, pages) = list(&world, 0, &selection, 7).await;
        assert_eq!(ids, expected(&all, &selection), "{selection:?}");
        assert!(pages > ids.len(), "{pages} pages");
    }
}
