//! Defines the resources that a child process may use.

use std::time::Duration;

use platform::config::variables;
use serde::{Deserialize, Serialize};

/// Rows of an answer if the caller gives no limit.
pub const DEFAULT_ROWS: usize = 1_000;
/// Most rows of an answer.
pub const MAX_ROWS: usize = 10_000;

const MIB: u64 = 1024 * 1024;
/// Memory of the function itself: requests and answers of up to 6 MB in several forms, manifests, the HTTP
/// clients.
const PARENT_BYTES: u64 = 256 * MIB;
/// Address space that the library, the stacks and the allocator's arenas reserve, most of it without using
/// it.
const RESERVED_BYTES: u64 = 1_792 * MIB;
/// Memory of an idle child. Its address space is reserved and not used.
const IDLE_CHILD_BYTES: u64 = 192 * MIB;

/// Limits of one child process and of each job in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineLimits {
    /// Memory that DuckDB uses before it spills. Some functions allocate more; then `address_space_bytes`
    /// limits them.
    pub memory_limit_bytes: u64,
    /// Address space of the process, enforced by the operating system.
    pub address_space_bytes: u64,
    pub threads: u32,
    /// Most bytes that DuckDB spills to its temporary directory.
    pub temp_bytes: u64,
    /// Largest file that the process may write, such as a segment.
    pub max_file_bytes: u64,
    /// Time limit of a query. The child interrupts it then; if no answer comes within another second, the
    /// parent kills the child.
    pub deadline: Duration,
    /// Time limit for staging or checking the data of one import.
    pub import_deadline: Duration,
    /// Largest answer. Its size when sent is larger: [`platform::http::sent_size`].
    pub max_result_bytes: usize,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self::for_queries(variables::QUERY_MEMORY_MB.default * MIB)
    }
}

impl EngineLimits {
    /// Returns limits with this much memory for queries.
    pub fn for_queries(memory_bytes: u64) -> Self {
        Self {
            memory_limit_bytes: memory_bytes,
            address_space_bytes: memory_bytes + RESERVED_BYTES,
            threads: 2,
            temp_bytes: 512 * MIB,
            max_file_bytes: 4_096 * MIB,
            deadline: Duration::from_secs(25),
            import_deadline: Duration::from_secs(13 * 60),
            max_result_bytes: 5_500_000,
        }
    }

    /// Returns the memory in bytes that a Lambda function needs whose children have these limits: for itself,
    /// the working child, one started for the next job, and one of another version or folder.
    pub fn function_memory_bytes(&self) -> u64 {
        PARENT_BYTES + self.address_space_bytes + 2 * IDLE_CHILD_BYTES
    }

    /// Returns the row limit of an answer for the caller's requested limit.
    pub fn rows(requested: Option<usize>) -> usize {
        requested.unwrap_or(DEFAULT_ROWS).min(MAX_ROWS)
    }
}
