//! Defines the details of a processed document: references and sums, never its content.

use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use super::count::{self, MAX_COUNT};
use crate::envelope::Meter;

/// Verification of the values extracted from a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Number of verified values; no part exceeds it.
    #[serde(deserialize_with = "count::one")]
    pub total: u64,
    /// Found in the document's own text.
    #[serde(deserialize_with = "count::one")]
    pub digitally_verified: u64,
    /// Confirmed by a model.
    #[serde(deserialize_with = "count::one")]
    pub ai_verified: u64,
    /// Neither of both.
    #[serde(deserialize_with = "count::one")]
    pub unverified: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsed {
    /// Task of the model.
    pub role: String,
    /// Run id of its inference.
    pub run_id: String,
    pub model: String,
    /// Environment in which it ran.
    pub environment_id: String,
    pub provider: String,
}

/// Details of a document-processed event, except their `schema_version`. Unknown details are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentProcessed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub page_count: Option<u64>,
    /// Number of pages read by text recognition.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub ocr_page_count: Option<u64>,
    /// Number of pages read by a vision model.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub vision_page_count: Option<u64>,
    /// Number of extracted values.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub property_count: Option<u64>,
    /// Number of places in the document that values were extracted from.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub citation_count: Option<u64>,
    /// Number of issues found by a review.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "count::known")]
    pub review_issue_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Confidence in the values; any finite number, as the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Smallest extracted fraction of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage_min: Option<f64>,
    /// Difficulty of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardness: Option<f64>,
    /// Whether a stronger model was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalated: Option<bool>,
    /// Whether the document was reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<bool>,
    /// Result of the review, such as `needs_review`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models_used: Vec<ModelUsed>,
    /// Location of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_path: Option<String>,
    /// Workflow id of the run that processed the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_run_id: Option<String>,
    /// Workflow type of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<String>,
    /// Run of the agent that reviewed a large document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_agent_run_id: Option<String>,
}

impl DocumentProcessed {
    /// Returns the meters of these details: the pairs of the contract whose number is known.
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

    /// Checks the values. Fails with 400 for impossible ones, some of which code can build but JSON cannot
    /// express.
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
