//! Defines the parsed template.

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
    pub line: usize,
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
            | Self::Variable(_) => 0,
            Self::Template(template) => {
                let depths = template.parts.iter().map(|part| match part {
                    Part::Text(_) => 0,
                    Part::Expression(expression) => expression.depth,
                });
                depths.max().unwrap_or_default()
            }
            Self::Member(one, ..)
            | Self::Not(one)
            | Self::Minus(one)
            | Self::Plus(one)
            | Self::Group(one) => one.depth,
            Self::Index(one, other, _) | Self::Binary(_, one, other) => one.depth.max(other.depth),
            Self::Choice(one, other, third) => one.depth.max(other.depth).max(third.depth),
        }
    }
}
