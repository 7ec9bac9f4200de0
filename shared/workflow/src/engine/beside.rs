//! Keeps the attempts of a drive running while the drive does other work: they stand still unless they are
//! polled.

use std::future::Future;
use std::pin::pin;

use futures::future::{Either, select};
use futures::stream::{FuturesUnordered, StreamExt as _};
use platform::queue::BoxFuture;

use super::attempt::Finished;

/// Does `work` while the attempts run, and puts those that end meanwhile to `ended`.
pub(super) async fn beside<T>(
    running: &mut FuturesUnordered<BoxFuture<'static, Finished>>,
    ended: &mut Vec<Finished>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    while !running.is_empty() {
        match select(work.as_mut(), running.next()).await {
            Either::Left((done, _)) => return done,
            Either::Right((finished, _)) => ended.extend(finished),
        }
    }
    work.await
}

/// Waits until `soon`, or until all attempts have ended, and puts those that end to `ended`.
pub(super) async fn ended_soon(
    running: &mut FuturesUnordered<BoxFuture<'static, Finished>>,
    ended: &mut Vec<Finished>,
    mut soon: BoxFuture<'static, ()>,
) {
    while !running.is_empty() {
        match select(running.next(), soon).await {
            Either::Left((finished, left)) => {
                ended.extend(finished);
                soon = left;
            }
            Either::Right(_) => return,
        }
    }
}
