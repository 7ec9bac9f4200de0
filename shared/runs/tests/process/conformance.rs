//! Runs scenarios of feature files: our own, and those of the specification's conformance kit.
//!
//! The kit is the folder `ctk/features` of github.com/serverlessworkflow/specification, which `CTK` names as
//! an absolute path: `CTK=… cargo nextest run --workspace --test process --run-ignored only conformance_kit`.

use std::fs;
use std::sync::{Arc, Mutex};

use process::Data;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use workflow::status::RunStatus;
use workflow::testing::TestOutcome;

use crate::world::{ended, run};

const OWN: &str = include_str!("scenarios.feature");

#[derive(Debug, Default)]
struct Scenario {
    name: String,
    /// Each step with the text block below it.
    steps: Vec<(String, Option<String>)>,
}

fn scenarios(text: &str) -> Vec<Scenario> {
    let (mut scenarios, mut lines) = (Vec::<Scenario>::new(), text.lines());
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("Scenario:") {
            let name = name.trim().to_owned();
            scenarios.push(Scenario {
                name,
                ..Scenario::default()
            });
        } else if line.starts_with("\"\"\"") {
            let block: Vec<&str> = lines
                .by_ref()
                .take_while(|line| line.trim() != "\"\"\"")
                .collect();
            let step = scenarios.last_mut().unwrap().steps.last_mut().unwrap();
            step.1 = Some(block.join("\n"));
        } else if let Some(scenario) = scenarios.last_mut() {
            let begins = ["Given ", "When ", "Then ", "And "];
            if let Some(step) = begins.iter().find_map(|begin| line.strip_prefix(begin)) {
                scenario.steps.push((step.to_owned(), None));
            }
        }
    }
    scenarios
}

fn yaml(block: Option<&String>) -> Value {
    Data::of_document(block.unwrap()).unwrap().to_value()
}

fn quoted(step: &str) -> Vec<&str> {
    step.split('\'').skip(1).step_by(2).collect()
}

fn check(scenario: &Scenario) {
    let (mut definition, mut input, mut outcome) = (String::new(), json!({}), None::<TestOutcome>);
    let names = Names::default();
    for (step, block) in &scenario.steps {
        let place = format!("{}: {step}", scenario.name);
        let ended_with = || outcome.as_ref().unwrap_or_else(|| panic!("{place}"));
        let result = || ended_with().result.clone().unwrap_or_default();
        match step.as_str() {
            "a workflow with definition:" => definition = block.clone().unwrap(),
            "given the workflow input is:" => input = yaml(block.as_ref()),
            "the workflow is executed" => {
                let emitted = |_: Value| Ok(Value::Null);
                let run = run(&definition, &input).mock("process_emit", emitted);
                outcome = Some(tracing::subscriber::with_default(names.clone(), || ended(run)));
            }
            "the workflow should complete" => {
                assert_eq!(ended_with().status, RunStatus::Completed, "{place}");
            }
            "the workflow should complete with output:" => {
                assert_eq!(result(), yaml(block.as_ref()), "{place}");
            }
            "the workflow should fault with error:" => {
                let failure = ended_with().failure.clone().unwrap_or_else(|| panic!("{place}"));
                assert_eq!(
                    failure.details.unwrap().to_value(),
                    yaml(block.as_ref()),
                    "{place}"
                );
            }
            step if step.starts_with("the workflow output should have properties") => {
                for name in quoted(step) {
                    assert!(result().get(name).is_some(), "{place}: {name}");
                }
            }
            step if step.ends_with("property with value:") => {
                // The value may be a plain text, which is a YAML document too.
                assert_eq!(result()[quoted(step)[0]], yaml(block.as_ref()), "{place}");
            }
            step if step.ends_with("items") => {
                let words: Vec<&str> = step.split(' ').collect();
                let count: usize = words[words.len() - 2].parse().unwrap();
                assert_eq!(
                    result()[quoted(step)[0]].as_array().unwrap().len(),
                    count,
                    "{place}"
                );
            }
            step => order(step, &names.all(), &place),
        }
    }
}

/// Checks a step about the order of tasks.
fn order(step: &str, names: &[String], place: &str) {
    let words: Vec<&str> = step.split(' ').collect();
    let at = |name: &str| {
        names
            .iter()
            .position(|other| other == name)
            .unwrap_or_else(|| panic!("{place}"))
    };
    match words.as_slice() {
        [name, "should", "run", "first"] => assert_eq!(at(name), 0, "{place}"),
        [name, "should", "run", "last"] => assert_eq!(at(name), names.len() - 1, "{place}"),
        [name, "should", "run", "after", before] => assert_eq!(at(name), at(before) + 1, "{place}"),
        _ => panic!("unknown step: {place}"),
    }
}

#[test]
fn own_scenarios_pass() {
    let scenarios = scenarios(OWN);
    assert_eq!(scenarios.len(), 11);
    scenarios.iter().for_each(check);
}

#[test]
#[ignore = "needs the conformance kit: CTK names the folder of its features"]
fn scenarios_of_the_conformance_kit_pass() {
    #[expect(clippy::disallowed_methods, reason = "the caller says by it where the kit is")]
    let folder = std::env::var("CTK").expect("CTK is not set: the folder ctk/features of the specification");
    let texts = fs::read_dir(folder).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let is_feature = path.extension().is_some_and(|end| end == "feature");
        is_feature.then(|| fs::read_to_string(path).unwrap())
    });
    let scenarios: Vec<Scenario> = texts.flat_map(|text| scenarios(&text)).collect();
    assert!(!scenarios.is_empty(), "the folder has no scenario");
    scenarios.iter().for_each(check);
}

/// Names of the started tasks in order, from the log.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<Vec<String>>>);

impl Names {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[derive(Default)]
struct Begun {
    task: Option<String>,
    is_replayed: bool,
}

impl Visit for Begun {
    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "task" {
            self.task = Some(value.to_owned());
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.is_replayed |= field.name() == "is_replayed" && value;
    }
}

impl Subscriber for Names {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::DEBUG
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut begun = Begun::default();
        event.record(&mut begun);
        if let Some(task) = begun.task.filter(|_| !begun.is_replayed) {
            self.0.lock().unwrap().push(task);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
