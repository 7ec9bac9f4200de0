//! Implements `listen`: waits for events, which arrive as the signal `Event`.

mod filter;

use events::listening::EVENT_SIGNAL;
use process::Data;
use process::definition::{EventFilter, Foreach, Listen, Read, Strategy, Until};
use process::flow::event::Attributes;
use serde_json::json;

use self::filter::{Correlations, matches};
use crate::process::execution::{Process, bounded};
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::inbox::Reader;
use crate::process::listening::Hearing;
use crate::process::outcome::{Done, Worked};

pub(super) async fn run(process: &Process, view: &View<'_>, listen: &Listen, input: Data) -> Worked {
    let mut wanted = Wanted::from_strategy(&listen.strategy);
    let until = match &listen.strategy {
        Strategy::Any { until, .. } => until.as_ref(),
        Strategy::One(_) | Strategy::All(_) => None,
    };
    let mut ending = match until {
        Some(Until::Events(strategy)) => Some(Wanted::from_strategy(strategy)),
        _ => None,
    };
    let mut reader = process.events.reader();
    let _hearing = Hearing::begin(view, &listen.strategy).await?;
    let (mut taken, mut outputs) = (Vec::new(), Vec::new());
    loop {
        let (place, event) = next(process, view, &mut reader).await?;
        if let Some(ending) = &mut ending
            && ending.takes(process, view, &input, &event).await?
        {
            process.events.take(place);
            if ending.is_done() {
                break;
            }
            continue;
        }
        if !wanted.takes(process, view, &input, &event).await? {
            continue;
        }
        process.events.take(place);
        let read = read(&event, listen.read);
        taken.push(read.clone());
        match &listen.foreach {
            None => outputs.push(read),
            Some(foreach) => match each(process, view, foreach, read, outputs.len()).await? {
                Done::Output(output) => outputs.push(output),
                end @ Done::End(_) => return Ok(end.into()),
            },
        }
        let is_done = match until {
            Some(Until::Condition(condition)) => process.holds(view, &Data::list(&taken), condition).await?,
            Some(Until::Events(_)) => false,
            None => wanted.is_done(),
        };
        if is_done {
            break;
        }
    }
    Ok(bounded(Data::list(&outputs), view.pointer)?.into())
}

/// Returns the next event and its position, whether a filter matches it or not.
async fn next(process: &Process, view: &View<'_>, reader: &mut Reader) -> Result<(usize, Data), Fault> {
    let context = &view.frame.context;
    process.shown.waits_for(view.frame.number, Some(EVENT_SIGNAL));
    let next = process.events.next(context, reader).await;
    process.shown.waits_for(view.frame.number, None);
    next.map_err(|failure| Fault::from_failure(&failure, context, view.pointer))
}

fn read(event: &Data, read: Read) -> Data {
    match read {
        Read::Data | Read::Raw => event.field("data").unwrap_or_else(Data::null),
        Read::Envelope => event.clone(),
    }
}

/// Runs the tasks for one event; their input is the event as `read` selects it.
async fn each(
    process: &Process,
    view: &View<'_>,
    foreach: &Foreach,
    event: Data,
    index: usize,
) -> Result<Done, Fault> {
    process.count(view.pointer)?;
    let round = [
        (foreach.item.as_str(), event.clone()),
        (&foreach.at, Data::from(json!(index))),
    ];
    let frame = view.frame.with(round);
    let mut value = match process.run_list(frame.clone(), &foreach.tasks, event).await? {
        Done::Output(output) => output,
        end @ Done::End(_) => return Ok(end),
    };
    let mut view = view.in_frame(&frame);
    if let Some(template) = &foreach.output.template {
        value = process.fill(&view, &value, template).await?;
    }
    if let Some(schema) = &foreach.output.schema {
        process.validate(&view, schema, &value).await?;
    }
    view.output = Some(value.clone());
    if let Some(template) = &foreach.export.template {
        let context = process.fill(&view, &value, template).await?;
        if let Some(schema) = &foreach.export.schema {
            process.validate(&view, schema, &context).await?;
        }
        process.shown.set_context(context);
    }
    Ok(Done::Output(value))
}

/// Events that a strategy still waits for.
struct Wanted<'a> {
    filters: Vec<&'a EventFilter>,
    /// Whether one event per filter is needed.
    is_all: bool,
    /// Whether there are no filters, so that every event matches.
    is_any: bool,
    has_taken: bool,
    correlations: Correlations,
}

impl<'a> Wanted<'a> {
    fn from_strategy(strategy: &'a Strategy) -> Self {
        let (filters, is_all): (Vec<&EventFilter>, bool) = match strategy {
            Strategy::One(filter) => (vec![filter], false),
            Strategy::Any { filters, .. } => (filters.iter().collect(), false),
            Strategy::All(filters) => (filters.iter().collect(), true),
        };
        Self {
            is_any: filters.is_empty(),
            filters,
            is_all,
            has_taken: false,
            correlations: Correlations::default(),
        }
    }

    /// Returns whether the strategy takes an event, and records that it did.
    async fn takes(
        &mut self,
        process: &Process,
        view: &View<'_>,
        input: &Data,
        event: &Data,
    ) -> Result<bool, Fault> {
        if self.is_any {
            self.has_taken = true;
            return Ok(true);
        }
        let attributes = Attributes::of(event);
        for (index, filter) in self.filters.iter().enumerate() {
            if matches(process, view, filter, &attributes).await?
                && self
                    .correlations
                    .take(process, view, filter, (input, event))
                    .await?
            {
                self.has_taken = true;
                if self.is_all {
                    self.filters.remove(index);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_done(&self) -> bool {
        match self.is_all {
            true => self.filters.is_empty(),
            false => self.has_taken,
        }
    }
}
