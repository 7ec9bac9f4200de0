//! Executes `BatchAgentWorkflow`: one child run per document, for many documents, with limited concurrency.
//!
//! Its input is `{ documents: [id], type: <workflow type>, input?: object, concurrency?: number }`. A child's
//! input is `input` and the `document_id`. A child that fails does not fail the batch: the result counts the
//! failure and reports its reason.
//!
//! The children run in *lanes*, one lane per concurrent child; a lane takes the next document when its child
//! ends. A batch continues as a new run before its history gets long. It does so when every lane is between
//! two documents, so that no child loses its waiting parent; the counts are carried over. Once the run is
//! cancelled, no lane takes another document; the running children are cancelled too, and the lanes wait for
//! their end.

use std::cell::RefCell;
use std::rc::Rc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use workflow::future::join_all;
use workflow::{Context, Failure, Registry, WorkflowType};

pub const WORKFLOW_TYPE: WorkflowType<Value, Value> =
    WorkflowType::new("BatchAgentWorkflow").queries(&[PROGRESS_QUERY]);
/// Query that returns the progress of a batch.
pub const PROGRESS_QUERY: &str = "BatchAgentProgress";

/// Maximum number of documents of a batch.
pub const MAX_DOCUMENTS: usize = 10_000;
/// Maximum number of concurrent children.
pub const MAX_CONCURRENCY: usize = 100;
/// Number of concurrent children where the input sets none.
pub const DEFAULT_CONCURRENCY: usize = 10;
/// Maximum number of failures that the result lists.
pub const MAX_FAILURES: usize = 100;

/// Minimum number of documents of a run before it continues as a new one; each adds three history events.
const DOCUMENTS_PER_RUN: usize = 200;
/// Minimum number of documents per lane: all lanes must finish before the run continues as a new one.
const DOCUMENTS_PER_LANE: usize = 5;
/// Maximum length of a failure's message in the result, in characters.
const MAX_MESSAGE: usize = 500;

#[derive(Clone, Deserialize, Serialize)]
struct BatchInput {
    documents: Vec<String>,
    #[serde(rename = "type")]
    child_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concurrency: Option<u64>,
    /// Counts of the runs before this one; `documents` then holds the remaining documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    carried: Option<Counts>,
}

/// Outcomes of the finished documents.
#[derive(Clone, Default, Deserialize, Serialize)]
struct Counts {
    successful: usize,
    failed: usize,
    failures: Vec<DocumentFailure>,
}

#[derive(Clone, Deserialize, Serialize)]
struct DocumentFailure {
    document_id: String,
    message: String,
}

/// Progress of a batch, as the query returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    total_documents: usize,
    in_progress: usize,
    successful: usize,
    failed: usize,
    percent_complete: usize,
}

/// State that the lanes share.
struct Batch {
    documents: Vec<String>,
    /// Index of the next document of this run.
    next: usize,
    /// Index at which this run stops taking documents.
    end: usize,
    /// Number of documents finished by the runs before.
    before: usize,
    in_progress: usize,
    counts: Counts,
    /// Percentage published last.
    published: usize,
}

impl Batch {
    fn new(input: &BatchInput, lanes: usize) -> Self {
        let counts = input.carried.clone().unwrap_or_default();
        let end = DOCUMENTS_PER_RUN.max(lanes * DOCUMENTS_PER_LANE);
        let mut batch = Self {
            documents: input.documents.clone(),
            next: 0,
            end: end.min(input.documents.len()),
            before: counts.successful + counts.failed,
            in_progress: 0,
            counts,
            published: 0,
        };
        batch.published = batch.progress().percent_complete;
        batch
    }

    fn progress(&self) -> Progress {
        let total_documents = self.before + self.documents.len();
        let done = self.counts.successful + self.counts.failed;
        Progress {
            total_documents,
            in_progress: self.in_progress,
            successful: self.counts.successful,
            failed: self.counts.failed,
            percent_complete: (done * 100).checked_div(total_documents).unwrap_or(100),
        }
    }

    /// Takes the next document; returns its position among all documents of the batch and its id.
    fn take(&mut self) -> Option<(usize, String)> {
        let next = self.next;
        let document = self.documents.get(next).filter(|_| next < self.end)?.clone();
        self.next += 1;
        self.in_progress += 1;
        Some((self.before + next, document))
    }

