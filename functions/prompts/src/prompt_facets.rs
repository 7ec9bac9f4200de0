//! `POST /prompts/facets`: counts templates by name, role, tag and so on.

use std::collections::BTreeMap;

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::ReadPrompts;
use platform::http::text::check_name;
use platform::http::{Call, Json, Reply, strict};
use platform::{Error, Result, Tenant};
use prompts::records::prompts::PromptRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::App;
use crate::search::PromptSearchQuery;

const MAX_FACETS: usize = 20;

/// Which facets to count, over which templates.
#[derive(Deserialize, JsonSchema)]
pub struct FacetRequest {
    /// At most 20 facets, each with a name of its own.
    #[serde(deserialize_with = "strict::objects")]
    pub facets: Vec<FacetSpec>,
    /// Which templates to count. Default: all of the project.
    #[serde(default, deserialize_with = "strict::object")]
    pub query: PromptSearchQuery,
}

/// A facet: a field, and the name under which its counts are answered.
#[derive(Deserialize, JsonSchema)]
pub struct FacetSpec {
    /// Key of the counts in the answer; any name but `total`.
    pub name: String,
    /// Field whose values are counted.
    #[serde(deserialize_with = "strict::name")]
    pub field: FacetField,
}

/// A field of prompt templates whose values can be counted.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FacetField {
    Name,
    Role,
    Status,
    ContentType,
    Tags,
    CreatedBy,
    Project,
}

/// One value of a facet, and how many templates have it.
#[derive(Serialize, JsonSchema)]
pub struct FacetBucket {
    /// Value of the field.
    pub _id: String,
    /// Number of templates with this value.
    pub count: u64,
}

/// The counts: one key for each facet, beside `total`.
#[derive(Serialize, JsonSchema)]
pub struct FacetResponse {
    /// Number of templates that the query takes.
    pub total: u64,
    /// The facets by name, the most frequent value first.
    #[serde(flatten)]
    pub facets: BTreeMap<String, Vec<FacetBucket>>,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("countPromptFacets")
        .tag("prompts")
        .summary("Count prompt templates by their fields")
        .description(
            "Answers, for each facet, how many templates have which value of a field: for the filters of a search page. The \
             values of a facet are sorted by count, the most frequent first. A template counts once for each of its tags.\n\n\
             It reads all templates of the project, so it takes longer the more there are.",
        )
        .response::<200, axum::Json<FacetResponse>>()
}

async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Json(body): Json<FacetRequest>,
) -> Result<Reply<FacetResponse>> {
    let tenant = call.tenant()?;
    check(&body.facets)?;
    body.query.check()?;
    let prompts = body.query.search(app.prompts.list(&tenant).await?);
    let facets = body
        .facets
        .iter()
        .map(|facet| (facet.name.clone(), count(&tenant, &prompts, facet.field)));
    Ok(Reply::ok(FacetResponse {
        total: prompts.len() as u64,
        facets: facets.collect(),
    }))
}

fn check(facets: &[FacetSpec]) -> Result<()> {
    if facets.len() > MAX_FACETS {
        return Err(Error::invalid_field(
            "facets",
            format!("has more than {MAX_FACETS} entries."),
        ));
    }
    for (index, facet) in facets.iter().enumerate() {
        check_name(&format!("facets[{index}].name"), &facet.name)?;
        if facet.name == "total" {
            return Err(Error::invalid(
                "A facet cannot be named 'total': the answer uses that key.",
            ));
        }
        if facets
            .iter()
            .take(index)
            .any(|earlier| earlier.name == facet.name)
        {
            return Err(Error::invalid(format!("Two facets are named '{}'.", facet.name)));
        }
    }
    Ok(())
}

fn count(tenant: &Tenant, prompts: &[PromptRecord], field: FacetField) -> Vec<FacetBucket> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for value in prompts.iter().flat_map(|prompt| values(tenant, prompt, field)) {
        *counts.entry(value).or_default() += 1;
    }
    let mut buckets: Vec<_> = counts
        .into_iter()
        .map(|(_id, count)| FacetBucket { _id, count })
        .collect();
    // The sort is stable: equal counts stay in the order of their values.
    buckets.sort_by_key(|bucket| std::cmp::Reverse(bucket.count));
    buckets
}

fn values(tenant: &Tenant, prompt: &PromptRecord, field: FacetField) -> Vec<String> {
    let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
    match field {
        FacetField::Name => vec![prompt.name.clone()],
        FacetField::Role => vec![prompt.role.clone()],
        FacetField::Status => vec![text(serde_json::json!(prompt.status))],
        FacetField::ContentType => vec![text(serde_json::json!(prompt.content_type))],
        FacetField::Tags => prompt.tags.clone(),
        FacetField::CreatedBy => vec![prompt.created_by.clone()],
        FacetField::Project => vec![tenant.project().to_owned()],
    }
}
