//! Checks that a Lambda function has enough memory and disk for its children and files: of a store, or of the
//! event log.
//!
//! Lambda ends a function that exceeds its memory, and every request with it. So the limits are added up at
//! start, and a function that is too small does not start.

use platform::config::{AwsEnvironment, ConfigError, Environment, variables};

use super::{MIB, StoreConfig};
use crate::child::limits::EngineLimits;

/// Smallest useful limit of an import.
const MIN_INPUT_BYTES: u64 = 64 * MIB;

impl EngineLimits {
    /// Returns the temporary disk of a Lambda function that remains beside files of `files_bytes` and
    /// DuckDB's spill space, in bytes; None outside of Lambda. Fails where its memory or its disk is too
    /// small.
    pub fn free_disk(
        &self,
        files_bytes: u64,
        environment: &Environment,
        machine: &AwsEnvironment,
    ) -> Result<Option<u64>, ConfigError> {
        let Some(memory_mb) = machine.function_memory_mb else {
            return Ok(None);
        };
        let needed = self.function_memory_bytes();
        if needed > memory_mb * MIB {
            return Err(ConfigError::new(format!(
                "The function has {memory_mb} MB of memory, and a query of {} MB needs a function of {} MB. Raise its MemorySize, or \
                 lower MILLRACE_QUERY_MEMORY_MB.",
                self.memory_limit_bytes / MIB,
                needed / MIB
            )));
        }
        let disk_mb = environment.number(variables::TMP_MB)?;
        let free = (disk_mb * MIB).checked_sub(files_bytes + self.temp_bytes);
        free.map(Some).ok_or_else(|| {
            ConfigError::new(format!(
                "The function has {disk_mb} MB of temporary disk (MILLRACE_TMP_MB), and needs {} MB for files and {} MB for \
                 queries. Raise its EphemeralStorage, or lower MILLRACE_CACHE_MB.",
                files_bytes / MIB,
                self.temp_bytes / MIB
            ))
        })
    }
}

impl StoreConfig {
    /// Fits the configuration into the memory and the temporary disk of a Lambda function. Outside of Lambda
    /// it stays unchanged.
    pub fn fitting(self, environment: &Environment, machine: &AwsEnvironment) -> Result<Self, ConfigError> {
        let limits = EngineLimits::for_queries(self.query_memory_bytes);
        // During an import, the disk holds the input files, recompressed copies of some, and the segments.
        let files_bytes = self.cache_bytes + 3 * MIN_INPUT_BYTES;
        let Some(free) = limits.free_disk(files_bytes, environment, machine)? else {
            return Ok(self);
        };
        let max_input_bytes = self.max_input_bytes.min(MIN_INPUT_BYTES + free / 3);
        Ok(Self {
            max_input_bytes,
            // A native copy would be made between two requests, when Lambda suspends the function.
            max_copied_bytes: 0,
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(memory_mb: Option<u64>, disk_mb: u64) -> Result<StoreConfig, ConfigError> {
        let disk = (variables::TMP_MB.name.to_owned(), disk_mb.to_string());
        let environment = Environment::from_variables([disk]).unwrap();
        let machine = AwsEnvironment {
            function_memory_mb: memory_mb,
            ..AwsEnvironment::default()
        };
        let config = StoreConfig::from_environment(&environment).unwrap();
        config.in_background().fitting(&environment, &machine)
    }

    #[test]
    fn the_limits_add_up_to_what_the_function_has() {
        let config = within(Some(3_008), 10_240).unwrap();
        assert_eq!(config.max_copied_bytes, 0);
        let limits = EngineLimits::for_queries(config.query_memory_bytes);
        assert!(limits.function_memory_bytes() <= 3_008 * MIB);
        let disk = 3 * config.max_input_bytes + config.cache_bytes + limits.temp_bytes;
        assert!(disk <= 10_240 * MIB && config.max_input_bytes > 2_800 * MIB);
    }

    #[test]
    fn a_function_that_is_too_small_does_not_start() {
        let refusal = within(Some(2_048), 10_240).unwrap_err().to_string();
        assert!(
            refusal.contains("has 2048 MB") && refusal.contains("MemorySize"),
            "{refusal}"
        );
        let refusal = within(Some(3_008), 1_600).unwrap_err().to_string();
        assert!(refusal.contains("EphemeralStorage"), "{refusal}");
        assert!(
            within(None, 0).unwrap().max_copied_bytes > 0,
            "no Lambda function"
        );
    }
}
