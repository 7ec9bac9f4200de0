//! Documents operations for the OpenAPI document, beside what their types say.

mod headers;
mod problems;

pub use headers::{answer_header, conditional_write, created, pages, request_header, tagged};
pub use problems::{error_response, problem};
