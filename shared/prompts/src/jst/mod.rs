//! Renders JavaScript templates: the content is the inside of one template literal, and `${expression}`
//! stands for a value.
//!
//! No JavaScript runs. The supported expressions are a part of the language without loops and assignments:
//! variables, properties, literals, template literals in expressions, operators, `a ? b : c`, and the
//! functions of [`functions`], some of which take a function `x => …`. Each takes a limited number of steps.
//! A variable is a field of the data.

mod arrays;
mod calls;
mod evaluate;
mod functions;
mod lexer;
mod parser;
mod primary;
mod texts;
pub(crate) mod tree;

pub use evaluate::render;
pub use parser::parse;
pub use tree::Template;
