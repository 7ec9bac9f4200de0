//! Decides whether an event matches a filter.

use std::collections::BTreeMap;

use process::Data;
use process::definition::EventFilter;
use process::flow::event::{Attributes, evaluated};
use process::flow::{self, Kind, ProcessError};

use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::interpreter::Process;

/// Returns whether an event has the attributes of a filter.
pub(super) async fn matches(
    process: &Process,
    view: &View<'_>,
    filter: &EventFilter,
    event: &Attributes,
) -> Result<bool, Fault> {
    let mut results = Vec::new();
    for (template, value) in evaluated(filter, event) {
        results.extend(process.evaluate(view, &value, &template.expressions()).await?);
    }
    let matches = flow::matches(filter, event, &results, &mut process.comparisons.borrow_mut());
    matches.ok_or_else(|| {
        let detail = "The events of this run take too long to compare with the filters; use fewer or simpler patterns.";
        Fault::Final(Box::new(ProcessError::new(Kind::Runtime, detail, view.pointer)))
    })
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
            let found = process.evaluate(view, event, &[&correlation.from]).await?;
            let found = found.into_iter().next().unwrap_or_else(Data::null);
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
