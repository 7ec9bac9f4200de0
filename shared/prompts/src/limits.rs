//! Defines the limits of rendering. Templates and data are untrusted, and nothing else limits a template that
//! repeats itself over its data.

/// Maximum size of content that is parsed, in bytes.
pub const MAX_CONTENT_BYTES: usize = 64 * 1_024;
/// Maximum size of the result, in bytes.
pub const MAX_OUTPUT_BYTES: usize = 1_024 * 1_024;
/// Maximum number of steps of one rendering. A step is a piece of text, a part of a path or an operator, or
/// 64 bytes that are copied or compared; running a block once takes five. A million steps take about 0.1 s.
pub const MAX_STEPS: usize = 1_000_000;
/// Maximum nesting depth of blocks, expressions and arrays.
pub const MAX_NESTING: usize = 100;
/// Maximum number of nested running blocks and partials. Each uses stack of the caller's thread, up to 8 KB
/// in a debug build.
pub const MAX_ACTIVE_BLOCKS: usize = 100;
