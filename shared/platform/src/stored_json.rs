//! Compresses stored JSON: DynamoDB charges reads and writes by the kilobyte.
//!
//! The JSON of a run or an event repeats field names, kinds and a few ids. Zstandard has the former in a
//! dictionary and finds the latter by itself. So a small run's state takes a quarter of its JSON, and a long
//! history a tenth or less.
//!
//! A compressed text is base64 after a prefix. DynamoDB's adapter stores its bytes instead, a quarter less.

use std::cell::Cell;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::error::{Error, Result};
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// Prefix of a compressed text, which names the dictionary; no JSON starts with it.
const COMPRESSED: &str = "z2:";
/// Zstandard's default: higher levels take twice the time for 2 % on states of a few kilobytes.
const LEVEL: i32 = 3;
/// Upper limit of a JSON text, in bytes; it stops the decompression of a broken record.
const MAX_BYTES: usize = 16 * 1_024 * 1_024;

/// Common parts of stored JSON, the most frequent last. Stored texts cannot be read with another dictionary:
/// a new one needs another prefix than [`COMPRESSED`].
const DICTIONARY: &str = concat!(
    r#""target_type":"process","subscription_name":"","source":"process:","target_type":"agent","source":"workflow","#,
    r#""subscription_name":"Orders","workflow_id":"delivery-","target_type":"workflow","private_to":"","source":"external:shop","#,
    r#""event_category":"content","event_category":"system","event_category":"security","event_category":"billing","#,
    r#""meters":[{"category":"processing","type":"documents","quantity":1},"resource_data":{"metadata":{"type":""}},"#,
    r#""details":{"status":"COMPLETED","workflow_id":"","workflow_run_id":"","workflow_type":"","duration_ms":1,"initiated_by":"""#,
    r#""id":"","created_at":"2026-01-01T00:00:00.000Z","updated_at":"","email":"@example.com","name":"","amount":100,"currency":"USD","#,
    r#""status":"","type":"","url":"https://api.","object":"","customer":"","items":[{"id":1,"quantity":1,"price":"","title":""}],"#,
    r#""first_name":"","last_name":"","address":{"city":"","country":"US","zip":""},"description":"","total":"","data":{"object":{"#,
    r#"{"started_at":"","run_id":"","workflow_id":"delivery-","workflow_type":"WebhookDelivery","about":{"initiated_by":"unknown","#,
    r#"{"event_id":"","event_category":"workflow","action":"workflow_completed","resource_type":"workflow_run","resource_id":"","#,
    r#""project_id":"default","tenant_id":null,"timestamp":"2026-01-01T00:00:00.000Z","source":"external:","resource_data":{},"#,
    r#""details":{"payload":{"id":""}},"meters":[]}{"event_id":"","event_category":"external","action":"","resource_type":"","#,
    r#""resource_id":"","account_id":"","project_id":"","tenant_id":null,"timestamp":"","subscription_id":"","target_type":"webhook"}"#,
    r#"},"cancel_requested":true,"children":{"2":{"workflow_id":"","run_id":"","policy":"terminate","started":true}},"#,
    r#""failed_task":{"attempt":1,"failure":{"message":"","type":""},"next_attempt_at":17},"outbox":["tell_parent",{"start_child":"#,
    r#"},{"cancel_child":{"initiated":1,"workflow_id":""}}],"outcome":{"failed":{"message":"","type":"","source":"","details":"#,
    r#","non_retryable":true}},"last_failure":{"message":"","type":""},"heartbeat":null,"heard_at":17,"woken_at":17,"times_out_at":17"#,
    r#""program":"sha256:","continued_from":"","timeout_ms":60000,"parent":{"workflow_id":"","run_id":"","initiated_event_id":1}"#,
    r#""document_id":"","interaction_name":"sys:general","tenant_id":"","visibility":"private","run_as_role":"executor","#,
    r#"{"START_CHILD_WORKFLOW_EXECUTION_INITIATED":{"workflow_id":"","run_id":"","workflow_type":"","input":{}"#,
    r#"{"CHILD_WORKFLOW_EXECUTION_STARTED":{"initiated_event_id":{"CHILD_WORKFLOW_EXECUTION_CLOSED":{"initiated_event_id":"#,
    r#"{"WORKFLOW_EXECUTION_SIGNALED":{"name":"","input":{},"identity":""}}{"WORKFLOW_EXECUTION_CANCEL_REQUESTED":{"reason":""#,
    r#"{"WORKFLOW_EXECUTION_TERMINATED":{"WORKFLOW_EXECUTION_TIMED_OUT":{}{"WORKFLOW_EXECUTION_CANCELED":{"details":"#,
    r#"{"WORKFLOW_EXECUTION_FAILED":{"failure":{"message":"The receiver answered with the status ","type":"DeliveryFailed""#,
    r#"{"WORKFLOW_EXECUTION_CONTINUED_AS_NEW":{"new_run_id":"","input":{}"#,
    r#"{"ACTIVITY_TASK_FAILED":{"scheduled_event_id":{"ACTIVITY_TASK_TIMED_OUT":{"ACTIVITY_TASK_CANCELED":{"scheduled_event_id":"#,
    r#"{"MARKER_RECORDED":{"name":"local:1","result":{"TIMER_CANCELED":{"started_event_id":"#,
    r#"{"TIMER_STARTED":{"timer_id":"1","fire_after_ms":{"TIMER_FIRED":{"started_event_id":2}}}"#,
    r#""activities":{"2":{"activity_id":"1","name":"","options":{"retry":{"initial_interval_ms":1000,"backoff_coefficient":2.0,"#,
    r#""maximum_interval_ms":100000,"maximum_attempts":0},"start_to_close_ms":60000,"schedule_to_close_ms":86400000},"#,
    r#""scheduled_at":17,"attempt":1,"started_at":17,"worker":"}},"#,
    r#"{"account":"","project":"","workflow_id":"delivery-0","run_id":"0","workflow_type":"WebhookDelivery","#,
    r#""status":"RUNNING","version":1,"commits":["00000000"],"last_event":5,"last_event_at":17,"processed":5,"started_at":17,"#,
    r#""status":"COMPLETED","version":2,"commits":["",""],"closed_at":17,"history_bytes":10,"signals":0,"lineage":[""],"#,
    r#""delivery":{"id":"","created_at":17,"status":"pending"},"is_unannounced":true,"about":{"initiated_by":"unknown","#,
    r#""event_name":"","rule_id":"","rule_name":"","visibility":"project","run_as_role":"reader","memo":{"delivery_id":"","event_id":"","#,
    r#""run_as_role":"reader","subscription_id":""}},"outcome":{"completed":{"attempts":1}},"tail":[{"id":1,"time":17"#,
    r#","event":{"WORKFLOW_EXECUTION_STARTED":{"workflow_type":"","workflow_id":"","run_id":"","input":{"event_id":"","id":"","#,
    r#""subscription_id":"","attempt":1,"tried":0},"initiated_by":"unknown"}}},{"id":2,"time":17"#,
    r#","event":{"ACTIVITY_TASK_SCHEDULED":{"activity_id":"1","name":"webhook_attempt","input":{"event_id":"","id":"","#,
    r#""subscription_id":"","attempt":1,"tried":0,"started_at":""},"options":{"start_to_close_ms":60000}}}},{"id":3,"time":17"#,
    r#","event":{"ACTIVITY_TASK_STARTED":{"scheduled_event_id":2,"attempt":1,"started_at":17"#,
    r#"}}},{"id":4,"time":17"#,
    r#","event":{"ACTIVITY_TASK_COMPLETED":{"scheduled_event_id":2,"started_event_id":3,"result":{"attempt":{"attempt":1,"#,
    r#""started_at":"","duration_ms":1,"response_status":200,"response_body":"ok"},"next":"done"}}}},{"id":5,"time":17"#,
    r#","event":{"WORKFLOW_EXECUTION_COMPLETED":{"result":{"attempts":1}}}}]}"#,
);

