//! `POST /events/deliveries/redrive`: makes another attempt of every failed delivery of a selection.
//!
//! A run does the work, because it may take hours: it survives the end of every process, and its updates and
//! its result tell how far it is.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::envelope::Category;
use events::records::deliveries::{DeliveryRecord, DeliveryStatus};
use events::search::DeliverySelection;
use platform::auth::permission::WriteEvents;
use platform::http::openapi::{answer_header, problem};
use platform::http::{Call, Json, Reply, audited, strict};
use platform::page_token::LOOKING_MS;
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Platform, Result, Tenant, UtcTime, ids};
use runs::redelivery::REDRIVEN;
use runs::redrive::{
    DEFAULT_LIMIT, DEFAULT_RATE, ID_PREFIX, Limits, MAX_LIMIT, MAX_RATE, Progress, RedriveInput,
    WORKFLOW_TYPE, matching,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workflow::Payload;
use workflow::engine::StartRun;
use workflow::state::About;

use crate::App;
use crate::delivery_search::{among, status};

/// Number of deliveries that a dry run shows.
const SHOWN: usize = 20;
/// Maximum length of the text that a last error contains, in characters.
const MAX_ERROR: usize = 500;

/// Deliveries to redrive. An unknown field is refused: a misspelt `dry_run` would redrive.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedriveDeliveries {
    /// Conditions that a delivery meets, all of them.
    #[serde(deserialize_with = "strict::object")]
    pub filter: RedriveFilter,
    /// Whether to count the deliveries only. Default: false.
    #[serde(default)]
    pub dry_run: bool,
    /// Most deliveries, oldest first. Default: 1,000.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: Option<u64>,
    /// Most deliveries a second. Default: 10.
    #[schemars(range(min = 1, max = MAX_RATE))]
    pub rate_per_second: Option<u32>,
}

/// Conditions that a delivery meets, all of them; an empty list takes every delivery.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedriveFilter {
    /// `failed`, `cancelled`, or both. Default: `failed`.
    #[serde(default)]
    pub status: Vec<String>,
    /// Only deliveries to the subscription with this id.
    pub subscription_id: Option<String>,
    /// Any of these categories of the event, such as `content`.
    #[serde(default)]
    pub event_category: Vec<String>,
    /// Any of these actions of the event, such as `workflow_completed`.
    #[serde(default)]
    pub action: Vec<String>,
    /// Any of these kinds of resource that the event is about.
    #[serde(default)]
    pub resource_type: Vec<String>,
    /// Any of these statuses of the receiver's answer to the last attempt, such as 404.
    #[serde(default)]
    #[schemars(inner(range(min = 100, max = 999)))]
    pub response_status: Vec<u16>,
    /// Text that `last_error` contains; at most 500 characters.
    pub error: Option<String>,
    /// Only deliveries created at this time or later.
    pub from: UtcTime,
    /// Only deliveries created at this time or earlier.
    pub to: UtcTime,
}

/// What a redrive would take.
#[derive(Serialize, JsonSchema)]
pub struct RedriveCount {
    /// Number of deliveries, at most `limit`.
    pub matched: usize,
    /// Whether there are more: beyond `limit`, or not counted within ten seconds.
    pub more: bool,
    /// The first 20 of them, oldest first.
    pub deliveries: Vec<DeliveryRecord>,
}

/// A redrive that has begun.
#[derive(Serialize, JsonSchema)]
pub struct Redrive {
    /// Workflow id of the run that redrives the deliveries.
    pub workflow_id: String,
    /// Run id of that run. Its updates of the type `PROGRESS` and its result have the counts `matched`,
    /// `redriven` and `failed`; the result also has the first 100 `failures` with their reasons.
    pub workflow_run_id: String,
}

