//! Runs work that keeps a processor busy at a low priority, in turns of the accounts.
//!
//! A caller chooses how much work it is: the patterns of a definition, the records of a tail, a condition's
//! steps. Short requests of others come first: the threads have a low priority, and one processor is left to
//! the rest of the process, because a system may let a thread finish its share of milliseconds.

use std::future::Future;
use std::sync::LazyLock;
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::fair::FairPermits;
use crate::{Error, Result};

/// Niceness of the threads: each gets a tenth of the time of a thread with normal priority.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Turns, one at a time for each processor but one. What waits is limited where it comes from: requests,
/// events and passes.
static TURNS: LazyLock<FairPermits> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    FairPermits::new((processors - 1).max(1), usize::MAX)
});

/// Runs work of an account on a thread of its own, because an unprivileged thread cannot raise its priority
/// again. The work must not wait for other such work. Dropping the future ends the work where it next waits.
/// Fails where the work panics.
pub async fn run<T: Send + 'static>(
    account: &str,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let turn = TURNS.wait(account).await?;
    let (mut sender, receiver) = oneshot::channel();
    let runtime = Handle::current();
    let work = move || {
        lower_priority();
        let result = runtime.block_on(async {
            tokio::select! {
                () = sender.closed() => None,
                result = work => Some(result),
            }
        });
        drop(turn);
        result.map(|result| sender.send(result))
    };
    let started = thread::Builder::new().name("low-priority".to_owned()).spawn(work);
    started.map_err(Error::internal)?;
    receiver.await.map_err(Error::internal)
}

/// Has no effect where the system refuses it: the work is done at normal priority then.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_work_alone_has_a_low_priority() {
        let niceness = || {
            let id = rustix::thread::gettid();
            rustix::process::getpriority_process(Some(id)).unwrap()
        };
        let before = niceness();
        let within = run("acme", async move {
            let first = niceness();
            tokio::task::yield_now().await;
            (first, niceness())
        });
        assert_eq!(within.await.unwrap(), (NICENESS, NICENESS));
        assert_eq!(niceness(), before);
    }

    #[tokio::test]
    async fn work_without_a_caller_ends() {
        struct Flag(Arc<AtomicBool>);
        impl Drop for Flag {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let ended = Arc::new(AtomicBool::new(false));
        let (started, has_started) = oneshot::channel();
        let flag = Flag(Arc::clone(&ended));
        let mut work = Box::pin(run("acme", async move {
            let _flag = flag;
            let _ = started.send(());
            std::future::pending::<()>().await;
        }));
        tokio::select! {
            _ = &mut work => panic!("the work ended"),
            started = has_started => started.unwrap(),
        }
        drop(work);
        run("acme", async {}).await.unwrap();
        while !ended.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn one_processor_is_left_to_others() {
        let running = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let works = (0..40).map(|number| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            run(["acme", "other"][number % 2], async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                    thread::yield_now();
                }
                running.fetch_sub(1, Ordering::SeqCst);
            })
        });
        for done in futures::future::join_all(works).await {
            done.unwrap();
        }
        let processors = thread::available_parallelism().unwrap().get();
        assert!(most.load(Ordering::SeqCst) < processors.max(2));
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let failed = run("acme", async {
            assert!(std::hint::black_box(false), "on purpose");
        })
        .await;
        assert_eq!(failed.unwrap_err().status(), 500);
    }
}
