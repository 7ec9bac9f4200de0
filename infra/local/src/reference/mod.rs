//! Serves the API reference: the OpenAPI document with its examples, and the page at `/docs`.

mod document;
mod examples;
mod page;
mod shared_problems;
mod tidy;
mod webhooks;

pub use document::document;
pub use examples::add_examples;
pub use page::page;
pub use webhooks::webhooks;