/// Answer to a request to redrive.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    Count(RedriveCount),
    Begun(Redrive),
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::BulkUpdate, "event_delivery").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("redriveDeliveries")
        .tag("subscriptions")
        .summary("Redrive deliveries")
        .description(
            "Makes another attempt of each failed or cancelled delivery that was created from `from` to `to`, both included: after a \
             receiver was away. Ask with `dry_run` first, which counts them and shows the first 20. Otherwise a run begins, which \
             survives restarts and can be cancelled like any run; `location` is its path. It starts at most `rate_per_second` attempts a \
             second, from the oldest delivery to the newest, each delivery once, also where an attempt fails again. Without `subscription_id` the caller needs the permissions of every role that a \
             subscription can have. A delivery that \
             cannot be redriven, such as one to a disabled subscription or one that its semantic condition stopped, counts as `failed` in \
             the result. For a workflow, agent or process target another run repeats the work. Private deliveries are not redriven; \
             retry them one by one.\n\n\
             Side effects: the run, and an audit record of the action `bulk_update` with the run's id, which a dry run leaves too, without one.",
        )
        .response_with::<202, axum::Json<Redrive>, _>(|response| response.description("The redrive has begun."))
        .with(|operation| answer_header(operation, "location", "Path of the run."))
        .response_with::<200, axum::Json<RedriveCount>, _>(|response| {
            response.description("What a redrive would take: the answer to a dry run.")
        })
        .with(problem(
            ErrorKind::Forbidden,
            "The caller lacks the permission, or one of a role that the redriven work has.",
            "The role 'automation' is for callers who have its permissions themselves; this needs also content:write.",
        ))
        .with(problem(
            ErrorKind::InvalidRequest,
            "The filter is not as it must be.",
            "The field 'filter.to' is before 'filter.from'.",
        ))
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Json(body): Json<RedriveDeliveries>,
) -> Result<Reply<Answer>> {
    let tenant = call.tenant()?;
    let limit = within("limit", body.limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
    let rate = body.rate_per_second.unwrap_or(DEFAULT_RATE);
    within("rate_per_second", u64::from(rate), u64::from(MAX_RATE))?;
    let selection = selection(body.filter)?;
    match body.dry_run {
        true => count(&app, &tenant, &selection, limit).await,
        false => {
            app.require_roles(&call, selection.subscription_id.as_deref())
                .await?;
            let input = RedriveInput {
                selection,
                limit,
                rate_per_second: rate,
                after: None,
                progress: Progress::default(),
            };
            begin(&app, &call, &tenant, &input).await
        }
    }
}

fn within(field: &str, number: u64, most: u64) -> Result<u64> {
    match (1..=most).contains(&number) {
        true => Ok(number),
        false => Err(Error::invalid_field(field, format!("must be from 1 to {most}."))),
    }
}

fn selection(filter: RedriveFilter) -> Result<DeliverySelection> {
    if filter.to < filter.from {
        return Err(Error::invalid_field("filter.to", "is before 'filter.from'."));
    }
    let error = filter.error.filter(|error| !error.is_empty());
    if error
        .as_ref()
        .is_some_and(|error| error.chars().count() > MAX_ERROR)
    {
        return Err(Error::invalid_field(
            "filter.error",
            format!("has at most {MAX_ERROR} characters."),
        ));
    }
    if let Some(status) = filter
        .response_status
        .iter()
        .find(|status| !(100..=999).contains(*status))
    {
        let fault = format!("names {status}; a status is from 100 to 999.");
        return Err(Error::invalid_field("filter.response_status", fault));
    }
    let statuses = filter
        .status
        .iter()
        .map(|text| ended(text))
        .collect::<Result<Vec<_>>>()?;
    Ok(DeliverySelection {
        subscription_id: filter.subscription_id.filter(|id| !id.is_empty()),
        status: match statuses.is_empty() {
            true => vec![DeliveryStatus::Failed],
            false => statuses,
        },
        event_category: among(
            "filter.event_category",
            filter.event_category,
            &Category::ALL.map(|category| category.as_str()),
        )?,
        action: filter.action,
        resource_type: filter.resource_type,
        response_status: filter.response_status,
        error,
        from: Some(filter.from),
        to: Some(filter.to),
        ..DeliverySelection::default()
    })
}

/// Reads a status from which a delivery can be redriven.
fn ended(text: &str) -> Result<DeliveryStatus> {
    let status = status("filter.status", text)?;
    match REDRIVEN.contains(&status) {
        true => Ok(status),
        false => Err(Error::invalid_field(
            "filter.status",
            format!("names '{text}', and only deliveries that are failed or cancelled are redriven."),
        )),
    }
}

async fn count(
    app: &App,
    tenant: &Tenant,
    selection: &DeliverySelection,
    limit: u64,
) -> Result<Reply<Answer>> {
    let clock = &app.platform.clock;
    let until = clock.now().plus_ms(LOOKING_MS);
    let limit = usize::try_from(limit).map_err(Error::internal)?;
    let deliveries = &app.redelivery.parts.deliveries;
    let limits = Limits {
        most: limit,
        shown: SHOWN,
        until,
    };
    let selected = matching((deliveries, clock), tenant, selection, None, limits).await?;
    Ok(Reply::ok(Answer::Count(RedriveCount {
        matched: selected.matched,
        more: selected.next.is_some(),
        deliveries: selected.deliveries,
    })))
}

async fn begin(
    app: &App,
    call: &Call<WriteEvents>,
    tenant: &Tenant,
    input: &RedriveInput,
) -> Result<Reply<Answer>> {
    let input = Payload::from_value(input)
        .map_err(|failure| Error::new(ErrorKind::PayloadTooLarge, failure.message))?;
    let workflow_id = format!("{ID_PREFIX}{}", ids::new_id(call.now));
    let start = StartRun {
        about: About {
            initiated_by: call.principal.reference(),
            tenant_id: call.principal.tenant_id.clone(),
            ..About::default()
        },
        ..StartRun::new(WORKFLOW_TYPE, &workflow_id, input)
    };
    let workflow_run_id = app.redelivery.engine.start(tenant, &start).await?.run_id;
    let path = format!("/workflows/runs/{workflow_id}/{workflow_run_id}");
    let begun = Redrive {
        workflow_id,
        workflow_run_id: workflow_run_id.clone(),
    };
    Ok(Reply::accepted(&path, Answer::Begun(begun)).about(&workflow_run_id))
}