/// Contexts of Zstandard, one pair for each thread: a context has buffers of some hundred kilobytes, and
/// creating one takes longer than compressing a small text.
struct Contexts {
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
}

impl Contexts {
    fn new() -> std::io::Result<Self> {
        static WRITING: OnceLock<EncoderDictionary<'static>> = OnceLock::new();
        static READING: OnceLock<DecoderDictionary<'static>> = OnceLock::new();
        let writing = WRITING.get_or_init(|| EncoderDictionary::copy(DICTIONARY.as_bytes(), LEVEL));
        let reading = READING.get_or_init(|| DecoderDictionary::copy(DICTIONARY.as_bytes()));
        Ok(Self {
            compressor: Compressor::with_prepared_dictionary(writing)?,
            decompressor: Decompressor::with_prepared_dictionary(reading)?,
        })
    }

    /// Works with the contexts of this thread, and creates new ones after an error.
    fn with<T>(work: impl FnOnce(&mut Self) -> std::io::Result<T>) -> Result<T> {
        thread_local! {
            static OF_THREAD: Cell<Option<Contexts>> = const { Cell::new(None) };
        }
        OF_THREAD.with(|kept| {
            let mut contexts = match kept.take() {
                Some(contexts) => contexts,
                None => Self::new().map_err(Error::internal)?,
            };
            let done = work(&mut contexts).map_err(Error::internal)?;
            kept.set(Some(contexts));
            Ok(done)
        })
    }
}

