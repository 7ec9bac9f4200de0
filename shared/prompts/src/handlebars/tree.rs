//! Defines the parsed template.

use crate::error::Place;

/// Statements that run together, in their own scope.
#[derive(Debug, Default)]
pub struct Program {
    pub body: Vec<Node>,
    /// Whether a statement of the body declares an inline partial.
    pub has_decorators: bool,
    /// Whether the program is the `else if` of a block.
    pub is_chained: bool,
}

#[derive(Debug)]
pub enum Node {
    Content(Content),
    Comment(Strip),
    Mustache(Expression, Strip),
    Block(Box<Block>),
    Partial(Box<Partial>),
    Decorator(Box<Decorator>),
}

/// Text between tags.
#[derive(Debug)]
pub struct Content {
    /// Text as written. Removed white space still counts when the next tag is judged.
    pub original: String,
    pub text: String,
    pub is_right_stripped: bool,
    pub is_left_stripped: bool,
}

/// Whether white space before and after a tag is removed: `{{~` and `~}}`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strip {
    pub open: bool,
    pub close: bool,
}

#[derive(Debug)]
pub struct Block {
    pub subject: Subject,
    pub program: Option<Program>,
    pub inverse: Option<Program>,
    pub open_strip: Strip,
    pub inverse_strip: Strip,
    pub close_strip: Strip,
}

/// Subject of a block.
#[derive(Debug)]
pub enum Subject {
    Call(Call),
    /// Value that is tested, iterated over, or made the context.
    Value(Path),
}

/// `{{> name}}`, or `{{#> name}}…{{/name}}` with a program.
#[derive(Debug)]
pub struct Partial {
    pub name: PartialName,
    pub context: Option<Expression>,
    pub hash: Vec<(String, Expression)>,
    pub program: Option<Program>,
    /// White space before a tag that is alone in its line; inserted before each line of the partial.
    pub indent: String,
    pub strip: Strip,
    pub close_strip: Strip,
    pub place: Place,
}

#[derive(Debug)]
pub enum PartialName {
    Fixed(String),
    Computed(Expression),
}

/// `{{#*inline "name"}}…{{/inline}}`.
#[derive(Debug)]
pub struct Decorator {
    pub name: String,
    pub params: Vec<Expression>,
    pub program: Option<Program>,
    pub strip: Strip,
    pub close_strip: Strip,
    pub place: Place,
}

#[derive(Debug)]
pub enum Expression {
    Text(String),
    Number(f64),
    Bool(bool),
    Undefined,
    Null,
    Path(Path),
    Call(Box<Call>),
}

/// `helper param key=value`.
#[derive(Debug)]
pub struct Call {
    pub helper: Helper,
    pub params: Vec<Expression>,
    pub hash: Vec<(String, Expression)>,
    pub place: Place,
}

#[derive(Debug)]
pub enum Helper {
    Each,
    If,
    Log,
    Lookup,
    Unless,
    With,
    /// Not a helper: an error, unless it has no arguments and the data has no such value.
    Unknown(Path),
    /// Helper name that the language reserves.
    Reserved(String),
}

/// Resolved path to a value.
#[derive(Debug)]
pub struct Path {
    pub source: Source,
    pub parts: Vec<String>,
    /// Text for messages.
    pub original: String,
    pub place: Place,
}

/// Start of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A context, this many `../` up.
    Context(usize),
    /// The `@` variables, this many frames up.
    Data(usize),
    /// A block parameter: the number of programs up, and its index among the parameters of that program. It
    /// is the path's first part.
    Param(usize, usize),
}
