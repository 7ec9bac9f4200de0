//! Represents a parsed filter and prints it.

use std::fmt::{self, Display, Formatter};

use super::literal::{self, Value};

/// A filter or a part of one. The parser limits its depth, so code may recurse over it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    /// `AND` of two or more.
    All(Vec<Expression>),
    /// `OR` of two or more.
    Any(Vec<Expression>),
    Not(Box<Expression>),
    Condition(Field, Test),
}

/// Test of one field. The parser checks that the values are of the field's kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    Compare(Comparison, Value),
    In { negated: bool, values: Vec<Value> },
    Between { negated: bool, low: Value, high: Value },
    StartsWith { negated: bool, prefix: String },
    IsNull { negated: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    WorkflowId,
    RunId,
    WorkflowType,
    ExecutionStatus,
    StartTime,
    CloseTime,
    ExecutionDuration,
    InitiatedBy,
    DocumentId,
    EventName,
    RuleId,
}

/// Kind of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Status,
    Time,
    Duration,
}

impl Field {
    pub(super) const ALL: [Self; 11] = [
        Self::WorkflowId,
        Self::RunId,
        Self::WorkflowType,
        Self::ExecutionStatus,
        Self::StartTime,
        Self::CloseTime,
        Self::ExecutionDuration,
        Self::InitiatedBy,
        Self::DocumentId,
        Self::EventName,
        Self::RuleId,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::WorkflowId => "WorkflowId",
            Self::RunId => "RunId",
            Self::WorkflowType => "WorkflowType",
            Self::ExecutionStatus => "ExecutionStatus",
            Self::StartTime => "StartTime",
            Self::CloseTime => "CloseTime",
            Self::ExecutionDuration => "ExecutionDuration",
            Self::InitiatedBy => "InitiatedBy",
            Self::DocumentId => "DocumentId",
            Self::EventName => "EventName",
            Self::RuleId => "RuleId",
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::ExecutionStatus => Kind::Status,
            Self::StartTime | Self::CloseTime => Kind::Time,
            Self::ExecutionDuration => Kind::Duration,
            Self::WorkflowId
            | Self::RunId
            | Self::WorkflowType
            | Self::InitiatedBy
            | Self::DocumentId
            | Self::EventName
            | Self::RuleId => Kind::Text,
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Returns the names of the fields that `wanted` selects, for an error message.
    pub(super) fn names(wanted: impl Fn(Self) -> bool) -> String {
        let names: Vec<&str> = Self::ALL
            .into_iter()
            .filter(|field| wanted(*field))
            .map(Self::name)
            .collect();
        names.join(", ")
    }
}

impl Expression {
    pub(super) fn asks_for_standing(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::asks_for_standing),
            Self::Not(inner) => inner.asks_for_standing(),
            Self::Condition(field, _) => matches!(
                field,
                Field::ExecutionStatus | Field::CloseTime | Field::ExecutionDuration
            ),
        }
    }
}

impl Comparison {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl Display for Expression {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(parts) => joined(formatter, parts, " AND ", |part| {
                matches!(part, Self::All(_) | Self::Any(_))
            }),
            Self::Any(parts) => joined(formatter, parts, " OR ", |part| matches!(part, Self::Any(_))),
            Self::Not(inner) => {
                formatter.write_str("NOT ")?;
                let in_parentheses = matches!(**inner, Self::All(_) | Self::Any(_));
                operand(formatter, inner, in_parentheses)
            }
            Self::Condition(field, test) => write!(formatter, "{} {test}", field.name()),
        }
    }
}

/// Prints parentheses only where the meaning needs them, because each one counts against the depth limit when
/// the text is parsed again.
fn joined(
    formatter: &mut Formatter<'_>,
    parts: &[Expression],
    separator: &str,
    in_parentheses: fn(&Expression) -> bool,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            formatter.write_str(separator)?;
        }
        operand(formatter, part, in_parentheses(part))?;
    }
    Ok(())
}

fn operand(formatter: &mut Formatter<'_>, part: &Expression, in_parentheses: bool) -> fmt::Result {
    if in_parentheses {
        write!(formatter, "({part})")
    } else {
        part.fmt(formatter)
    }
}

impl Display for Test {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match self {
            Self::Compare(comparison, value) => write!(formatter, "{} {value}", comparison.symbol()),
            Self::In { negated, values } => {
                let values: Vec<String> = values.iter().map(Value::to_string).collect();
                write!(formatter, "{}IN ({})", not(negated), values.join(", "))
            }
            Self::Between { negated, low, high } => {
                write!(formatter, "{}BETWEEN {low} AND {high}", not(negated))
            }
            Self::StartsWith { negated, prefix } => {
                write!(
                    formatter,
                    "{}STARTS_WITH {}",
                    not(negated),
                    literal::quoted(prefix)
                )
            }
            Self::IsNull { negated } => write!(formatter, "IS {}NULL", not(negated)),
        }
    }
}
