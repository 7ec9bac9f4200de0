//! Defines the document-processed event.
//!
//! A workflow type, a process and another service build it with [`ProcessedDocument::event`]. Where another
//! service writes the envelope itself, `check` applies the same rules.

mod count;
mod details;

use platform::http::parse_part;
use platform::{Error, Result, Tenant, UtcTime};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::envelope::{Category, Envelope, RawObject, raw};

pub use details::{DocumentProcessed, ModelUsed, Verification};

pub const DOCUMENT_PROCESSED: &str = "document_processed";
/// Type of such an event as a CloudEvent.
pub const CLOUD_EVENT_TYPE: &str = "content.document_processed";
/// Resource type of a document.
pub const CONTENT_OBJECT: &str = "content_object";
/// The only version of the details.
pub const SCHEMA_VERSION: u64 = 1;

const VERSION: &str = "schema_version";

/// A processed document: only references and sums, never its content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessedDocument {
    /// Id of the content object.
    pub document_id: String,
    /// Known properties of the content object, such as `metadata.type`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub resource_data: Map<String, Value>,
    #[serde(default)]
    pub details: DocumentProcessed,
}

/// Origin of an event.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Id of the event. A republished event has the same id, and counts once.
    pub event_id: &'a str,
    /// Account and project of the document.
    pub tenant: &'a Tenant,
    /// Tenant of the caller who requested the processing, where the account has several.
    pub tenant_id: Option<&'a str>,
    /// Source in the envelope.
    pub source: &'a str,
    /// Time at which processing completed.
    pub at: UtcTime,
}

impl ProcessedDocument {
    /// Builds the event, with a meter for each pair in the details. Fails with 400 for impossible values.
    pub fn event(&self, origin: &Origin<'_>) -> Result<Envelope> {
        let details = serde_json::to_value(&self.details).map_err(Error::internal)?;
        let mut details = raw_object(&details)?;
        details.insert(VERSION.to_owned(), raw(&SCHEMA_VERSION)?);
        let envelope = Envelope {
            event_id: origin.event_id.to_owned(),
            event_category: Category::Content,
            action: DOCUMENT_PROCESSED.to_owned(),
            resource_type: CONTENT_OBJECT.to_owned(),
            resource_id: self.document_id.clone(),
            account_id: origin.tenant.account().to_owned(),
            project_id: origin.tenant.project().to_owned(),
            tenant_id: origin.tenant_id.map(ToOwned::to_owned),
            timestamp: origin.at,
            source: origin.source.to_owned(),
            resource_data: raw_object(&Value::Object(self.resource_data.clone()))?,
            details,
            meters: self.details.meters(),
            traceparent: None,
            tracestate: None,
        };
        // This comes before serialization, which hides a number that is not finite.
        self.details.check()?;
        envelope.check()?;
        Ok(envelope)
    }
}

fn raw_object(value: &Value) -> Result<RawObject> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| Ok((name.clone(), raw(value)?)))
        .collect()
}

/// Returns whether an event is a document-processed event.
pub(crate) fn is_one(envelope: &Envelope) -> bool {
    envelope.event_category == Category::Content && envelope.action == DOCUMENT_PROCESSED
}

/// Fails with 400 for another resource type, and for details whose fields do not fit the contract. Additional
/// fields are allowed.
pub(crate) fn check(envelope: &Envelope) -> Result<()> {
    if envelope.resource_type != CONTENT_OBJECT {
        return Err(Error::invalid(format!(
            "The 'resource_type' of an event '{DOCUMENT_PROCESSED}' is '{CONTENT_OBJECT}'."
        )));
    }
    let mut named = Map::new();
    for (name, value) in &envelope.details {
        let value = serde_json::from_str(value.get()).map_err(Error::internal)?;
        named.insert(name.clone(), value);
    }
    let version: Versioned = parse_part("details", Value::Object(named.clone()))?;
    if version
        .schema_version
        .is_some_and(|version| version != SCHEMA_VERSION)
    {
        return Err(Error::invalid(format!(
            "The 'details.{VERSION}' of an event '{DOCUMENT_PROCESSED}' is {SCHEMA_VERSION}."
        )));
    }
    parse_part::<DocumentProcessed>("details", Value::Object(named))?.check()
}

#[derive(Deserialize)]
struct Versioned {
    #[serde(default, deserialize_with = "count::known")]
    schema_version: Option<u64>,
}