    fn done(&mut self, document_id: String, outcome: Result<IgnoredAny, Failure>, stopping: bool) {
        self.in_progress -= 1;
        match outcome {
            Ok(_) => self.counts.successful += 1,
            // A child cancelled with the batch does not count as failed.
            Err(failure) if stopping && failure.is_canceled() => {}
            Err(failure) => {
                self.counts.failed += 1;
                if self.counts.failures.len() < MAX_FAILURES {
                    let message = failure.message.chars().take(MAX_MESSAGE).collect();
                    self.counts
                        .failures
                        .push(DocumentFailure { document_id, message });
                }
            }
        }
    }
}

pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, run)
}

pub async fn run(context: Context, input: Value) -> Result<Value, Failure> {
    let (input, lanes) = checked(input)?;
    let batch = Rc::new(RefCell::new(Batch::new(&input, lanes)));
    let shown = Rc::clone(&batch);
    context.answer(PROGRESS_QUERY, move || shown.borrow().progress());
    join_all((0..lanes).map(|_| lane(&context, &input, &batch))).await;
    let batch = batch.borrow();
    if context.is_canceled() {
        publish(&context, batch.progress());
    } else if let Some(left) = batch.documents.get(batch.next..).filter(|left| !left.is_empty()) {
        return Err(context.continue_as_new(&BatchInput {
            documents: left.to_vec(),
            carried: Some(batch.counts.clone()),
            ..input
        }));
    }
    Ok(json!({
        "totalDocuments": batch.progress().total_documents,
        "successful": batch.counts.successful,
        "failed": batch.counts.failed,
        "failures": batch.counts.failures,
    }))
}

/// Processes documents one after another.
async fn lane(context: &Context, input: &BatchInput, batch: &RefCell<Batch>) {
    while !context.is_canceled() {
        let taken = batch.borrow_mut().take();
        let Some((place, document_id)) = taken else { return };
        let mut child_input = input.input.clone().unwrap_or_default();
        child_input.insert("document_id".to_owned(), Value::from(document_id.as_str()));
        let outcome = context
            .child::<IgnoredAny>(&input.child_type, &child_input)
            .workflow_id(&child_id(context, place))
            .await;
        let mut batch = batch.borrow_mut();
        batch.done(document_id, outcome, context.is_canceled());
        let progress = batch.progress();
        if progress.percent_complete > batch.published {
            batch.published = progress.percent_complete;
            publish(context, progress);
        }
    }
}

/// Returns the workflow id of a child: the batch's workflow id with the document's position. Where that is
/// too long, the run id replaces the workflow id.
fn child_id(context: &Context, place: usize) -> String {
    let id = format!("{}-{place}", context.workflow_id());
    if id.chars().count() <= platform::ids::MAX_ID_LENGTH {
        id
    } else {
        format!("{}-{place}", context.run_id())
    }
}

fn publish(context: &Context, progress: Progress) {
    let done = progress.successful + progress.failed;
    let message = format!("{done} of {} documents are done.", progress.total_documents);
    context.publish(
        "PROGRESS",
        &message,
        serde_json::to_value(progress).unwrap_or_default(),
    );
}

/// Validates the input; returns it with the number of lanes.
fn checked(input: Value) -> Result<(BatchInput, usize), Failure> {
    let input: BatchInput = serde_json::from_value(input).map_err(|error| {
        invalid(format!(
            "A batch begins with {{ documents: [id], type: <workflow type>, input?: object, concurrency?: number }}: {error}."
        ))
    })?;
    let total = input.documents.len();
    if total > MAX_DOCUMENTS {
        return Err(invalid(format!(
            "A batch has at most {MAX_DOCUMENTS} documents, and not {total}: start several."
        )));
    }
    let longest = platform::ids::MAX_ID_LENGTH;
    let fits = |id: &String| (1..=longest).contains(&id.chars().count());
    if let Some(place) = input.documents.iter().position(|id| !fits(id)) {
        return Err(invalid(format!(
            "A document's id has 1 to {longest} characters; that of documents[{place}] has not."
        )));
    }
    if input.child_type.is_empty() {
        return Err(invalid(
            "`type` names the workflow type of the children.".to_owned(),
        ));
    }
    let lanes = match input.concurrency {
        None => Some(DEFAULT_CONCURRENCY),
        Some(lanes) => usize::try_from(lanes)
            .ok()
            .filter(|lanes| (1..=MAX_CONCURRENCY).contains(lanes)),
    };
    let lanes = lanes.ok_or_else(|| invalid(format!("`concurrency` is 1 to {MAX_CONCURRENCY}.")))?;
    Ok((input, lanes))
}

fn invalid(message: String) -> Failure {
    Failure::permanent("InvalidInput", message)
}
