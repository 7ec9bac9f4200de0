//! Checks events that a task emits or waits for.

use super::Checker;
use super::reader::Fields;
use crate::definition::{
    Correlation, EventFilter, ExpectedAttribute, Foreach, Listen, Read, Strategy, Template, Until, Work,
    pattern_text,
};
use crate::fault::Place;
use crate::limits::MAX_PATTERNS;
use crate::source::Tree;

const READS: [(&str, Read); 3] = [
    ("data", Read::Data),
    ("envelope", Read::Envelope),
    ("raw", Read::Raw),
];
/// Attributes of CloudEvents whose value is a text.
const TEXTS: [&str; 7] = [
    "id",
    "source",
    "type",
    "time",
    "subject",
    "datacontenttype",
    "dataschema",
];

impl Checker {
    pub(super) fn emit(&mut self, at: &Place, tree: &Tree) -> Option<Template> {
        let mut fields = self.fields(at, tree, "'emit'")?;
        let event = self.required(&mut fields, "event");
        self.done(&fields, "'emit'");
        let (at, tree) = event?;
        let mut fields = self.fields(&at, tree, "an event")?;
        let with = self.required(&mut fields, "with");
        self.done(&fields, "an event");
        let (at, tree) = with?;
        let attributes = self.attributes(&at, tree)?;
        for name in ["source", "type"] {
            if !attributes.iter().any(|(other, _)| other == name) {
                self.report(&at, format!("The field '{name}' is missing."));
            }
        }
        self.template(&at, tree)
    }

    /// Reads the attributes of an event. Those of CloudEvents are texts, others any value.
    fn attributes(&mut self, at: &Place, tree: &Tree) -> Option<Vec<(String, Template)>> {
        self.fields(at, tree, "the attributes of an event")?;
        let Tree::Object(entries) = tree else {
            return None;
        };
        let mut attributes = Vec::new();
        for (name, value) in entries {
            let at = at.field(name);
            let template = match TEXTS.contains(&name.as_str()) {
                true => self.text_template(&at, value),
                false => self.template(&at, value),
            };
            attributes.push(template.map(|template| (name.clone(), template)));
        }
        attributes.into_iter().collect()
    }

    pub(super) fn listen(&mut self, at: &Place, tree: &Tree, task: &mut Fields<'_>) -> Option<Work> {
        let mut fields = self.fields(at, tree, "'listen'")?;
        let to = self.required(&mut fields, "to");
        let strategy = to.and_then(|(at, tree)| self.strategy(&at, tree, true));
        let read = self.choice(fields.take("read"), &READS).unwrap_or_default();
        self.done(&fields, "'listen'");
        let foreach = task.take("foreach");
        let foreach = foreach.map(|(at, tree)| self.foreach(&at, tree));
        Some(Work::Listen(Box::new(Listen {
            strategy: strategy?,
            read,
            foreach: foreach.map_or(Some(None), |foreach| foreach.map(Some))?,
        })))
    }

    fn strategy(&mut self, at: &Place, tree: &Tree, may_until: bool) -> Option<Strategy> {
        let mut fields = self.fields(at, tree, "the events")?;
        let (one, any, all) = (fields.take("one"), fields.take("any"), fields.take("all"));
        let until = if may_until { fields.take("until") } else { None };
        self.done(&fields, "the object");
        if let (Some((at, _)), None) = (&until, &any) {
            self.report(
                at,
                "The field 'until' needs 'any'; the first event ends any other wait.",
            );
        }
        match (one, any, all) {
            (Some((at, tree)), None, None) => self.filter(&at, tree).map(Strategy::One),
            (None, Some((at, tree)), None) => {
                let filters = self.filters(&at, tree);
                let until = until.map(|(at, tree)| match tree {
                    Tree::Object(_) => {
                        let events = self.strategy(&at, tree, false);
                        events.map(|events| Until::Events(Box::new(events)))
                    }
                    _ => self.expression(&at, tree).map(Until::Condition),
                });
                Some(Strategy::Any {
                    filters: filters?,
                    until: until.map_or(Some(None), |until| until.map(Some))?,
                })
            }
            (None, None, Some((at, tree))) => match self.filters(&at, tree)? {
                filters if filters.is_empty() => self.refuse(&at, "The list has no events; add one."),
                filters => Some(Strategy::All(filters)),
            },
            (None, None, None) => self.refuse(at, "Expected one of the fields one, any and all."),
            _ => self.refuse(at, "Expected only one of the fields one, any and all."),
        }
    }