/// Adds the schema version that an event of another service leaves out, so that each receiver gets it.
pub(crate) fn complete(envelope: &mut Envelope) -> Result<()> {
    let version = envelope.details.get(VERSION);
    if version.is_none_or(|version| version.get() == "null") {
        envelope.details.insert(VERSION.to_owned(), raw(&SCHEMA_VERSION)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole() -> ProcessedDocument {
        serde_json::from_value(json!({
            "document_id": "invoice-7",
            "resource_data": { "metadata": { "type": "invoice" } },
            "details": {
                "pipeline": "invoices", "page_count": 3, "ocr_page_count": 1, "vision_page_count": 0, "property_count": 12,
                "citation_count": 11, "review_issue_count": 2, "confidence": 0.94, "coverage_min": 0.88, "hardness": 0.2,
                "verification": { "total": 12, "digitally_verified": 9, "ai_verified": 2, "unverified": 1 },
                "escalated": false, "reviewed": true, "verdict": "needs_review", "verdict_reason": "An amount is missing.",
                "models_used": [{ "role": "extraction", "run_id": "r-1", "model": "m-1", "environment_id": "e-1", "provider": "p-1" }],
                "result_path": "results/invoice-7.json", "workflow_id": "w", "workflow_run_id": "r", "workflow_type": "Process",
                "review_agent_run_id": "r-2",
            },
        }))
        .unwrap()
    }

    fn event(document: &ProcessedDocument) -> Result<Envelope> {
        let tenant = Tenant::new("acme", "demo")?;
        document.event(&Origin {
            event_id: "e1",
            tenant: &tenant,
            tenant_id: Some("eu"),
            source: "documents",
            at: "2026-01-02T03:04:05Z".parse().unwrap(),
        })
    }

    /// Parses an event of another service with these details.
    fn parsed(details: &Value, resource_type: &str, meters: &str) -> Result<Envelope> {
        Envelope::parse(&format!(
            r#"{{"event_id":"e1","event_category":"content","action":"document_processed","resource_type":"{resource_type}",
            "resource_id":"d1","account_id":"acme","project_id":"demo","timestamp":"2026-01-02T03:04:05Z","source":"documents",
            "details":{details},"meters":{meters}}}"#
        ))
    }

    #[test]
    fn an_event_tells_all_that_is_known_and_all_ten_meters() {
        let text = event(&whole()).unwrap().to_json().unwrap();
        let read = Envelope::parse(&text).unwrap();
        assert_eq!(read.to_json().unwrap(), text);
        assert_eq!(
            (read.document_id(), read.tenant_id.as_deref()),
            (Some("invoice-7"), Some("eu"))
        );
        let told: Value = serde_json::from_str(&text).unwrap();
        let mut details = serde_json::to_value(&whole().details).unwrap();
        details["schema_version"] = json!(1);
        assert_eq!(told["details"], details);
        assert_eq!(told["details"].as_object().unwrap().len(), 22);
        let meters = read.meters.iter();
        let meters: Vec<_> = meters
            .map(|meter| format!("{}/{}={}", meter.category, meter.kind, meter.quantity))
            .collect();
        insta::assert_snapshot!(meters.join("\n"), @r"
        processing/documents=1
        processing/pages=3
        processing/ocr_pages=1
        processing/vision_pages=0
        extraction/properties=12
        extraction/citations=11
        verification/digitally_verified=9
        verification/ai_verified=2
        verification/unverified=1
        review/issues=2
        ");
    }

    #[test]
    fn unknown_values_are_left_out() {
        let document = ProcessedDocument {
            document_id: "d1".to_owned(),
            ..ProcessedDocument::default()
        };
        let envelope = event(&document).unwrap();
        assert_eq!(envelope.details.len(), 1);
        assert_eq!(envelope.meters.len(), 1);
    }

    #[test]
    fn code_cannot_say_what_json_cannot() {
        for (change, why) in [
            (
                (|details| details.confidence = Some(f64::NAN)) as fn(&mut DocumentProcessed),
                "confidence",
            ),
            (
                |details| details.coverage_min = Some(f64::INFINITY),
                "coverage_min",
            ),
            (|details| details.hardness = Some(f64::NEG_INFINITY), "hardness"),
            (|details| details.page_count = Some(1 << 53), "page_count"),
            (
                |details| details.verification.as_mut().unwrap().unverified = 13,
                "verification",
            ),
        ] {
            let mut document = whole();
            change(&mut document.details);
            let refusal = event(&document).unwrap_err();
            assert!(refusal.message().contains(why), "{why}: {refusal}");
        }
        let unnamed = ProcessedDocument::default();
        assert!(event(&unnamed).unwrap_err().message().contains("'resource_id'"));
    }

    #[test]
    fn each_field_of_another_service_is_held_against_its_type() {
        let texts = [
            "pipeline",
            "verdict",
            "verdict_reason",
            "result_path",
            "workflow_id",
            "workflow_run_id",
        ];
        let texts = texts.into_iter().chain(["workflow_type", "review_agent_run_id"]);
        let counts = [
            "page_count",
            "ocr_page_count",
            "vision_page_count",
            "property_count",
            "citation_count",
        ];
        let counts = counts.into_iter().chain(["review_issue_count", "schema_version"]);
        let mut cases: Vec<(String, Value)> = Vec::new();
        cases.extend(texts.map(|name| (name.to_owned(), json!(1))));
        for name in counts {
            for wrong in ["-1", "1.5", "\"3\"", "true", "9007199254740992", "[]"] {
                cases.push((name.to_owned(), serde_json::from_str(wrong).unwrap()));
            }
        }
        for name in ["confidence", "coverage_min", "hardness"] {
            cases.push((name.to_owned(), json!("0.5")));
        }
        for name in ["escalated", "reviewed"] {
            cases.push((name.to_owned(), json!(1)));
        }
        for wrong in [
            json!({}),
            json!({ "total": 1, "digitally_verified": -1, "ai_verified": 0, "unverified": 0 }),
        ] {
            cases.push(("verification".to_owned(), wrong));
        }
        for wrong in [json!("m-1"), json!([{ "model": "m-1" }]), json!([{ "role": 7 }])] {
            cases.push(("models_used".to_owned(), wrong));
        }
        for (name, wrong) in cases {
            let refusal = parsed(&json!({ name.as_str(): wrong }), CONTENT_OBJECT, "[]").unwrap_err();
            let place = format!("$.details.{name}");
            assert!(refusal.message().contains(&place), "{name} {wrong}: {refusal}");
        }
    }

    #[test]
    fn another_resource_type_and_another_version_are_refused() {
        for (details, resource_type, why) in [
            (json!({}), "document", "'content_object'"),
            (json!({ "schema_version": 2 }), CONTENT_OBJECT, "is 1"),
            (json!({ "schema_version": 0 }), CONTENT_OBJECT, "is 1"),
        ] {
            let refusal = parsed(&details, resource_type, "[]").unwrap_err();
            assert!(refusal.message().contains(why), "{details}: {refusal}");
        }
    }

    #[test]
    fn a_version_that_is_left_out_is_added_and_further_fields_stay() {
        for details in [
            json!({ "more": true }),
            json!({ "more": true, "schema_version": null }),
        ] {
            let envelope = parsed(&details, CONTENT_OBJECT, "[]").unwrap();
            assert_eq!(envelope.details["schema_version"].get(), "1");
            assert_eq!(envelope.details["more"].get(), "true");
        }
        let whole_number = parsed(
            &json!({ "schema_version": 1.0, "page_count": 3.0 }),
            CONTENT_OBJECT,
            "[]",
        )
        .unwrap();
        assert_eq!(whole_number.details["page_count"].get(), "3.0");
    }

    #[test]
    fn any_pair_is_a_meter_and_its_quantity_is_a_number_from_0() {
        let meter = |quantity: &str| format!(r#"[{{"category":"own","type":"unit","quantity":{quantity}}}]"#);
        for quantity in ["0", "0.5", "1e300"] {
            parsed(&json!({}), CONTENT_OBJECT, &meter(quantity)).unwrap();
        }
        for quantity in ["-1", "-0.001", "null", "\"1\"", "1e999"] {
            parsed(&json!({}), CONTENT_OBJECT, &meter(quantity)).unwrap_err();
        }
        let unnamed = r#"[{"category":"","type":"unit","quantity":1}]"#;
        assert!(
            parsed(&json!({}), CONTENT_OBJECT, unnamed)
                .unwrap_err()
                .message()
                .contains("category")
        );
        let mut envelope = event(&whole()).unwrap();
        for quantity in [f64::NAN, f64::INFINITY, -1.0] {
            envelope.meters[0].quantity = quantity;
            assert!(envelope.check().unwrap_err().message().contains("'quantity'"));
        }
    }
}
