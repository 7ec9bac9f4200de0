//! Decides whether an event matches a filter.

use std::collections::BTreeMap;

use process::Data;
use process::definition::{EventFilter, Expression};
use process::flow::event::{Attributes, evaluated};
use process::flow::{self, Kind, ProcessError};
use serde_json::json;

use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;

/// Maximum number of such events that a run tells its followers.
const MAX_TOLD: u32 = 20;

/// Returns whether an event has the attributes of a filter.
pub(super) async fn matches(
    process: &Process,
    view: &View<'_>,
    filter: &EventFilter,
    event: &Attributes,
) -> Result<bool, Fault> {
    let mut results = Vec::new();
    for (template, value) in evaluated(filter, event) {
        match about_event(process, view, &value, &template.expressions()).await? {
            Some(more) => results.extend(more),
            None => return Ok(false),
        }
    }
    let matches = flow::matches(filter, event, &results, &mut process.comparisons.borrow_mut());
    matches.ok_or_else(|| {
        let detail = "The events of this run take too long to compare with the filters; use fewer or simpler patterns.";
        Fault::Final(Box::new(ProcessError::new(Kind::Runtime, detail, view.pointer)))
    })
}

/// Evaluates expressions about an event. None where one of them fails: an author cannot know the events of
/// all senders, so such an event does not match, and the run goes on waiting.
async fn about_event(
    process: &Process,
    view: &View<'_>,
    event: &Data,
    expressions: &[&Expression],
) -> Result<Option<Vec<Data>>, Fault> {
    let failure = match process.try_evaluate(view, event, expressions).await? {
        Ok(results) => return Ok(Some(results)),
        Err(failure) => failure,
    };
    let unmatched = process.unmatched.get() + 1;
    process.unmatched.set(unmatched);
    if unmatched <= MAX_TOLD {
        let details = json!({ "task": view.pointer });
        let context = &view.frame.context;
        context.publish("WARNING", &format!("An event does not match. {failure}"), details);
    }
    Ok(None)
}

/// Values of the first events, which later events must have too.
#[derive(Default)]
pub(super) struct Correlations(BTreeMap<String, Data>);

impl Correlations {
    /// Returns whether an event has the values of a filter's `correlate`. Stores the values that it is the
    /// first to have.
    pub async fn take(
        &mut self,
        process: &Process,
        view: &View<'_>,
        filter: &EventFilter,
        (input, event): (&Data, &Data),
    ) -> Result<bool, Fault> {
        let mut first = Vec::new();
        for correlation in &filter.correlate {
            let from = about_event(process, view, event, &[&correlation.from]).await?;
            let Some(from) = from else { return Ok(false) };
            let found = from.into_iter().next().unwrap_or_else(Data::null);
            let expected = match &correlation.expect {
                Some(template) => Some(process.fill(view, input, template).await?),
                None => self.0.get(&correlation.name).cloned(),
            };
            match expected {
                Some(expected) if expected != found => return Ok(false),
                Some(_) => {}
                None => first.push((correlation.name.clone(), found)),
            }
        }
        self.0.extend(first);
        Ok(true)
    }
}
