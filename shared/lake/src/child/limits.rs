//! How much a child process may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The rows of an answer where the caller names no limit.
pub const DEFAULT_ROWS: usize = 1_000;
/// The most rows of an answer.
pub const MAX_ROWS: usize = 10_000;

const MIB: u64 = 1024 * 1024;
/// Memory of the function itself: requests and answers of up to 6 MB in several forms, manifests, the HTTP
/// clients.
const PARENT_BYTES: u64 = 256 * MIB;
/// Memory of a child that waits. Its address space is reserved and not used.
const IDLE_CHILD_BYTES: u64 = 192 * MIB;

/// How much one child process, and each job in it, may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineLimits {
    /// What DuckDB keeps in memory before it spills. Some functions allocate past it: then
    /// `address_space_bytes` holds.
    pub memory_limit_bytes: u64,
    /// The address space of the process, enforced by the operating system. Above `memory_limit_bytes` by what
    /// the library, the stacks and the allocator's arenas reserve without using: about a gigabyte.
    pub address_space_bytes: u64,
    /// DuckDB's threads.
    pub threads: u32,
    /// What DuckDB may spill to its temporary directory.
    pub temp_bytes: u64,
    /// The largest file that the process may write, such as a segment.
    pub max_file_bytes: u64,
    /// How long a query may take. It is interrupted then, and its process killed a second later.
    pub deadline: Duration,
    /// How long staging or checking the data of one import may take.
    pub import_deadline: Duration,
    /// The size of an answer. As it is sent it is larger: [`platform::http::sent_size`].
    pub max_result_bytes: usize,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            memory_limit_bytes: 768 * MIB,
            address_space_bytes: 2_560 * MIB,
            threads: 2,
            temp_bytes: 512 * MIB,
            max_file_bytes: 4_096 * MIB,
            deadline: Duration::from_secs(25),
            import_deadline: Duration::from_secs(13 * 60),
            max_result_bytes: 5_500_000,
        }
    }
}

impl EngineLimits {
    /// The defaults, for queries with this much memory.
    pub fn for_queries(memory_bytes: u64) -> Self {
        let defaults = Self::default();
        Self {
            memory_limit_bytes: memory_bytes,
            address_space_bytes: defaults.address_space_bytes - defaults.memory_limit_bytes + memory_bytes,
            ..defaults
        }
    }

    /// Memory that a Lambda function needs whose children have these limits, in bytes: for itself, the child
    /// that works, one that was started for the next job, and one of another version or folder.
    pub fn function_memory_bytes(&self) -> u64 {
        PARENT_BYTES + self.address_space_bytes + 2 * IDLE_CHILD_BYTES
    }

    /// The rows of an answer, from what the caller asked for.
    pub fn rows(requested: Option<usize>) -> usize {
        requested.unwrap_or(DEFAULT_ROWS).min(MAX_ROWS)
    }
}