/// Returns the text to store for a JSON text; the JSON itself where that takes fewer bytes.
pub fn write(json: &str) -> Result<String> {
    let compressed = Contexts::with(|contexts| contexts.compressor.compress(json.as_bytes()))?;
    match compressed.len() < json.len() {
        true => Ok(text_of(&compressed)),
        false => Ok(json.to_owned()),
    }
}

/// Returns the bytes of a compressed text; None for any other text.
pub fn bytes_of(text: &str) -> Option<Vec<u8>> {
    STANDARD_NO_PAD.decode(text.strip_prefix(COMPRESSED)?).ok()
}

pub fn text_of(bytes: &[u8]) -> String {
    format!("{COMPRESSED}{}", STANDARD_NO_PAD.encode(bytes))
}

/// Stores a JSON text compressed.
pub mod text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _, ser::Error as _};

    pub fn serialize<S: Serializer>(json: &str, serializer: S) -> Result<S::Ok, S::Error> {
        let text = super::write(json).map_err(S::Error::custom)?;
        serializer.serialize_str(&text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        super::read(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Stores a value as compressed JSON.
pub mod value {
    use serde::de::DeserializeOwned;
    use serde::{Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};

    pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        let json = serde_json::to_string(value).map_err(S::Error::custom)?;
        super::text::serialize(&json, serializer)
    }

    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let json = super::text::deserialize(deserializer)?;
        serde_json::from_str(&json).map_err(D::Error::custom)
    }
}

/// Returns the JSON of a stored text; an uncompressed text is the JSON itself.
pub fn read(text: String) -> Result<String> {
    let Some(encoded) = text.strip_prefix(COMPRESSED) else {
        return Ok(text);
    };
    let compressed = STANDARD_NO_PAD.decode(encoded).map_err(Error::internal)?;
    if compressed.is_empty() {
        return Err(Error::internal("a compressed text is empty"));
    }
    let bytes = Decompressor::<'_>::upper_bound(&compressed).unwrap_or(MAX_BYTES);
    let bytes = bytes.min(MAX_BYTES);
    let json = Contexts::with(|contexts| contexts.decompressor.decompress(&compressed, bytes))?;
    String::from_utf8(json).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_state_takes_a_fraction_of_its_json() {
        let json = r#"{"account":"acme","project":"demo","workflow_id":"delivery-019b7ca9-8f2e-7fd3-9744-3296a7d16563-019b7ca9-8f2e-7fd3-9744-3296a7d16564","run_id":"019b7ca9-8f2e-7fd3-9744-3296a7d16565","workflow_type":"WebhookDelivery","status":"RUNNING","version":1,"commits":["0123abcd"],"last_event":1,"last_event_at":1767323045678,"processed":0,"started_at":1767323045678,"history_bytes":400,"signals":0,"about":{"initiated_by":"unknown","visibility":"project"},"tail":[]}"#;
        let text = write(json).unwrap();
        assert!(
            text.len() * 2 < json.len(),
            "{} of {}: {text}",
            text.len(),
            json.len()
        );
        assert_eq!(read(text).unwrap(), json);
    }

    #[test]
    fn the_dictionary_is_part_of_the_format() {
        let stored = "z2:KLUv/SANaQAAeyJhIjpbMSwyLDNdfQ";
        assert_eq!(read(stored.to_owned()).unwrap(), r#"{"a":[1,2,3]}"#);
        let digest = <sha2::Sha256 as sha2::Digest>::digest(DICTIONARY.as_bytes());
        assert_eq!(
            hex::encode(digest),
            "ef0e442948fc644bca11a424528b20400f5e29498b6f02c39826e9d12fce78e9"
        );
    }

    #[test]
    fn a_text_that_compression_would_lengthen_stays() {
        for json in ["", "1", r#""0b1x""#] {
            assert_eq!(write(json).unwrap(), json);
        }
    }

    #[test]
    fn the_bytes_of_a_text_are_the_text() {
        let text = write(&"a".repeat(100)).unwrap();
        assert_eq!(text_of(&bytes_of(&text).unwrap()), text);
        for other in ["", "{}", "z2", "z2:%", "z2:AB", "Z2:AAAA"] {
            assert_eq!(bytes_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_state_that_was_not_compressed_is_read() {
        assert_eq!(read(r#"{"a":1}"#.to_owned()).unwrap(), r#"{"a":1}"#);
    }

    #[test]
    fn what_was_broken_is_an_error() {
        for text in ["z2:", "z2:%", "z2:KLUv/SANaQAA", "z2:AAAA"] {
            read(text.to_owned()).expect_err(text);
            // The error does not affect the next state.
            assert_eq!(read(write(r#"{"a":1}"#).unwrap()).unwrap(), r#"{"a":1}"#);
        }
    }

    proptest! {
        #[test]
        fn a_written_state_reads_back(json in ".{0,2000}") {
            prop_assert_eq!(read(write(&json).unwrap()).unwrap(), json);
        }
    }
}
