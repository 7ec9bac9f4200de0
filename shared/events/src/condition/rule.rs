//! Compiles a condition, and refuses one that cannot work.

use std::sync::Arc;

use platform::{Error, Result};
use serde_json::{Map, Value as Json};

use super::value::Value;

/// Maximum size of a condition, in bytes of JSON.
const MAX_BYTES: usize = 32_768;
/// Maximum number of values in a condition.
const MAX_NODES: usize = 2_000;
/// Maximum nesting depth of a condition.
const MAX_DEPTH: usize = 32;

#[derive(Debug)]
pub(super) enum Rule {
    Constant(Value),
    List(Vec<Rule>),
    Operation(Operator, Vec<Rule>),
    /// `var` with a name that stands in the condition, as nearly always.
    Variable(Box<Variable>),
}

#[derive(Debug)]
pub(super) struct Variable {
    pub path: String,
    /// Parts of the path.
    pub parts: Vec<String>,
    /// Length of the path in UTF-16.
    pub units: usize,
    pub default: Option<Rule>,
}

impl Variable {
    pub fn new(units: &[u16], default: Option<Rule>) -> Self {
        let path = String::from_utf16_lossy(units);
        Self {
            parts: path.split('.').map(str::to_owned).collect(),
            path,
            units: units.len(),
            default,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    All,
    And,
    Cat,
    Divide,
    Equal,
    Filter,
    Greater,
    GreaterOrEqual,
    Identical,
    If,
    In,
    IsTrue,
    Less,
    LessOrEqual,
    Log,
    Map,
    Max,
    Merge,
    Min,
    Missing,
    MissingSome,
    Multiply,
    None,
    Not,
    NotEqual,
    NotIdentical,
    Or,
    Reduce,
    Remainder,
    Some,
    Substr,
    Subtract,
    Var,
}

/// Each operator with its name and the number of arguments that it needs.
const OPERATORS: [(&str, Operator, usize); 35] = [
    ("+", Operator::Add, 1),
    ("all", Operator::All, 2),
    ("and", Operator::And, 0),
    ("cat", Operator::Cat, 0),
    ("/", Operator::Divide, 2),
    ("==", Operator::Equal, 2),
    ("filter", Operator::Filter, 2),
    (">", Operator::Greater, 2),
    (">=", Operator::GreaterOrEqual, 2),
    ("===", Operator::Identical, 2),
    ("if", Operator::If, 0),
    ("?:", Operator::If, 0),
    ("in", Operator::In, 2),
    ("!!", Operator::IsTrue, 0),
    ("<", Operator::Less, 2),
    ("<=", Operator::LessOrEqual, 2),
    ("log", Operator::Log, 1),
    ("map", Operator::Map, 2),
    ("max", Operator::Max, 1),
    ("merge", Operator::Merge, 0),
    ("min", Operator::Min, 1),
    ("missing", Operator::Missing, 0),
    ("missing_some", Operator::MissingSome, 2),
    ("*", Operator::Multiply, 1),
    ("none", Operator::None, 2),
    ("!", Operator::Not, 0),
    ("!=", Operator::NotEqual, 2),
    ("!==", Operator::NotIdentical, 2),
    ("or", Operator::Or, 0),
    ("reduce", Operator::Reduce, 2),
    ("%", Operator::Remainder, 2),
    ("some", Operator::Some, 2),
    ("substr", Operator::Substr, 1),
    ("-", Operator::Subtract, 1),
    ("var", Operator::Var, 0),
];

/// Compiles a condition. Fails with 400 and the fault.
pub(super) fn compile(condition: &Map<String, Json>) -> Result<Rule> {
    let bytes = serde_json::to_string(condition).map_err(Error::internal)?.len();
    if bytes > MAX_BYTES {
        return Err(refusal(&format!("has more than {MAX_BYTES} bytes")));
    }
    let mut nodes = 0;
    operation(condition, &mut nodes, 0)
}

fn rule(value: &Json, nodes: &mut usize, depth: usize) -> Result<Rule> {
    *nodes += 1;
    if *nodes > MAX_NODES {
        return Err(refusal(&format!("is made of more than {MAX_NODES} values")));
    }
    if depth > MAX_DEPTH {
        return Err(refusal(&format!("nests deeper than {MAX_DEPTH} levels")));
    }
    match value {
        Json::Array(items) => {
            let items = items.iter().map(|item| rule(item, nodes, depth + 1));
            Ok(Rule::List(items.collect::<Result<_>>()?))
        }
        Json::Object(fields) => operation(fields, nodes, depth),
        Json::Null => Ok(Rule::Constant(Value::Null)),
        Json::Bool(value) => Ok(Rule::Constant(Value::Bool(*value))),
        Json::Number(number) => Ok(Rule::Constant(Value::Number(number.as_f64().unwrap_or(f64::NAN)))),
        Json::String(text) => Ok(Rule::Constant(Value::text(text))),
    }
}

fn operation(fields: &Map<String, Json>, nodes: &mut usize, depth: usize) -> Result<Rule> {
    let mut entries = fields.iter();
    let (Some((name, arguments)), None) = (entries.next(), entries.next()) else {
        return Err(refusal(
            "has an object that is no operation; an operation is an object with one field, as in {\"var\": \"action\"}",
        ));
    };
    let known = OPERATORS.iter().find(|(known, _, _)| known == name);
    let Some((_, operator, least)) = known else {
        return Err(refusal(&format!(
            "has the operator '{name}', which JSONLogic does not know"
        )));
    };
    // One argument may stand without a list.
    let arguments = match arguments {
        Json::Array(arguments) => arguments,
        single => std::slice::from_ref(single),
    };
    if arguments.len() < *least {
        return Err(refusal(&format!(
            "has the operator '{name}' with fewer arguments than it needs"
        )));
    }
    let arguments = arguments.iter().map(|argument| rule(argument, nodes, depth + 1));
    let arguments: Vec<Rule> = arguments.collect::<Result<_>>()?;
    if *operator == Operator::Var
        && let Some(Rule::Constant(Value::Text(name))) = arguments.first()
        && !name.is_empty()
    {
        let name = Arc::clone(name);
        let default = arguments.into_iter().nth(1);
        return Ok(Rule::Variable(Box::new(Variable::new(&name, default))));
    }
    Ok(Rule::Operation(*operator, arguments))
}

pub(super) fn refusal(why: &str) -> Error {
    Error::invalid(format!("The condition in 'filter.condition' {why}."))
}
