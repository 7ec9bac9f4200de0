//! A parsed template.

/// Statements that run together, in a scope of their own.
#[derive(Debug, Default)]
pub struct Program {
    pub body: Vec<Node>,
    /// Whether a statement of the body declares an inline partial.
    pub has_decorators: bool,
    /// Whether it is the `else if` of a block.
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
    /// As it was written. White space that is left out counts when the next tag is judged.
    pub original: String,
    pub text: String,
    pub is_right_stripped: bool,
    pub is_left_stripped: bool,
}

/// Whether white space before and behind a tag is left out: `{{~` and `~}}`.
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

/// What a block is about.
#[derive(Debug)]
pub enum Subject {
    Call(Call),
    /// A value that is tested, iterated over, or made the context, as it is.
    Value(Path),
}

/// `{{> name}}`, or `{{#> name}}…{{/name}}` with a program.
#[derive(Debug)]
pub struct Partial {
    pub name: PartialName,
    pub context: Option<Expression>,
    pub hash: Vec<(String, Expression)>,
    pub program: Option<Program>,
    /// White space before a tag that stands alone in its line, which is put before each line of the partial.
    pub indent: String,
    pub strip: Strip,
    pub close_strip: Strip,
    pub line: usize,
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
    pub line: usize,
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
    pub line: usize,
}

#[derive(Debug)]
pub enum Helper {
    Each,
    If,
    Log,
    Lookup,
    Unless,
    With,
    /// No helper: an error, unless nothing is given to it and the data has no such value.
    Unknown(Path),
    /// A helper that the language keeps for itself.
    Reserved(String),
}

/// A value by its place.
#[derive(Debug)]
pub struct Path {
    pub source: Source,
    pub parts: Vec<String>,
    /// For messages.
    pub original: String,
    pub line: usize,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A context, so many `../` up.
    Context(usize),
    /// The `@` variables, so many frames up.
    Data(usize),
    /// A block parameter: programs up, and its place among those of that program. It is the path's first
    /// part.
    Param(usize, usize),
}
