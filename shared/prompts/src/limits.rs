//! What rendering may take. Templates and data are written by strangers, and nothing else bounds a template
//! that repeats itself over its data.

/// Longest content that is parsed, in bytes.
pub const MAX_CONTENT_BYTES: usize = 64 * 1_024;
/// Longest result, in bytes.
pub const MAX_OUTPUT_BYTES: usize = 1_024 * 1_024;
/// Most steps of one rendering. A step is a piece of text, a part of a path or an operator, or 64 bytes that
/// are copied or compared; running a block once takes five. A million takes about 0.1 s.
pub const MAX_STEPS: usize = 1_000_000;
/// Deepest nesting of blocks, expressions and arrays.
pub const MAX_NESTING: usize = 100;
/// Most blocks and partials that are under way at a time. Each takes stack of the caller's thread, up to 8 KB
/// in a debug build.
pub const MAX_ACTIVE_BLOCKS: usize = 100;