    fn filters(&mut self, at: &Place, tree: &Tree) -> Option<Vec<EventFilter>> {
        let filters = self.list(at, tree)?.iter().enumerate();
        let filters: Vec<_> = filters
            .map(|(index, item)| self.filter(&at.item(index), item))
            .collect();
        filters.into_iter().collect()
    }

    fn filter(&mut self, at: &Place, tree: &Tree) -> Option<EventFilter> {
        let mut fields = self.fields(at, tree, "an event filter")?;
        let with = self.required(&mut fields, "with");
        let with = with.and_then(|(at, tree)| {
            let attributes = self.attributes(&at, tree)?;
            if attributes.is_empty() {
                return self.refuse(&at, "The filter has no attributes; add one such as 'type'.");
            }
            Some(self.expected(&at, attributes))
        });
        let mut correlate = Vec::new();
        if let Some((at, tree)) = fields.take("correlate")
            && self.fields(&at, tree, "'correlate'").is_some()
            && let Tree::Object(entries) = tree
        {
            for (name, value) in entries {
                correlate.extend(self.correlation(name, &at.field(name), value));
            }
        }
        self.done(&fields, "an event filter");
        Some(EventFilter {
            with: with?,
            correlate,
        })
    }

    /// Compiles the patterns of a filter, as many as a definition may have.
    fn expected(&mut self, at: &Place, attributes: Vec<(String, Template)>) -> Vec<ExpectedAttribute> {
        let mut expected = Vec::new();
        for (name, template) in attributes {
            let at = at.field(&name);
            if pattern_text(&template).is_some() {
                self.patterns += 1;
                if self.patterns == MAX_PATTERNS + 1 {
                    let message = format!(
                        "The event filters of the definition have more than {MAX_PATTERNS} patterns; compare whole \
                         texts instead, or join patterns with '|'."
                    );
                    self.report(&at, message);
                }
                if self.patterns > MAX_PATTERNS {
                    continue;
                }
            }
            match ExpectedAttribute::new(name, template) {
                Ok(attribute) => expected.push(attribute),
                Err(message) => self.report(&at, message),
            }
        }
        expected
    }

    fn correlation(&mut self, name: &str, at: &Place, tree: &Tree) -> Option<Correlation> {
        let mut fields = self.fields(at, tree, "a correlation")?;
        let from = self.required(&mut fields, "from");
        let from = from.and_then(|(at, tree)| self.expression(&at, tree));
        let expect = self.optional_text_template(fields.take("expect"));
        self.done(&fields, "a correlation");
        Some(Correlation {
            name: name.to_owned(),
            from: from?,
            expect,
        })
    }

    fn foreach(&mut self, at: &Place, tree: &Tree) -> Option<Foreach> {
        let mut fields = self.fields(at, tree, "'foreach'")?;
        let item = self.variable(fields.take("item"), "item");
        let index = self.variable(fields.take("at"), "index");
        if item == index {
            self.report(
                at,
                format!("The event and its index are both '${item}'; rename one."),
            );
        }
        let tasks = fields.take("do");
        let (output, export) = (fields.take("output"), fields.take("export"));
        self.done(&fields, "'foreach'");
        self.with_variables(&[&item.clone(), &index.clone()], |checker| {
            let tasks = tasks.map_or(Some(Vec::new()), |(at, tree)| checker.tasks(&at, tree));
            let output = checker.transform(output, "as");
            let export = checker.transform(export, "as");
            Some(Foreach {
                item,
                at: index,
                tasks: tasks?,
                output: output?,
                export: export?,
            })
        })
    }
}
