//! `ops run`: starts workflow runs, which no endpoint does, and shows them.

use std::sync::Arc;

use clap::Subcommand;
use platform::auth::{RunAsRole, Viewer};
use platform::config::{AwsEnvironment, ConfigError, Environment, Secret};
use platform::page_token::PageTokens;
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Result};
use runs::{agent, webhook_delivery};
use serde_json::json;
use workflow::engine::{Engine, HistoryForm, StartRun, document_of};
use workflow::listing::{self, RunListings, RunPage, RunSelection};
use workflow::records::Runs;
use workflow::state::About;
use workflow::views::{EventHistory, History, WorkflowRun, WorkflowRunPage, WorkflowRunSummary};
use workflow::wiring::Wiring;
use workflow::{Payload, Registry};

use crate::input::InputArguments;
use crate::output::Output;
use crate::target::Target;

const OPERATOR: &str = "user:ops";

/// What to do with workflow runs.
#[derive(Subcommand)]
pub enum RunCommand {
    /// Starts a run; if the workflow id has an open run, shows that run.
    Start {
        /// The workflow type.
        workflow_type: String,
        /// The workflow id. Default: a new one.
        #[arg(long)]
        id: Option<String>,
        #[command(flatten)]
        input: InputArguments,
        /// Time limit of the run.
        #[arg(long, value_name = "SECONDS")]
        timeout_seconds: Option<u64>,
        /// Role with which the run calls the platform: automation, executor or reader. Without one it cannot
        /// call the platform.
        #[arg(long)]
        role: Option<RunAsRole>,
        /// Id of the user of the run; a private conversation belongs to this user.
        #[arg(long)]
        user: Option<String>,
    },
    /// Lists runs, newest first.
    List {
        /// A condition in the list-filter language, such as "ExecutionStatus = 'RUNNING'".
        #[arg(long, default_value = "")]
        query: String,
        /// Most runs to list.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
        /// Also lists the runs that carry out deliveries of events.
        #[arg(long)]
        deliveries: bool,
    },
    /// Shows a run with its history.
    Show {
        /// Id of the run, or a workflow id for its newest run.
        run: String,
    },
}

pub async fn run(command: RunCommand, target: &Target, output: Output) -> Result<()> {
    let runs = Runs::new(target.runs.clone(), target.events.clone()).retaining(target.retention);
    let engine = engine(target, &runs)?;
    match command {
        RunCommand::Start {
            workflow_type,
            id,
            input,
            timeout_seconds,
            role,
            user,
        } => {
            let input = input.value()?;
            let about = About {
                initiated_by: user.map_or_else(|| OPERATOR.to_owned(), |user| format!("user:{user}")),
                run_as_role: role,
                ..About::default()
            };
            let about = match workflow_type == agent::WORKFLOW_TYPE.name() {
                true => agent::about(&input, about),
                false => about,
            };
            let input = Payload::from_value(&input).map_err(|failure| Error::invalid(failure.message))?;
            let id = id.unwrap_or_else(|| platform::ids::new_id(target.clock.now()));
            let start = StartRun {
                about: About {
                    document_id: document_of(&input),
                    ..about
                },
                timeout_ms: timeout_seconds.map(|seconds| seconds.saturating_mul(1_000)),
                ..StartRun::new(&workflow_type, &id, input)
            };
            let started = engine.start(&target.tenant, &start).await?;
            if started.is_new {
                let run = ("workflow", started.run_id.as_str());
                target
                    .audit_for(&target.tenant, AuditAction::Create, run, start.about.private_to())
                    .await?;
            }
            let what = if started.is_new {
                "Started"
            } else {
                "Already under way:"
            };
            let lines = format!("{what} run {} of workflow {id}.", started.run_id);
            let value = json!({ "workflow_id": id, "run_id": started.run_id, "is_new": started.is_new });
            output.print(&value, &lines)
        }
        RunCommand::List {
            query,
            limit,
            deliveries,
        } => {
            // Parse the query alone first, so that an error gives columns of the caller's text.
            listing::filter(&query)?;
            let filter = match deliveries {
                true => query,
                false => without_deliveries(&query),
            };
            list(target, runs, filter, limit, output).await
        }
        RunCommand::Show { run } => {
            let state = match engine.get(&target.tenant, &run).await {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let newest = runs.find_current(&target.tenant, &run).await?.ok_or(error)?;
                    engine.get(&target.tenant, &newest).await?
                }
                result => result?,
            };
            let form = Some(HistoryForm::Events { after: 0 });
            let detail = engine.describe(&target.tenant, &state, form).await?;
            output.print(&detail, &render(&detail))
        }
    }
}

