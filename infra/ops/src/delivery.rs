//! `ops delivery`: searches deliveries, and retries them.

use clap::Subcommand;
use events::records::deliveries::{Deliveries, DeliveryRecord, DeliveryStatus};
use events::search::{DeliverySearch, DeliverySelection};
use platform::auth::Viewer;
use platform::config::Secret;
use platform::page_token::PageTokens;
use platform::records::audit::AuditAction;
use platform::{Result, UtcTime, ids};
use runs::redelivery::{OPERATOR, Redelivery, RedeliveryParts};
use runs::redrive::{Limits, matching};
use serde_json::json;
use workflow::records::Runs;

use crate::output::Output;
use crate::target::Target;

/// Deliveries per read.
const PAGE: usize = 200;

/// What to do with deliveries.
#[derive(Subcommand)]
pub enum DeliveryCommand {
    /// Lists deliveries, newest first.
    List {
        #[command(flatten)]
        which: Which,
        /// Only deliveries with one of these statuses, comma-joined, such as failed,retrying.
        #[arg(long, value_delimiter = ',', value_parser = status)]
        status: Vec<DeliveryStatus>,
        /// Most deliveries to list.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=200))]
        limit: u16,
    },
    /// Shows a delivery with its attempts.
    Show {
        /// The delivery's id.
        delivery: String,
    },
    /// Makes another attempt at once, instead of the waiting one or after the last one.
    Retry {
        /// The delivery's id.
        delivery: String,
    },
    /// Cancels an open delivery.
    Cancel {
        /// The delivery's id.
        delivery: String,
        /// Why, for the delivery's last error.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Makes another attempt of each failed or cancelled delivery. For a workflow target this starts another
    /// run, which repeats its work.
    Redrive {
        #[command(flatten)]
        which: Which,
        /// Only deliveries with these statuses, comma-joined: failed, cancelled. A disabled subscription
        /// leaves cancelled ones.
        #[arg(long, value_delimiter = ',', value_parser = ended, default_value = "failed")]
        status: Vec<DeliveryStatus>,
        /// Only deliveries created at this time or earlier.
        #[arg(long, value_name = "TIME")]
        until: Option<UtcTime>,
        /// Only deliveries whose receiver answered the last attempt with one of these statuses, comma-joined.
        #[arg(long, value_delimiter = ',')]
        response_status: Vec<u16>,
        /// Most deliveries to redeliver, oldest first.
        #[arg(long, default_value_t = 1_000)]
        limit: usize,
        /// Only counts the deliveries.
        #[arg(long)]
        dry_run: bool,
    },
}

/// Which deliveries.
#[derive(clap::Args)]
pub struct Which {
    /// Only deliveries to this subscription.
    #[arg(long, value_name = "ID")]
    subscription: Option<String>,
    /// Only deliveries of this event.
    #[arg(long, value_name = "ID")]
    event: Option<String>,
    /// Only deliveries created at this time or later, such as 2026-01-02T03:04:05Z.
    #[arg(long, value_name = "TIME")]
    since: Option<UtcTime>,
}

impl Which {
    fn selection(self, status: Vec<DeliveryStatus>) -> DeliverySelection {
        DeliverySelection {
            subscription_id: self.subscription,
            event_id: self.event,
            from: self.since,
            status,
            ..DeliverySelection::default()
        }
    }
}

pub async fn run(command: DeliveryCommand, target: &Target, output: Output) -> Result<()> {
    let deliveries = Deliveries::new(target.events.clone());
    match command {
        DeliveryCommand::List { which, status, limit } => {
            let summaries = find(target, deliveries, &which.selection(status), limit.into()).await?;
            let mut lines: Vec<_> = summaries.iter().map(line).collect();
            if lines.is_empty() {
                lines.push("There are no such deliveries.".to_owned());
            }
            output.print(&summaries, &lines.join("\n"))
        }
        DeliveryCommand::Show { delivery } => {
            let record = deliveries.get(&target.tenant, &delivery).await?;
            output.print(&record, &render(&record))
        }
        DeliveryCommand::Retry { delivery } => {
            redelivery(target)?.retry(&target.tenant, &delivery).await?;
            changed(target, &delivery).await?;
            let lines = format!("Another attempt of {delivery} is made now.");
            output.print(&json!({ "delivery_id": delivery }), &lines)
        }
        DeliveryCommand::Cancel { delivery, reason } => {
            redelivery(target)?
                .cancel(&target.tenant, &delivery, reason.as_deref())
                .await?;
            changed(target, &delivery).await?;
            let lines = format!("The delivery {delivery} is asked to end.");
            output.print(&json!({ "delivery_id": delivery }), &lines)
        }
        DeliveryCommand::Redrive {
            which,
            status,
            until,
            response_status,
            limit,
            dry_run,
        } => {
            let selection = DeliverySelection {
                to: until,
                response_status,
                ..which.selection(status)
            };
            let latest = UtcTime::EPOCH.plus_ms(u64::MAX);
            let source = (&deliveries, &target.clock);
            let limits = Limits {
                most: limit,
                shown: limit,
                until: latest,
            };
            let selected = matching(source, &target.tenant, &selection, None, limits).await?;
            match dry_run {
                true => count(&selected.deliveries, output),
                false => redrive(target, selected.deliveries, output).await,
            }
        }
    }
}

/// Shows what a redrive would take.
fn count(deliveries: &[DeliveryRecord], output: Output) -> Result<()> {
    let mut lines = vec![format!("{} deliveries would be tried again.", deliveries.len())];
    lines.extend(deliveries.iter().map(line));
    output.print(&json!({ "matched": deliveries.len() }), &lines.join("\n"))
}

async fn redrive(target: &Target, failed: Vec<DeliveryRecord>, output: Output) -> Result<()> {
    let redelivery = redelivery(target)?;
    let (mut redriven, mut refused) = (Vec::new(), Vec::new());
    for delivery in failed {
        let run_id = ids::new_id(target.clock.now());
        match redelivery.redrive(&target.tenant, &delivery.id, &run_id).await {
            Ok(()) => {
                changed(target, &delivery.id).await?;
                redriven.push(delivery.id);
            }
            Err(refusal) if !refusal.is_transient() => {
                refused.push(json!({ "delivery_id": delivery.id, "why": refusal.message() }));
            }
            Err(cause) => return Err(cause),
        }
    }
    let mut lines = vec![match redriven.len() {
        0 if refused.is_empty() => "There are no such deliveries.".to_owned(),
        1 => "1 delivery is tried again.".to_owned(),
        count => format!("{count} deliveries are tried again."),
    }];
    for refusal in &refused {
        let text = |name| {
            refusal
                .get(name)
                .and_then(|text| text.as_str())
                .unwrap_or_default()
        };
        lines.push(format!("{}  not: {}", text("delivery_id"), text("why")));
    }
    let value = json!({ "redriven": redriven, "refused": refused });
    output.print(&value, &lines.join("\n"))
}

fn redelivery(target: &Target) -> Result<Redelivery> {
    let runs = Runs::new(target.runs.clone(), target.events.clone()).retaining(target.retention);
    Ok(Redelivery {
        engine: crate::run::engine(target, &runs)?,
        parts: RedeliveryParts::new(
            (target.events.clone(), target.records.clone()),
            target.objects.clone(),
            target.clock.clone(),
            target.retention,
        ),
        caller: OPERATOR.to_owned(),
    })
}

async fn find(
    target: &Target,
    deliveries: Deliveries,
    selection: &DeliverySelection,
    limit: usize,
) -> Result<Vec<DeliveryRecord>> {
    // The page tokens are used only here, so a fixed key is enough.
    let search = DeliverySearch::new(deliveries, PageTokens::new(Secret::new("operator")));
    let (mut summaries, mut cursor) = (Vec::new(), None);
    while summaries.len() < limit {
        let page_size = (limit - summaries.len()).min(PAGE);
        let page = search
            .page(
                (&target.tenant, &Viewer::operator()),
                selection,
                page_size,
                cursor.as_deref(),
                &target.clock,
            )
            .await?;
        summaries.extend(page.deliveries);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(summaries)
}

async fn changed(target: &Target, delivery: &str) -> Result<()> {
    target
        .audit(AuditAction::Update, "event_delivery", delivery)
        .await
}

fn line(delivery: &DeliveryRecord) -> String {
    format!(
        "{}  {:<10} {}  {} of {} to {}, attempts: {}",
        delivery.created_at,
        delivery.status.as_str(),
        delivery.id,
        delivery.action,
        delivery.event_id,
        delivery.subscription_name,
        delivery.attempt_count,
    )
}

fn render(delivery: &DeliveryRecord) -> String {
    let mut lines = vec![line(delivery)];
    if let Some(at) = delivery.next_attempt_at {
        lines.push(format!("The next attempt is made at {at}."));
    }
    if let Some(error) = &delivery.last_error {
        lines.push(format!("Last error: {error}"));
    }
    for attempt in &delivery.attempts {
        let status = attempt
            .response_status
            .map_or("none".to_owned(), |status| status.to_string());
        lines.push(format!(
            "{:>4}  {}  {:>6} ms  status {status}  {}",
            attempt.attempt,
            attempt.started_at,
            attempt.duration_ms,
            attempt.error.as_deref().unwrap_or_default(),
        ));
    }
    lines
        .iter()
        .map(|line| line.trim_end())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Parses a status from which a delivery can be redriven.
fn ended(text: &str) -> std::result::Result<DeliveryStatus, String> {
    match status(text)? {
        ended @ (DeliveryStatus::Failed | DeliveryStatus::Cancelled) => Ok(ended),
        other => Err(format!(
            "deliveries of the status {} are not redriven; there are failed, cancelled",
            other.as_str()
        )),
    }
}

fn status(text: &str) -> std::result::Result<DeliveryStatus, String> {
    let status = DeliveryStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == text);
    status.ok_or_else(|| {
        format!(
            "there are {}",
            DeliveryStatus::ALL.map(DeliveryStatus::as_str).join(", ")
        )
    })
}
