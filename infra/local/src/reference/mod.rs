//! The API reference: the page at `/docs`, and the examples in the document that it shows.

mod examples;
mod page;
mod webhooks;

pub use examples::add_examples;
pub use page::page;
pub use webhooks::webhooks;
