//! Finds what a condition reads of an event, for advice to its author.

use std::borrow::Cow;

use super::budget::{Budget, MAX_STEPS};
use super::evaluate::evaluate;
use super::rule::{Operator, Rule, Variable};
use super::value::Value;

/// Maximum number of values that are shown.
const MAX_SHOWN: usize = 5;
/// Maximum length of a shown text, in UTF-16 units.
const MAX_SHOWN_UNITS: usize = 100;

/// Returns the paths that a rule reads of the event itself, each once, in their order. Paths that the event
/// decides are left out.
pub(super) fn paths(rule: &Rule) -> Vec<String> {
    let mut paths = Vec::new();
    collect(rule, &mut paths);
    paths
}

fn collect(rule: &Rule, paths: &mut Vec<String>) {
    let (operator, arguments) = match rule {
        Rule::Constant(_) => return,
        Rule::List(rules) => return rules.iter().for_each(|rule| collect(rule, paths)),
        Rule::Operation(operator, arguments) => (*operator, arguments),
        Rule::Variable(variable) => {
            if !paths.contains(&variable.path) {
                paths.push(variable.path.clone());
            }
            return variable.default.iter().for_each(|rule| collect(rule, paths));
        }
    };
    match operator {
        Operator::Var => arguments.iter().take(1).for_each(|name| add(name, paths)),
        Operator::Missing => arguments.iter().for_each(|name| add(name, paths)),
        Operator::MissingSome => arguments.iter().skip(1).for_each(|name| add(name, paths)),
        _ => {}
    }
    // The second argument of a loop reads the items of a list.
    let is_loop = matches!(
        operator,
        Operator::All | Operator::Filter | Operator::Map | Operator::None | Operator::Reduce | Operator::Some
    );
    for (place, argument) in arguments.iter().enumerate() {
        if !(is_loop && place == 1) {
            collect(argument, paths);
        }
    }
}

fn add(name: &Rule, paths: &mut Vec<String>) {
    match name {
        Rule::List(names) => names.iter().for_each(|name| add(name, paths)),
        Rule::Constant(Value::Text(units)) => {
            let path = String::from_utf16_lossy(units);
            if !path.is_empty() && !paths.contains(&path) {
                paths.push(path);
            }
        }
        _ => {}
    }
}

/// Tells what the paths of a rule lead to in an event, such as `action is "opened"`.
pub(super) fn values(rule: &Rule, event: &Value) -> String {
    let mut budget = Budget { left: MAX_STEPS };
    let mut value = |path: &str| {
        let units: Vec<u16> = path.encode_utf16().collect();
        let variable = Rule::Variable(Box::new(Variable::new(&units, None)));
        let value = evaluate(&variable, event, &mut budget).unwrap_or(Cow::Owned(Value::Undefined));
        format!("{path} is {}", shown(&value))
    };
    let values = paths(rule).into_iter().take(MAX_SHOWN);
    values.map(|path| value(&path)).collect::<Vec<_>>().join(", ")
}

fn shown(value: &Value) -> String {
    match value {
        // What `var` makes of a path that leads nowhere.
        Value::Undefined | Value::Null => "missing or null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => platform::javascript::number_text(*number),
        Value::Text(units) => match units.get(..MAX_SHOWN_UNITS) {
            Some(start) => format!("{:?}… ({} long)", String::from_utf16_lossy(start), units.len()),
            None => format!("{:?}", String::from_utf16_lossy(units)),
        },
        Value::List(list) => format!("a list of {}", list.items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}
