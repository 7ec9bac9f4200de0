//! Checks that a Lambda function has the memory and disk for its child and its files.

use lake::EngineLimits;
use platform::config::{AwsEnvironment, ConfigError, Environment, variables};

const MIB: u64 = 1_024 * 1_024;

/// Fails where the limits exceed the memory or the temporary disk of a Lambda function, because exceeding
/// them kills the function with every request in it. `files_bytes` is the disk space besides DuckDB's spill
/// space. Outside Lambda the check always succeeds.
pub(crate) fn fits(
    environment: &Environment,
    machine: &AwsEnvironment,
    limits: &EngineLimits,
    files_bytes: u64,
) -> Result<(), ConfigError> {
    let Some(memory_mb) = machine.function_memory_mb else {
        return Ok(());
    };
    let disk_mb = environment.number(variables::TMP_MB)?;
    let (memory, disk) = (limits.function_memory_bytes(), files_bytes + limits.temp_bytes);
    if memory > memory_mb * MIB {
        return Err(ConfigError::new(format!(
            "The function has {memory_mb} MB of memory and needs {} MB. Raise its MemorySize, or lower \
             MILLRACE_QUERY_MEMORY_MB.",
            memory / MIB
        )));
    }
    if disk > disk_mb * MIB {
        return Err(ConfigError::new(format!(
            "The function has {disk_mb} MB of temporary disk (MILLRACE_TMP_MB) and needs {} MB. Raise its \
             EphemeralStorage, or lower MILLRACE_CACHE_MB.",
            disk / MIB
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(memory_mb: u64, disk_mb: &str) -> Option<String> {
        let environment = [(variables::TMP_MB.name.to_owned(), disk_mb.to_owned())];
        let environment = Environment::from_variables(environment).unwrap();
        let machine = AwsEnvironment {
            function_memory_mb: Some(memory_mb),
            ..AwsEnvironment::default()
        };
        let limits = EngineLimits::for_queries(512 * MIB);
        let fits = fits(&environment, &machine, &limits, 1_024 * MIB);
        fits.err().map(|error| error.to_string())
    }

    #[test]
    fn a_function_that_is_too_small_does_not_start() {
        assert_eq!(refusal(3_008, "2048"), None);
        assert!(refusal(1_024, "2048").unwrap().contains("MemorySize"));
        assert!(refusal(3_008, "1024").unwrap().contains("EphemeralStorage"));
        let elsewhere = AwsEnvironment::default();
        let environment = Environment::from_variables([]).unwrap();
        let limits = EngineLimits::for_queries(512 * MIB);
        assert!(fits(&environment, &elsewhere, &limits, u64::MAX / 2).is_ok());
    }
}
