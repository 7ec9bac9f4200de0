// Makes a child process try what its fence forbids.
//
// A test compiles this file to a library that the loader puts before the C library (LD_PRELOAD). The child's first
// write to its standard output, its answer to the first task, then first tries each call, in the thread that works,
// and writes a line for each to standard error: a name, and the error's number or 0 for what was let through.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// A socket and a folder's descriptor from before the fence: what is inherited must be of no use either.
static int old_socket = -1;
static char *outside, *inside;
static pid_t parent;

__attribute__((constructor)) static void before(void) {
    outside = getenv("ESCAPE_OUTSIDE");
    inside = getenv("ESCAPE_INSIDE");
    parent = getppid();
    old_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
}

static void tell(const char *name, long result) {
    char line[200];
    int length = snprintf(line, sizeof line, "%s %d\n", name, result < 0 ? errno : 0);
    syscall(SYS_write, 2, line, length);
}

#define TRY(name, ...) (errno = 0, tell(name, syscall(__VA_ARGS__)))

// Only the original returns here; a copy of the process must end.
static void try_copy(const char *name, long result) {
    if (result == 0) syscall(SYS_exit_group, 9);
    tell(name, result);
}

static char *join(const char *folder, const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void files(void) {
    char secret[4096], environment[40];
    snprintf(secret, sizeof secret, "%s/secret", outside);
    snprintf(environment, sizeof environment, "/proc/%d/environ", parent);
    TRY("open read /etc/passwd", SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
    TRY("open read the program", SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY);
    TRY("open read outside", SYS_openat, AT_FDCWD, secret, O_RDONLY);
    TRY("open write outside", SYS_openat, AT_FDCWD, secret, O_WRONLY);
    TRY("open truncate outside", SYS_openat, AT_FDCWD, secret, O_WRONLY | O_TRUNC);
    TRY("open path outside, then read", SYS_openat, syscall(SYS_openat, AT_FDCWD, outside, O_PATH), "secret", O_RDONLY);
    TRY("open create outside", SYS_openat, AT_FDCWD, join(outside, "made"), O_CREAT | O_WRONLY, 0600);
    TRY("open temporary outside", SYS_openat, AT_FDCWD, outside, O_TMPFILE | O_RDWR, 0600);
    TRY("list outside", SYS_openat, AT_FDCWD, outside, O_RDONLY | O_DIRECTORY);
    TRY("list the root", SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
    TRY("make a folder outside", SYS_mkdirat, AT_FDCWD, join(outside, "folder"), 0700);
    TRY("remove outside", SYS_unlinkat, AT_FDCWD, secret, 0);
    TRY("open memory of the parent", SYS_openat, AT_FDCWD, "/proc/1/mem", O_RDWR);
    TRY("open environment of the parent", SYS_openat, AT_FDCWD, environment, O_RDONLY);
    TRY("open own memory", SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR);
    TRY("open a device", SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
    TRY("open through a link inside", SYS_openat, AT_FDCWD, join(inside, "link"), O_RDONLY);
    TRY("open above the folder", SYS_openat, AT_FDCWD, join(inside, "../../../../../../etc/passwd"), O_RDONLY);
    // The folder of a version holds files of others, under names that cannot be guessed.
    TRY("list inside", SYS_openat, AT_FDCWD, inside, O_RDONLY | O_DIRECTORY);
    TRY("create inside", SYS_openat, AT_FDCWD, join(inside, "made"), O_CREAT | O_WRONLY, 0600);
}

// Arguments are such that a call which is let through does no harm.
static void others(void) {
    struct open_how how = {.flags = O_RDONLY};
    TRY("openat2", SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof how);
    TRY("open_by_handle_at", SYS_open_by_handle_at, AT_FDCWD, &how, O_RDONLY);
    TRY("name_to_handle_at", SYS_name_to_handle_at, AT_FDCWD, "/etc/passwd", &how, &how, 0);
    TRY("open_tree", SYS_open_tree, AT_FDCWD, "/", 0);
    TRY("truncate", SYS_truncate, join(outside, "secret"), 0);
    TRY("linkat", SYS_linkat, AT_FDCWD, join(outside, "secret"), AT_FDCWD, "link", 0);
    TRY("symlinkat", SYS_symlinkat, "/etc/passwd", AT_FDCWD, "passwd");
    TRY("mknodat", SYS_mknodat, AT_FDCWD, "pipe", S_IFIFO | 0600, 0);
    TRY("fchmodat", SYS_fchmodat, AT_FDCWD, inside, 0777);
    TRY("fchownat", SYS_fchownat, AT_FDCWD, inside, 1, 1, 0);
    TRY("setxattr", SYS_setxattr, inside, "user.a", "b", 1, 0);
    TRY("chdir", SYS_chdir, "/");
    TRY("inotify_init1", SYS_inotify_init1, 0);
    TRY("fanotify_init", SYS_fanotify_init, 0, 0);
#ifdef SYS_open
    TRY("open", SYS_open, "/etc/passwd", O_RDONLY);
    TRY("creat", SYS_creat, join(outside, "made"), 0600);
#endif
}

static void network(void) {
    char name[40];
    for (int family = 0; family < 46; family++) {
        for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++) {
            snprintf(name, sizeof name, "socket %d %d", family, type);
            TRY(name, SYS_socket, family, type, 0);
        }
    }
    int pair[2];
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    struct msghdr message = {0};
    TRY("socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
    TRY("connect", SYS_connect, old_socket, &address, sizeof address);
    TRY("bind", SYS_bind, old_socket, &address, sizeof address);
    TRY("listen", SYS_listen, old_socket, 1);
    TRY("accept4", SYS_accept4, old_socket, NULL, NULL, 0);
    TRY("sendto", SYS_sendto, old_socket, "a", 1, 0, &address, sizeof address);
    TRY("sendmsg", SYS_sendmsg, old_socket, &message, 0);
    TRY("recvmsg", SYS_recvmsg, old_socket, &message, 0);
    TRY("getsockopt", SYS_getsockopt, old_socket, SOL_SOCKET, SO_TYPE, pair, pair + 1);
}

static void programs(void) {
    char *arguments[] = {"true", NULL}, *environment[] = {NULL};
    char stack[4096];
    try_copy("clone as fork", syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
    try_copy("clone with a user namespace", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL));
    unsigned long thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    try_copy("clone a thread with a namespace", syscall(SYS_clone, thread | CLONE_NEWNS, stack, NULL, NULL, NULL));
    struct { unsigned long long fields[11]; } three = {{0}};
    three.fields[4] = SIGCHLD;
    try_copy("clone3", syscall(SYS_clone3, &three, sizeof three));
#ifdef SYS_fork
    try_copy("fork", syscall(SYS_fork));
    try_copy("vfork", syscall(SYS_vfork));
#endif
    TRY("execve", SYS_execve, "/bin/true", arguments, environment);
    TRY("execveat", SYS_execveat, AT_FDCWD, "/bin/true", arguments, environment, 0);
    TRY("execveat of nothing", SYS_execveat, 0, "", arguments, environment, AT_EMPTY_PATH);
    int memory = syscall(SYS_memfd_create, "program", 0);
    tell("memfd_create", memory);
    TRY("memfd_secret", SYS_memfd_secret, 0);
    TRY("map code", SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TRY("make memory code", SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC);
    TRY("make memory code by a key", SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1);
    TRY("shmget", SYS_shmget, 1234, 4096, 0600 | 01000);
    TRY("personality", SYS_personality, 0x0400000);
}

static void processes(void) {
    long word;
    struct iovec here = {&word, sizeof word}, there = {(void *)1, sizeof word};
    struct rlimit none = {0, 0}, *nowhere = (void *)1;
    siginfo_t info = {0};
    struct sched_param rank = {0};
    unsigned long processors = 1;
    TRY("ptrace attach", SYS_ptrace, PTRACE_ATTACH, 0x3fffffff, 0, 0);
    TRY("ptrace seize", SYS_ptrace, PTRACE_SEIZE, parent, 0, -1);
    TRY("ptrace traceme", SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
    TRY("process_vm_readv", SYS_process_vm_readv, parent, &here, 1, &there, 1, 0);
    TRY("process_vm_writev", SYS_process_vm_writev, parent, &here, 1, &there, 1, 0);
    TRY("process_madvise", SYS_process_madvise, 0, &here, 1, 4, 0);
    TRY("kcmp", SYS_kcmp, parent, getpid(), 0, 0, 0);
    TRY("pidfd_open", SYS_pidfd_open, parent, 0);
    TRY("pidfd_getfd", SYS_pidfd_getfd, 0, 0, 0);
    TRY("pidfd_send_signal", SYS_pidfd_send_signal, 0, 0, NULL, 0);
    TRY("kill the parent", SYS_kill, parent, 0);
    TRY("kill everything", SYS_kill, -1, 0);
    TRY("kill itself", SYS_kill, getpid(), 0);
    TRY("tkill", SYS_tkill, parent, 0);
    TRY("tgkill the parent", SYS_tgkill, parent, parent, 0);
    TRY("rt_sigqueueinfo", SYS_rt_sigqueueinfo, parent, 0, &info);
    TRY("rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, parent, parent, 0, &info);
    TRY("signal the owner of a pipe", SYS_fcntl, 0, F_SETOWN, parent);
    TRY("signal the owner of a pipe, by its thread", SYS_fcntl, 0, F_SETOWN_EX, &info);
    TRY("limit the parent", SYS_prlimit64, parent, RLIMIT_CPU, nowhere, NULL);
    TRY("read limits of the parent", SYS_prlimit64, parent, RLIMIT_CPU, NULL, &none);
    TRY("raise an own limit", SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL);
    TRY("setpriority", SYS_setpriority, 9, parent, 19);
    TRY("sched_setaffinity", SYS_sched_setaffinity, parent, 0, &processors);
    TRY("sched_setscheduler", SYS_sched_setscheduler, parent, -1, &rank);
    TRY("ioprio_set", SYS_ioprio_set, 1, parent, 0);
    TRY("migrate_pages", SYS_migrate_pages, parent, 0, NULL, NULL);
    TRY("setpgid", SYS_setpgid, 0, -1);
    TRY("setsid", SYS_setsid);
}

static void kernel(void) {
    struct io_uring_params ring = {0};
    char buffer[256] = {0};
    TRY("io_uring_setup", SYS_io_uring_setup, 4, &ring);
    TRY("io_uring_enter", SYS_io_uring_enter, 0, 0, 0, 0, NULL, 0);
    TRY("io_uring_register", SYS_io_uring_register, 0, 0, NULL, 0);
    TRY("io_setup", SYS_io_setup, 1, buffer);
    TRY("bpf", SYS_bpf, 0, buffer, sizeof buffer);
    TRY("perf_event_open", SYS_perf_event_open, buffer, 0, -1, -1, 0);
    TRY("userfaultfd", SYS_userfaultfd, 0);
    TRY("keyctl", SYS_keyctl, 0, -3, 0, 0, 0);
    TRY("add_key", SYS_add_key, "user", "a", "b", 1, -3);
    TRY("request_key", SYS_request_key, "user", "a", NULL, 0);
    TRY("mount", SYS_mount, "none", "/no/folder", "tmpfs", 0, NULL);
    TRY("umount2", SYS_umount2, "/no/folder", 0);
    TRY("fsopen", SYS_fsopen, "tmpfs", 0);
    TRY("move_mount", SYS_move_mount, AT_FDCWD, "/", AT_FDCWD, "/", 0);
    TRY("mount_setattr", SYS_mount_setattr, AT_FDCWD, "/", 0, buffer, 32);
    TRY("pivot_root", SYS_pivot_root, "/", "/");
    TRY("chroot", SYS_chroot, inside);
    TRY("unshare", SYS_unshare, CLONE_NEWUSER);
    TRY("setns", SYS_setns, 0, 0);
    TRY("setuid", SYS_setuid, 0);
    TRY("setresgid", SYS_setresgid, 0, 0, 0);
    TRY("setgroups", SYS_setgroups, 0, NULL);
    TRY("capset", SYS_capset, buffer, buffer);
    TRY("sethostname", SYS_sethostname, NULL, -1);
    TRY("init_module", SYS_init_module, buffer, 1, "");
    TRY("finit_module", SYS_finit_module, 0, "", 0);
    TRY("delete_module", SYS_delete_module, "a", 0);
    TRY("kexec_load", SYS_kexec_load, 0, 0, NULL, 0);
    TRY("reboot", SYS_reboot, 0, 0, 0, NULL);
    TRY("swapon", SYS_swapon, "/", 0);
    TRY("syslog", SYS_syslog, 3, buffer, sizeof buffer);
    TRY("acct", SYS_acct, NULL);
    TRY("quotactl", SYS_quotactl, 0, NULL, 0, NULL);
    TRY("settimeofday", SYS_settimeofday, NULL, NULL);
    TRY("clock_settime", SYS_clock_settime, 0, NULL);
    TRY("adjtimex", SYS_adjtimex, NULL);
    TRY("ioctl", SYS_ioctl, 0, 0x5401, buffer);
    TRY("seccomp", SYS_seccomp, 0, 0, NULL);
    TRY("become dumpable", SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    TRY("take new privileges", SYS_prctl, PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
    TRY("let any process trace", SYS_prctl, 0x59616d61, -1, 0, 0, 0);
    TRY("leave seccomp", SYS_prctl, PR_SET_SECCOMP, 0, NULL, 0, 0);
    TRY("move the program's memory", SYS_prctl, PR_SET_MM, 0, 0, 0, 0);
    // Lets a process take rights from itself; tells the test whether this kernel has it.
    TRY("landlock", SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    TRY("a call of the old numbering", 0x40000000L | SYS_getpid);
    TRY("a call that no kernel has", 9999L);
}

static void *in_thread(void *unused) {
    TRY("socket of a new thread", SYS_socket, AF_INET, SOCK_STREAM, 0);
    TRY("execve of a new thread", SYS_execve, "/bin/true", NULL, NULL);
    return unused;
}

ssize_t write(int file, const void *bytes, size_t length) {
    static int is_done;
    if (file != 2 && !__atomic_exchange_n(&is_done, 1, __ATOMIC_SEQ_CST)) {
        files();
        others();
        network();
        programs();
        processes();
        kernel();
        pthread_t thread;
        if (pthread_create(&thread, NULL, in_thread, NULL) == 0) pthread_join(thread, NULL);
        tell("end", 0);
    }
    return syscall(SYS_write, file, bytes, length);
}
