//! That a document was processed: references and sums, never its content.

use platform::http::parse_part;
use platform::{Result, UtcTime};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::envelope::{Category, Envelope, Meter, RawObject, raw};

/// The action of such an event.
pub const DOCUMENT_PROCESSED: &str = "document_processed";
/// What it is about.
pub const CONTENT_OBJECT: &str = "content_object";
/// The version of the details that are described here.
pub const SCHEMA_VERSION: u32 = 1;

/// How the values that were read from a document were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// All of them.
    pub total: u64,
    /// Found in the document's own text.
    pub digitally_verified: u64,
    /// Confirmed by a model.
    pub ai_verified: u64,
    /// Neither.
    pub unverified: u64,
}

/// A model that took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsed {
    /// What it did.
    pub role: String,
    /// Its inference run.
    pub run_id: String,
    /// The model.
    pub model: String,
    /// The environment that it ran in.
    pub environment_id: String,
    /// Who offers it.
    pub provider: String,
}

/// The details of the event that a document was processed. What is not known is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentProcessed {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The pipeline that processed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    /// Pages of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_count: Option<u64>,
    /// Pages that were read by text recognition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ocr_page_count: Option<u64>,
    /// Pages that were read by a model that sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision_page_count: Option<u64>,
    /// Values that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub property_count: Option<u64>,
    /// Places of the document that values were read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub citation_count: Option<u64>,
    /// What a review found wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_issue_count: Option<u64>,
    /// How the values were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// How sure the values are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The least part of a page that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage_min: Option<f64>,
    /// How hard the document was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardness: Option<f64>,
    /// Whether a stronger model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalated: Option<bool>,
    /// Whether it was reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<bool>,
    /// What the review came to, such as `needs_review`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_reason: Option<String>,
    /// The models that took part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models_used: Vec<ModelUsed>,
    /// Where the result is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_path: Option<String>,
    /// The workflow id of the run that processed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    /// That run's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_run_id: Option<String>,
    /// That run's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<String>,
    /// The run of the agent that reviewed a large document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_agent_run_id: Option<String>,
}

impl DocumentProcessed {
    /// The meters that these details stand for: pairs of the contract whose number is known.
    pub fn meters(&self) -> Vec<Meter> {
        let verification = self.verification.as_ref();
        let of = |get: fn(&Verification) -> u64| verification.map(get);
        [
            ("processing", "documents", Some(1)),
            ("processing", "pages", self.page_count),
            ("processing", "ocr_pages", self.ocr_page_count),
            ("processing", "vision_pages", self.vision_page_count),
            ("extraction", "properties", self.property_count),
            ("extraction", "citations", self.citation_count),
            (
                "verification",
                "digitally_verified",
                of(|sums| sums.digitally_verified),
            ),
            ("verification", "ai_verified", of(|sums| sums.ai_verified)),
            ("verification", "unverified", of(|sums| sums.unverified)),
            ("review", "issues", self.review_issue_count),
        ]
        .into_iter()
        .filter_map(|(category, kind, quantity)| {
            Some(Meter {
                category: category.to_owned(),
                kind: kind.to_owned(),
                quantity: quantity? as f64,
            })
        })
        .collect()
    }

    /// The event that a document of a project was processed.
    pub fn envelope(
        &self,
        event_id: &str,
        tenant: &platform::Tenant,
        document_id: &str,
        at: UtcTime,
        source: &str,
    ) -> Result<Envelope> {
        let details = Self {
            schema_version: SCHEMA_VERSION,
            ..self.clone()
        };
        let mut named = RawObject::new();
        if let Ok(Value::Object(values)) = serde_json::to_value(&details) {
            for (name, value) in values {
                named.insert(name, raw(&value)?);
            }
        }
        Ok(Envelope {
            event_id: event_id.to_owned(),
            event_category: Category::Content,
            action: DOCUMENT_PROCESSED.to_owned(),
            resource_type: CONTENT_OBJECT.to_owned(),
            resource_id: document_id.to_owned(),
            account_id: tenant.account().to_owned(),
            project_id: tenant.project().to_owned(),
            tenant_id: None,
            timestamp: at,
            source: source.to_owned(),
            resource_data: RawObject::new(),
            details: named,
            meters: self.meters(),
        })
    }
}

/// Whether an event says that a document was processed.
pub(crate) fn is_one(envelope: &Envelope) -> bool {
    envelope.event_category == Category::Content && envelope.action == DOCUMENT_PROCESSED
}

/// 400 for details whose fields are of other types than the contract's.
pub(crate) fn check(envelope: &Envelope) -> Result<()> {
    let mut named = Map::new();
    for (name, value) in &envelope.details {
        let value = serde_json::from_str(value.get()).map_err(platform::Error::internal)?;
        named.insert(name.clone(), value);
    }
    parse_part::<DocumentProcessed>("details", Value::Object(named)).map(drop)
}
