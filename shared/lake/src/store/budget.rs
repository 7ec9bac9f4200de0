//! Checks that a Lambda function has enough memory and disk for its children and files.
//!
//! Lambda ends a function that exceeds its memory, and every request with it. So the limits are added up at
//! start, and a function that is too small does not start.

use platform::config::{AwsEnvironment, ConfigError, Environment, variables};

use super::{MIB, StoreConfig};
use crate::child::limits::EngineLimits;

/// Smallest useful limit of an import.
const MIN_INPUT_BYTES: u64 = 64 * MIB;

impl StoreConfig {
    /// Fits the configuration into the memory and the temporary disk of a Lambda function. Outside of Lambda
    /// it stays unchanged.
    pub fn fitting(self, environment: &Environment, machine: &AwsEnvironment) -> Result<Self, ConfigError> {
        let Some(memory_mb) = machine.function_memory_mb else {
            return Ok(self);
        };
        let disk_mb = environment.number(variables::TMP_MB)?;
        self.within(memory_mb * MIB, disk_mb * MIB)
    }

    fn within(self, memory_bytes: u64, disk_bytes: u64) -> Result<Self, ConfigError> {
        let limits = EngineLimits::for_queries(self.query_memory_bytes);
        let needed = limits.function_memory_bytes();
        if needed > memory_bytes {
            return Err(ConfigError::new(format!(
                "The function has {} MB of memory, and a query of {} MB needs a function of {} MB. Raise its MemorySize, or \
                 lower MILLRACE_QUERY_MEMORY_MB.",
                memory_bytes / MIB,
                self.query_memory_bytes / MIB,
                needed / MIB
            )));
        }
        // During an import, the disk holds the input files, recompressed copies of some, and the segments.
        let for_imports = disk_bytes.saturating_sub(self.cache_bytes + limits.temp_bytes);
        let max_input_bytes = self.max_input_bytes.min(for_imports / 3);
        if max_input_bytes < MIN_INPUT_BYTES {
            return Err(ConfigError::new(format!(
                "The function has {} MB of temporary disk (MILLRACE_TMP_MB), of which cached files take {} MB and queries {} MB. \
                 Raise its EphemeralStorage, or lower MILLRACE_CACHE_MB.",
                disk_bytes / MIB,
                self.cache_bytes / MIB,
                limits.temp_bytes / MIB
            )));
        }
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

    fn within(memory_mb: u64, disk_mb: u64) -> Result<StoreConfig, ConfigError> {
        let environment = Environment::from_variables([]).unwrap();
        let config = StoreConfig::from_environment(&environment).unwrap();
        config.in_background().within(memory_mb * MIB, disk_mb * MIB)
    }

    #[test]
    fn the_limits_add_up_to_what_the_function_has() {
        let config = within(3_008, 10_240).unwrap();
        assert_eq!(config.max_copied_bytes, 0);
        let limits = EngineLimits::for_queries(config.query_memory_bytes);
        assert!(limits.function_memory_bytes() <= 3_008 * MIB);
        let disk = 3 * config.max_input_bytes + config.cache_bytes + limits.temp_bytes;
        assert!(disk <= 10_240 * MIB && config.max_input_bytes > 2_800 * MIB);
    }

    #[test]
    fn a_function_that_is_too_small_does_not_start() {
        let refusal = within(2_048, 10_240).unwrap_err().to_string();
        assert!(
            refusal.contains("has 2048 MB") && refusal.contains("MemorySize"),
            "{refusal}"
        );
        let refusal = within(3_008, 1_600).unwrap_err().to_string();
        assert!(refusal.contains("EphemeralStorage"), "{refusal}");
    }
}
