//! `BatchAgentWorkflow`: one child run for each of many documents, so many at a time.
//!
//! Its input is `{ documents: [id], type: <workflow type>, input?: object, concurrency?: number }`. A child's input is `input`
//! and the `document_id`. A child that fails does not fail the batch: the result counts it and says why.
//!
//! The children run in *lanes*, as many as may go on at a time; each takes the next document when its child has ended. A
//! batch goes on as a new run before its history gets long. It does that between two documents of every lane, so that no
//! child loses the run that waits for it, and the counts go with it. Once the run is asked to stop, no lane takes another
//! document; the children that go on are asked to stop too, and are waited for.

use std::cell::RefCell;
use std::rc::Rc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use workflow::future::join_all;
use workflow::{Context, Failure, Registry, WorkflowType};

/// The workflow type.
pub const WORKFLOW_TYPE: WorkflowType<Value, Value> =
    WorkflowType::new("BatchAgentWorkflow").queries(&[PROGRESS_QUERY]);
/// The query that tells how far a batch is.
pub const PROGRESS_QUERY: &str = "BatchAgentProgress";

/// Most documents of a batch.
pub const MAX_DOCUMENTS: usize = 10_000;
/// Most children at a time.
pub const MAX_CONCURRENCY: usize = 100;
/// Children at a time where nothing is said.
pub const DEFAULT_CONCURRENCY: usize = 10;
/// Most failures that the result lists.
pub const MAX_FAILURES: usize = 100;

/// A run takes on at least so many documents before it goes on as a new one; each is three events of its history.
const DOCUMENTS_PER_RUN: usize = 200;
/// It also takes on so many for each lane, because the lanes wait for the last of them before the run goes on as a new one.
const DOCUMENTS_PER_LANE: usize = 5;
/// Characters of a failure's message that the result lists.
const MAX_MESSAGE: usize = 500;

#[derive(Clone, Deserialize, Serialize)]
struct Input {
    documents: Vec<String>,
    #[serde(rename = "type")]
    child_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concurrency: Option<u64>,
    /// What the runs before this one came to: `documents` are those that are left then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    carried: Option<Counts>,
}

/// What came of the documents that are done.
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

/// How far a batch is, as the query answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    total_documents: usize,
    in_progress: usize,
    successful: usize,
    failed: usize,
    percent_complete: usize,
}

/// What the lanes share.
struct Batch {
    documents: Vec<String>,
    /// The next document of this run.
    next: usize,
    /// Where this run ends.
    end: usize,
    /// Documents of the runs before.
    before: usize,
    in_progress: usize,
    counts: Counts,
    /// The percentage that was published last.
    published: usize,
}

impl Batch {
    fn of(input: &Input, lanes: usize) -> Self {
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

    /// The next document, and its place among all of them.
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
            // It did not fail: it was not wanted any longer.
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

/// Adds the type to a registry.
pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, run)
}

/// The code of the type.
pub async fn run(context: Context, input: Value) -> Result<Value, Failure> {
    let (input, lanes) = checked(input)?;
    let batch = Rc::new(RefCell::new(Batch::of(&input, lanes)));
    let shown = Rc::clone(&batch);
    context.answer(PROGRESS_QUERY, move || shown.borrow().progress());
    join_all((0..lanes).map(|_| lane(&context, &input, &batch))).await;
    let batch = batch.borrow();
    if context.is_canceled() {
        publish(&context, batch.progress());
    } else if let Some(left) = batch.documents.get(batch.next..).filter(|left| !left.is_empty()) {
        return Err(context.continue_as_new(&Input {
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

/// One document after another.
async fn lane(context: &Context, input: &Input, batch: &RefCell<Batch>) {
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

/// The workflow id of a child: that of the batch and the document's place, or the run's id where that would be too long.
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

/// The input, and how many lanes it asks for.
fn checked(input: Value) -> Result<(Input, usize), Failure> {
    let input: Input = serde_json::from_value(input).map_err(|error| {
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
