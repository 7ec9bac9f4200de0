//! Renders Handlebars as the reference does: handlebars.js 4.7 with its built-in helpers and inline partials,
//! and `noEscape`, because a prompt is text for a model and not HTML.
//!
//! The crate `handlebars` checks stored templates, but does not render: it recurses without a limit in inline
//! partials, prints values as JSON, and resolves paths and white space differently. This renderer counts its
//! steps, and does not copy the data.

mod expressions;
mod helpers;
mod lexer;
mod parser;
mod partials;
mod path;
mod render;
mod scope;
mod tree;
mod whitespace;
mod words;

pub use parser::parse;
pub use render::render;
pub use tree::Program;
