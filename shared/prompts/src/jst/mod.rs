//! Renders JavaScript templates: the content is the inside of one template literal, and `${expression}`
//! stands for a value.
//!
//! No JavaScript runs. The supported expressions are a small part of the language without functions, loops
//! and assignments, so that each takes a limited number of steps: variables, properties (`a.b`, `a[0]`,
//! `a?.b`), literals, template literals in expressions, `!`, `-`, `+`, `*`, `/`, `%`, comparisons, `&&`,
//! `||`, `??` and `a ? b : c`. A variable is a field of the data.

mod evaluate;
mod lexer;
mod parser;
mod tree;

pub use evaluate::render;
pub use parser::parse;
pub use tree::Template;
