//! Limits the calls of the kernel by a seccomp filter.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use libc::c_long;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition as Condition, SeccompFilter, SeccompRule, TargetArch, apply_filter_all_threads,
};

use super::Calls;

/// Lists the actions of filters, on a kernel that has filters.
const ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";

/// Calls without a look at their arguments.
const COMPUTE: &[c_long] = &[
    // The pipes to the parent, and descriptors in general.
    libc::SYS_close,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    // Memory.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_sysinfo,
    // Threads of this process and their signals.
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    // Time and chance.
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
];

/// Calls by which DuckDB and the standard library use files. The folders are limited by Landlock, whose own
/// calls only ever take rights away.
const FILES: &[c_long] = &[
    libc::SYS_faccessat,
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fdatasync,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
    libc::SYS_lseek,
    libc::SYS_mkdirat,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readlinkat,
    libc::SYS_renameat2,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_unlinkat,
];

/// Forms of the calls above that glibc uses on this processor.
#[cfg(target_arch = "x86_64")]
const OWN: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_stat,
    libc::SYS_unlink,
];
/// `renameat`, which the crate `libc` does not name.
#[cfg(target_arch = "aarch64")]
const OWN: &[c_long] = &[38];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OWN: &[c_long] = &[];

/// Flags of `clone` that a thread of this process has, and those that make something else of it.
const THREAD: u64 = (libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD) as u64;
const NO_THREAD: u64 = (libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS
    | libc::CLONE_PARENT
    | libc::CLONE_PIDFD
    | libc::CLONE_PTRACE
    | libc::CLONE_VFORK) as u64;

/// Commands of `fcntl` that send no signals: not F_SETOWN and its kin.
const DESCRIPTOR: &[i32] = &[
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_GETLK,
    libc::F_SETLK,
];

/// Returns whether this kernel has filters.
pub(super) fn exists() -> bool {
    Path::new(ACTIONS).exists()
}

/// Refuses all other calls from now on, in every thread, and gives up new privileges.
pub(super) fn forbid(calls: Calls) -> io::Result<()> {
    let program = program(calls).map_err(io::Error::other)?;
    apply_filter_all_threads(&program).map_err(io::Error::other)
}

fn program(calls: Calls) -> Result<BpfProgram, Error> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    let with_files = if calls == Calls::Files { FILES } else { &[] };
    let own_forms = if calls == Calls::Files { OWN } else { &[] };
    // A call without a rule is allowed whatever its arguments.
    rules.extend(
        [COMPUTE, with_files, own_forms]
            .concat()
            .into_iter()
            .map(|call| (call, Vec::new())),
    );
    let own = u64::from(std::process::id());
    let no_code = rule(&[(2, Length::Qword, Is::MaskedEq(libc::PROT_EXEC as u64), 0)])?;
    let is_thread = rule(&[(0, Length::Qword, Is::MaskedEq(THREAD | NO_THREAD), THREAD)])?;
    let descriptor = DESCRIPTOR
        .iter()
        .map(|command| rule(&[(1, Length::Dword, Is::Eq, *command as u64)]));
    rules.extend([
        (libc::SYS_mmap, vec![no_code.clone()]),
        (libc::SYS_mprotect, vec![no_code]),
        // Its arguments are out of a filter's reach, so glibc has to take `clone`.
        (libc::SYS_clone, vec![is_thread]),
        (libc::SYS_fcntl, descriptor.collect::<Result<_, _>>()?),
        // `abort` and stack overflows signal the process itself.
        (libc::SYS_tgkill, vec![rule(&[(0, Length::Dword, Is::Eq, own)])?]),
        (
            libc::SYS_prctl,
            vec![rule(&[(0, Length::Dword, Is::Eq, libc::PR_SET_NAME as u64)])?],
        ),
        // Only reads the limits of the process itself: a limit that is set can end another process.
        (
            libc::SYS_prlimit64,
            vec![rule(&[
                (0, Length::Dword, Is::Eq, 0),
                (2, Length::Qword, Is::Eq, 0),
            ])?],
        ),
    ]);
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?;
    Ok(filter.try_into()?)
}

/// Returns a rule that holds where each argument, by its index, is as compared.
fn rule(arguments: &[(u8, Length, Is, u64)]) -> Result<SeccompRule, Error> {
    let conditions = arguments.iter().map(|(index, length, comparison, value)| {
        Condition::new(*index, length.clone(), comparison.clone(), *value)
    });
    let conditions = conditions.collect::<Result<_, _>>()?;
    Ok(SeccompRule::new(conditions)?)
}
