//! Defines the parsed template.

use super::functions::{Global, Method};
use crate::error::Place;

/// Inside of a template literal: text and expressions in turn.
#[derive(Debug)]
pub struct Template {
    pub parts: Vec<Part>,
}

#[derive(Debug)]
pub enum Part {
    Text(String),
    Expression(Expression),
}

#[derive(Debug)]
pub struct Expression {
    pub kind: Kind,
    pub place: Place,
    /// Nesting depth of the expression, itself included.
    pub depth: usize,
}

#[derive(Debug)]
pub enum Kind {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Template(Template),
    Variable(String),
    /// Parameter of a function: its place among the parameters of all functions around, and its name.
    Local(usize, String),
    Array(Vec<Element>),
    Object(Vec<(String, Expression)>),
    /// `object.name(…)`; with `?.` it is `undefined` where there is no object.
    Method(Box<Expression>, Method, Arguments, IsOptional),
    /// `String(…)`, `Math.max(…)`.
    Global(Global, Arguments),
    TypeOf(Box<Expression>),
    /// `object.name`; with `?.` it is `undefined` where there is no object.
    Member(Box<Expression>, String, IsOptional),
    /// `object[name]`.
    Index(Box<Expression>, Box<Expression>, IsOptional),
    Not(Box<Expression>),
    Minus(Box<Expression>),
    Plus(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
    Group(Box<Expression>),
}

/// An element of an array, or an argument; with dots before it, each element of it.
#[derive(Debug)]
pub struct Element {
    pub value: Expression,
    pub is_spread: bool,
}

#[derive(Debug)]
pub struct Arguments {
    /// The first one, where it is a function.
    pub function: Option<Box<Function>>,
    pub values: Vec<Element>,
}

/// A function that is an argument.
#[derive(Debug)]
pub enum Function {
    /// `(a, b) => body`.
    Arrow(Vec<Pattern>, Expression),
    /// `String` and its like.
    Global(Global),
}

/// A parameter. Each name in it takes the next place among the parameters.
#[derive(Debug)]
pub enum Pattern {
    Name,
    /// `[a, b]`: so many elements.
    Elements(usize),
    /// `{ a, b: c }`: these properties.
    Properties(Vec<String>),
}

/// Levels that a call counts: it takes more stack than an operator.
const LEVELS_OF_CALL: usize = 4;

/// Whether a property is read with `?.`.
pub type IsOptional = bool;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operator {
    And,
    Or,
    Coalesce,
    Equal,
    NotEqual,
    StrictlyEqual,
    StrictlyNotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// Precedence; a higher number binds more tightly.
    pub fn precedence(self) -> u8 {
        match self {
            Self::Coalesce | Self::Or => 1,
            Self::And => 2,
            Self::Equal | Self::NotEqual | Self::StrictlyEqual | Self::StrictlyNotEqual => 3,
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => 4,
            Self::Add | Self::Subtract => 5,
            Self::Multiply | Self::Divide | Self::Remainder => 6,
        }
    }
}

impl Kind {
    /// Returns the depth of the deepest expression.
    pub fn depth(&self) -> usize {
        match self {
            Self::Undefined
            | Self::Null
            | Self::Bool(_)
            | Self::Number(_)
            | Self::Text(_)
            | Self::Variable(_)
            | Self::Local(..) => 0,
            Self::Array(elements) => deepest(elements),
            Self::Object(fields) => {
                let depths = fields.iter().map(|(_, value)| value.depth);
                depths.max().unwrap_or_default()
            }
            Self::Method(object, _, arguments, _) => object.depth.max(arguments.depth()) + LEVELS_OF_CALL,
            Self::Global(_, arguments) => arguments.depth() + LEVELS_OF_CALL,
            Self::Template(template) => {
                let depths = template.parts.iter().map(|part| match part {
                    Part::Text(_) => 0,
                    Part::Expression(expression) => expression.depth,
                });
                depths.max().unwrap_or_default()
            }
            Self::Member(one, ..)
            | Self::TypeOf(one)
            | Self::Not(one)
            | Self::Minus(one)
            | Self::Plus(one)
            | Self::Group(one) => one.depth,
            Self::Index(one, other, _) | Self::Binary(_, one, other) => one.depth.max(other.depth),
            Self::Choice(one, other, third) => one.depth.max(other.depth).max(third.depth),
        }
    }
}

impl Arguments {
    fn depth(&self) -> usize {
        let of_function = match self.function.as_deref() {
            Some(Function::Arrow(_, body)) => body.depth,
            Some(Function::Global(_)) | None => 0,
        };
        of_function.max(deepest(&self.values))
    }
}

fn deepest(elements: &[Element]) -> usize {
    let depths = elements.iter().map(|element| element.value.depth);
    depths.max().unwrap_or_default()
}
