//! Tests what is shipped, packed from the programs of the tests: it installs, starts and ends, and what is
//! broken is refused.
#![cfg(unix)]
#![cfg(test)]

mod artifact;
#[cfg(target_os = "linux")]
mod check;
mod deploy;
#[cfg(target_os = "linux")]
mod image;
mod install;
mod materials;
mod npm;
mod pypi;
mod workflows;
