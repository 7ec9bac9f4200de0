//! Says what no data could render, in the same words when a template is written and when it is rendered.

use super::tree::{Call, Decorator, Partial, Path};
use crate::error::RenderError;

pub const BLOCK_HELPER: &str = "each, if, unless and with begin a block, as in {{#if name}}…{{/if}}";
pub const ONE_VALUE: &str = "each, if, unless and with take one value";
pub const LOOKUP_ARGUMENTS: &str = "lookup takes a value and the name of its property";

pub fn no_helper(call: &Call, path: &Path) -> RenderError {
    let reason = format!(
        "there is no helper '{}'; the helpers are each, if, log, lookup, unless and with",
        path.original
    );
    RenderError::template(call.place, reason)
}

pub fn reserved_helper(call: &Call, name: &str) -> RenderError {
    RenderError::template(call.place, format!("the helper '{name}' cannot be called"))
}

pub fn no_decorator(decorator: &Decorator) -> RenderError {
    let reason = format!(
        "there is no decorator '{}'; the only one is inline",
        decorator.name
    );
    RenderError::template(decorator.place, reason)
}

pub fn no_partial(partial: &Partial, name: &str) -> RenderError {
    let reason = format!("there is no partial '{name}'; a template includes its own inline partials alone");
    RenderError::template(partial.place, reason)
}
