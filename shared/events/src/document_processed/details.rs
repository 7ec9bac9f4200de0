//! Details of a processed document: references and sums, never its content.

use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use super::count::{self, MAX_COUNT};
use crate::envelope::Meter;

/// How the values that were read from a document were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Values that were checked; none of the parts is greater.
    #[serde(deserialize_with = "count::one")]
    pub total: u64,
    /// Found in the document's own text.
    #[serde(deserialize_with = "count::one")]
    pub digitally_verified: u64,
    /// Confirmed by a model.
    #[serde(deserialize_with = "count::one")]
    pub ai_verified: u64,
    /// Neither.
    #[serde(deserialize_with = "count::one")]
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

/// The details of the event that a document was processed, but for their `schema_version`. What is not known
/// is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentProcessed {
    /// The pipeline that processed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    /// Pages of the document.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub page_count: Option<u64>,
    /// Pages that were read by text recognition.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub ocr_page_count: Option<u64>,
    /// Pages that were read by a model that sees.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub vision_page_count: Option<u64>,
    /// Values that were read.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub property_count: Option<u64>,
    /// Places of the document that values were read from.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub citation_count: Option<u64>,
    /// What a review found wrong.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub review_issue_count: Option<u64>,
    /// How the values were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// How sure the values are; any finite number, as the next two.
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

    /// 400 for values that no document can have. JSON cannot say each of them, but code can.
    pub(super) fn check(&self) -> Result<()> {
        let counts = [
            ("page_count", self.page_count),
            ("ocr_page_count", self.ocr_page_count),
            ("vision_page_count", self.vision_page_count),
            ("property_count", self.property_count),
            ("citation_count", self.citation_count),
            ("review_issue_count", self.review_issue_count),
            ("verification.total", self.verification.map(|sums| sums.total)),
        ];
        let large = counts.iter().find(|(_, count)| *count > Some(MAX_COUNT));
        if let Some((name, _)) = large {
            return Err(Error::invalid(format!(
                "'details.{name}' is at most {MAX_COUNT}."
            )));
        }
        let numbers = [
            ("confidence", self.confidence),
            ("coverage_min", self.coverage_min),
            ("hardness", self.hardness),
        ];
        let odd = numbers
            .iter()
            .find(|(_, number)| number.is_some_and(|number| !number.is_finite()));
        if let Some((name, _)) = odd {
            return Err(Error::invalid(format!("'details.{name}' is a finite number.")));
        }
        if self
            .verification
            .is_some_and(|sums| sums.greatest_part() > sums.total)
        {
            return Err(Error::invalid(
                "No number of 'details.verification' is greater than its 'total'.",
            ));
        }
        Ok(())
    }
}

impl Verification {
    fn greatest_part(&self) -> u64 {
        self.digitally_verified.max(self.ai_verified).max(self.unverified)
    }
}
