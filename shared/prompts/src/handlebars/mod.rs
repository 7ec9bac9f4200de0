//! Renders Handlebars as the reference does: handlebars.js 4.7 with its built-in helpers and inline partials,
//! and `noEscape`, because a prompt is text for a model and not HTML.
//!
//! It is the one parser of this language: what it cannot parse is not stored. The crate `handlebars` would
//! recurse without a limit in inline partials, and resolves paths and white space differently. This renderer
//! counts its steps, and does not copy the data.

mod expressions;
pub(crate) mod faults;
mod helpers;
mod lexer;
mod parser;
mod partials;
mod path;
mod render;
mod scope;
mod token;
pub(crate) mod tree;
mod whitespace;
pub(crate) mod words;

pub use parser::parse;
pub(crate) use partials::PARTIAL_BLOCK;
pub use render::render;
pub use tree::Program;
