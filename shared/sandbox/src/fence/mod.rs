//! Closes a fence around a child process that the operating system holds, whatever code runs in the child.
//!
//! The limits of the work, such as the check of a statement, can have a gap, and a parser can be made to run
//! the code of its input. So before a child reads any input it gives up what its work does not need: calls of
//! the kernel, by a filter ([`forbid`]), and files, by Landlock ([`enclose`]). Neither can be undone. Both
//! hold for the threads that are started afterwards, so a child starts its threads last.
//!
//! The filter is a list of what is allowed: a new kernel brings new calls, and a list of what is forbidden
//! would not know them. Any other call fails with ENOSYS, as on a kernel that lacks it, so that a library
//! takes the older call or reports an error; no child waits for a call that was refused.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Once;

use rlimit::Resource;

/// Exit code of a child that could not close its fence.
const UNFENCED: i32 = 70;

/// Calls of the kernel that a child keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Memory, threads, time, and the pipes that it has.
    Compute,
    /// Also files, by name.
    Files,
}

/// Folders whose files a child keeps, at any depth.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// Files with known names can be read; the folder cannot be listed.
    pub read: Vec<PathBuf>,
    /// Files can also be listed, written, created and removed.
    pub write: Vec<PathBuf>,
}

/// Gives up core dumps, new privileges, being looked into by other processes, and every call but `calls`.
/// Does without the filter on a system that has none.
pub fn forbid(calls: Calls) -> io::Result<()> {
    // What a core dump holds belongs to callers.
    Resource::CORE.set(0, 0)?;
    #[cfg(target_os = "linux")]
    {
        hide()?;
        let closed = calls::forbid(calls);
        if closed.is_err() && calls::exists() {
            return closed;
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = calls;
    Ok(())
}

/// Gives up all files outside of `folders`. Does nothing on a system without Landlock.
pub fn enclose(folders: &Folders) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    files::enclose(folders)?;
    #[cfg(not(target_os = "linux"))]
    let _ = folders;
    Ok(())
}

/// Ends a child whose fence could not be closed, so that it does no work without one.
pub fn fail(error: &io::Error) -> ! {
    use io::Write as _;

    let _ = writeln!(io::stderr(), "the fence of a child could not be closed: {error}");
    std::process::exit(UNFENCED)
}

/// Returns whether a child ended because it could not close its fence.
pub fn is_unfenced(status: ExitStatus) -> bool {
    status.code() == Some(UNFENCED)
}

/// Logs once which fences this system closes around the children of this process. Without Landlock, hides the
/// memory and the environment of this process from its children, whose files are then limited by their own
/// checks alone.
pub fn report() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(target_os = "linux")]
        let (calls, files) = (calls::exists(), files::exists());
        #[cfg(not(target_os = "linux"))]
        let (calls, files) = (false, false);
        #[cfg(target_os = "linux")]
        if !files && let Err(error) = hide() {
            tracing::warn!(%error, "child processes of the same user can read the memory of this process");
        }
        tracing::info!(
            system_calls = calls,
            files,
            "fences of the operating system around child processes"
        );
    });
}

/// Keeps other processes of the same user from reading this process's memory, environment and descriptors.
#[cfg(target_os = "linux")]
fn hide() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}