async fn page(target: &Target, runs: &Runs, filter: String, limit: u16) -> Result<RunPage> {
    // Only one page is read and its page token is not used, so a fixed key is enough.
    let tokens = PageTokens::new(Secret::new(OPERATOR));
    // A command has no time limit.
    let listings = RunListings::new(runs.clone(), tokens, target.clock.clone()).looking_ms(u64::MAX);
    let viewer = Viewer::operator();
    let selection = RunSelection {
        filter,
        ..RunSelection::default()
    };
    let tenant = &target.tenant;
    listings
        .list(tenant, &viewer, &selection, limit.into(), None)
        .await
}

async fn list(target: &Target, runs: Runs, filter: String, limit: u16, output: Output) -> Result<()> {
    let page = page(target, &runs, filter, limit).await?;
    let listing = WorkflowRunPage {
        has_more: page.next_page_token.is_some(),
        next_page_token: None,
        runs: page.runs.into_iter().map(WorkflowRunSummary::from).collect(),
    };
    let line = |run: &WorkflowRunSummary| {
        format!(
            "{}  {:<16} {}  {}  {}",
            run.started_at, run.status, run.run_id, run.workflow_type, run.workflow_id
        )
    };
    let mut lines: Vec<_> = listing.runs.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("There are no such runs. Those of deliveries are listed with --deliveries.".to_owned());
    }
    if listing.has_more {
        lines.push("There are more: raise --limit, or narrow the --query.".to_owned());
    }
    output.print(&listing, &lines.join("\n"))
}

fn without_deliveries(query: &str) -> String {
    let others = format!("WorkflowType != '{}'", webhook_delivery::WORKFLOW_TYPE);
    match query.trim() {
        "" => others,
        query => format!("({query}) AND {others}"),
    }
}

fn render(detail: &WorkflowRun) -> String {
    let mut lines = vec![
        format!(
            "{} {} of workflow {}",
            detail.workflow_type, detail.run_id, detail.workflow_id
        ),
        lasted(detail),
        format!("by      {}", detail.initiated_by),
        format!("input   {}", detail.input),
    ];
    lines.extend(detail.result.as_ref().map(|result| format!("result  {result}")));
    lines.extend(
        detail
            .error
            .as_ref()
            .map(|error| format!("error   {}: {}", error.kind, error.message)),
    );
    lines.extend(detail.pending_workflow_task.as_ref().map(|task| {
        format!(
            "turn    failed {} times, next try {}: {}",
            task.attempt, task.next_attempt_time, task.last_failure.message
        )
    }));
    for activity in &detail.pending_activities {
        lines.push(format!(
            "pending {} (attempt {})",
            activity.activity_type, activity.attempt
        ));
    }
    if let Some(History::Events(EventHistory { events, .. })) = &detail.history {
        for event in events {
            let what = event.activity.as_ref().map(|activity| activity.name.as_str());
            let what = what.or(event.signal.as_ref().map(|signal| signal.name.as_str()));
            let what = what.or(event.child.as_ref().map(|child| child.workflow_type.as_str()));
            let name = event.event_type.trim_start_matches("EVENT_TYPE_");
            lines.push(format!(
                "{:>5}  {}  {name} {}",
                event.event_id,
                event.event_time,
                what.unwrap_or_default()
            ));
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the status and the run's duration so far.
fn lasted(run: &WorkflowRun) -> String {
    match (run.closed_at, run.execution_duration) {
        (Some(closed_at), Some(seconds)) => {
            format!(
                "{} at {closed_at}, {seconds} s after {}",
                run.status, run.started_at
            )
        }
        _ => format!("{} since {}", run.status, run.started_at),
    }
}

/// Returns the workflow types of the target. The local runner and the emulator have the samples.
pub fn registry(target: &Target) -> Result<Registry> {
    match target.is_local() || AwsEnvironment::read().is_emulated() {
        true => samples::registry(&Environment::read().map_err(refused)?).map_err(refused),
        false => Ok(runs::registry()),
    }
}

/// Returns an engine that starts and reads runs; it does not drive them.
pub fn engine(target: &Target, runs: &Runs) -> Result<Engine> {
    let registry = registry(target)?;
    let wiring = Wiring {
        runs: runs.clone(),
        objects: target.objects.clone(),
        queue: Arc::clone(&target.tasks),
        bus: target.bus.clone(),
        clock: target.clock.clone(),
        listener: None,
        api: None,
    };
    wiring.engine(registry).map_err(refused)
}

fn refused(error: ConfigError) -> Error {
    Error::invalid(error.to_string())
}
