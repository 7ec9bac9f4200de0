//! Tests the engine with real child processes, through its public interface.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod dialect;
#[cfg(target_os = "linux")]
#[cfg(test)]
#[path = "../../../sandbox/tests/escapes/mod.rs"]
mod escapes;
#[cfg(test)]
mod exactness;
#[cfg(test)]
mod exports;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod footers;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod forms;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod oracle;
mod parquet;
#[cfg(test)]
mod plain;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod reference;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod second_fence;
#[cfg(test)]
mod staging;
