//! Runs work that keeps a processor busy at a low priority.
//!
//! A caller chooses how much work it is: the patterns of a definition, the records of a tail, a condition's
//! steps. Where processors are free it is as fast as other work; where they are not, short requests of others
//! come first. A permit or a queue limits how much of it is done at a time.

use std::future::Future;
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::{Error, Result};

/// Niceness of the threads: each gets a tenth of the time of a thread with normal priority.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Runs work on a thread of its own, because an unprivileged thread cannot raise its priority again. Dropping
/// the future ends the work where it next waits. Fails where the work panics.
pub async fn run<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let (mut sender, receiver) = oneshot::channel();
    let runtime = Handle::current();
    let work = move || {
        lower_priority();
        runtime
            .block_on(async {
                tokio::select! {
                    () = sender.closed() => None,
                    result = work => Some(result),
                }
            })
            .map(|result| sender.send(result))
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
    use std::sync::atomic::{AtomicBool, Ordering};
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
        let within = run(async move {
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
        let mut work = Box::pin(run(async move {
            let _flag = flag;
            let _ = started.send(());
            std::future::pending::<()>().await;
        }));
        tokio::select! {
            _ = &mut work => panic!("the work ended"),
            started = has_started => started.unwrap(),
        }
        drop(work);
        while !ended.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let failed = run(async { assert!(std::hint::black_box(false), "on purpose") }).await;
        assert_eq!(failed.unwrap_err().status(), 500);
    }
}
