//! Serves the API reference: the page at `/docs`, and the examples in its document.

mod examples;
mod page;
mod webhooks;

pub use examples::add_examples;
pub use page::page;
pub use webhooks::webhooks;
