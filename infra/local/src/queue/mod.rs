//! Emulates an SQS queue with a Lambda consumer, in this process.
//!
//! It passes messages to the function's own handler, in batches; delivers reported failures again after a
//! back-off; and sets aside messages that were received too often. Groups take turns, and no group
//! exceeds its share of the handler, so one group does not delay another. Messages are lost with the process:
//! a queue carries hints, never truth.

mod depth;

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use platform::batch::{Batch, back_off};
use platform::queue::{Delivery, Priority, Queue};
use platform::{Clock, Result, ids};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use tracing::error;

use crate::queues::Settings;

/// Handler of a function for batches. Returns the ids of the messages to deliver again.
pub type Handler = Arc<dyn Fn(Batch) -> BoxFuture<'static, Vec<String>> + Send + Sync>;

/// Returns the handler of a function that works on a state.
pub fn handler<S, F>(state: S, handle: impl Fn(S, Batch) -> F + Send + Sync + 'static) -> Handler
where
    S: Clone + Send + Sync + 'static,
    F: Future<Output = Vec<String>> + Send + 'static,
{
    Arc::new(move |batch| Box::pin(handle(state.clone(), batch)))
}

impl Settings {
    /// Maximum number of messages of one account in the handler at once: those of half the batches, rounded
    /// up.
    fn account_share(&self) -> usize {
        self.batch_size * usize::try_from(self.concurrency.div_ceil(2)).unwrap_or(usize::MAX)
    }
}

struct Message {
    id: String,
    group: Arc<str>,
    owner: Option<Owner>,
    priority: Priority,
    body: String,
    receives: u32,
}

/// Account and project of a group.
#[derive(Clone)]
struct Owner {
    account: Arc<str>,
    project: Arc<str>,
}

/// Order of messages: by earliest delivery time, then by age.
type Place = (Instant, u64);

#[derive(Default)]
struct Group {
    waiting: BTreeMap<Place, Message>,
    in_flight: usize,
    /// Last turn, as a count of delivered messages.
    served: u64,
    owner: Option<Owner>,
    priority: Priority,
}

/// Messages of an account in the handler, over all of its groups.
#[derive(Default)]
struct Account {
    in_flight: usize,
    served: u64,
    groups: usize,
    /// Last turn of each project.
    projects: HashMap<Arc<str>, u64>,
}

#[derive(Default)]
struct State {
    groups: HashMap<Arc<str>, Group>,
    /// First message of each group that has not used its share of the handler.
    heads: BTreeMap<Place, Arc<str>>,
    next: u64,
    accounts: HashMap<Arc<str>, Account>,
    /// Number of messages delivered so far.
    delivered: u64,
    dead: Vec<String>,
}

pub struct LocalQueue {
    settings: Settings,
    state: Mutex<State>,
    changed: Notify,
}

impl LocalQueue {
    /// Creates a queue, which keeps its messages until it is [consumed](Self::consume).
    pub fn new(settings: Settings) -> Arc<Self> {
        Arc::new(Self {
            settings,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Starts passing the messages to `handler`, for as long as the runtime lives.
    pub fn consume(self: &Arc<Self>, handler: Handler) {
        tokio::spawn(Arc::clone(self).deliver(handler));
    }

    /// Waits until no message is queued or in flight.
    pub async fn drain(&self) {
        loop {
            let changed = self.changed.notified();
            let idle = { self.state().groups.is_empty() };
            if idle {
                return;
            }
            changed.await;
        }
    }

    /// Returns the bodies of the messages that were set aside.
    pub fn dead_letters(&self) -> Vec<String> {
        self.state().dead.clone()
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }

    async fn deliver(self: Arc<Self>, handler: Handler) {
        let permits = self
            .settings
            .concurrency
            .try_into()
            .unwrap_or(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(permits));
        loop {
            // The semaphore is never closed, so a permit always comes.
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                return;
            };
            let batch = self.next_batch().await;
            let (queue, handler) = (Arc::clone(&self), Arc::clone(&handler));
            tokio::spawn(async move {
                let handled = AssertUnwindSafe(handler(batch_of(&batch))).catch_unwind().await;
                // Messages of a panicked handler are delivered again, as of a function that crashed.
                queue.settle(batch, |id| match &handled {
                    Ok(failed) => failed.iter().any(|failed| failed == id),
                    Err(_) => true,
                });
                drop(permit);
            });
        }
    }

    async fn next_batch(&self) -> Vec<Message> {
        loop {
            let changed = self.changed.notified();
            let (batch, next) = self.receive();
            if !batch.is_empty() {
                return batch;
            }
            match next {
                Some(at) => {
                    tokio::select! { () = changed => {}, () = tokio::time::sleep_until(at) => {} }
                }
                None => changed.await,
            }
        }
    }

    /// Takes a batch of ready messages. Also returns the time at which the next message becomes ready.
    fn receive(&self) -> (Vec<Message>, Option<Instant>) {
        let now = Instant::now();
        let mut state = self.state();
        let mut batch = Vec::new();
        while batch.len() < self.settings.batch_size
            && let Some(place) = state.next_in_turn(now, self.settings.account_share())
        {
            let Some(group) = state.heads.remove(&place) else {
                break;
            };
            state.delivered += 1;
            let delivered = state.delivered;
            let State { groups, accounts, .. } = &mut *state;
            let Some(of_group) = groups.get_mut(&group) else {
                continue;
            };
            if let Some(mut message) = of_group.waiting.remove(&place) {
                of_group.in_flight += 1;
                of_group.served = delivered;
                if let Some(owner) = &of_group.owner
                    && let Some(account) = accounts.get_mut(&owner.account)
                {
                    account.in_flight += 1;
                    account.served = delivered;
                    account.projects.insert(Arc::clone(&owner.project), delivered);
                }
                message.receives += 1;
                batch.push(message);
            }
            state.show_head(&group, self.settings.group_share);
        }
        // A ready message that was not taken waits until a message of its account is settled.
        let next = state
            .heads
            .range((now, u64::MAX)..)
            .next()
            .map(|((at, _), _)| *at);
        (batch, next)
    }

    fn settle(&self, batch: Vec<Message>, failed: impl Fn(&str) -> bool) {
        let mut state = self.state();
        let share = self.settings.group_share;
        for message in batch {
            let group = Arc::clone(&message.group);
            let State { groups, accounts, .. } = &mut *state;
            if let Some(of_group) = groups.get_mut(&group) {
                of_group.in_flight -= 1;
                if let Some(owner) = &of_group.owner
                    && let Some(account) = accounts.get_mut(&owner.account)
                {
                    account.in_flight -= 1;
                }
            }
            if !failed(&message.id) {
                state.show_head(&group, share);
            } else if message.receives >= self.settings.max_receives {
                error!(
                    queue = self.settings.name,
                    message_id = message.id,
                    body = message.body,
                    "message set aside as dead letter"
                );
                state.dead.push(message.body);
                state.show_head(&group, share);
            } else {
                let pause = back_off(message.receives);
                state.wait(message, pause, share);
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }
}

impl State {
    fn wait(&mut self, message: Message, delay: Duration, share: usize) {
        self.next += 1;
        let place = (Instant::now() + delay, self.next);
        let group = Arc::clone(&message.group);
        let of_group = self.groups.entry(Arc::clone(&group)).or_insert_with(|| {
            if let Some(owner) = &message.owner {
                let account = self.accounts.entry(Arc::clone(&owner.account));
                account.or_default().groups += 1;
            }
            Group {
                owner: message.owner.clone(),
                priority: message.priority,
                ..Group::default()
            }
        });
        if let Some((head, _)) = of_group.waiting.first_key_value() {
            self.heads.remove(head);
        }
        of_group.waiting.insert(place, message);
        self.show_head(&group, share);
    }

    /// Returns the place of the next message: of the account with room that has waited longest for its turn,
    /// of the project of it that has waited longest, the highest priority, and there the group that has
    /// waited longest.
    fn next_in_turn(&self, now: Instant, account_share: usize) -> Option<Place> {
        let ready = self.heads.iter().take_while(|((at, _), _)| *at <= now);
        let turns = ready.filter_map(|(place, name)| {
            let group = self.groups.get(name)?;
            let (mut by_account, mut by_project) = (0, 0);
            if let Some(owner) = &group.owner
                && let Some(account) = self.accounts.get(&owner.account)
            {
                if account.in_flight >= account_share {
                    return None;
                }
                by_account = account.served;
                by_project = account.projects.get(&owner.project).copied().unwrap_or_default();
            }
            let turn = (by_account, by_project, group.priority, group.served, *place);
            Some((turn, *place))
        });
        turns.min().map(|(_, place)| place)
    }

    /// Makes the first message of a group available if the group has room; removes a group without messages.
    fn show_head(&mut self, group: &Arc<str>, share: usize) {
        let Some(of_group) = self.groups.get(group) else {
            return;
        };
        match of_group.waiting.first_key_value() {
            Some((head, _)) if of_group.in_flight < share => {
                self.heads.insert(*head, Arc::clone(group));
            }
            None if of_group.in_flight == 0 => {
                let owner = self.groups.remove(group).and_then(|group| group.owner);
                if let Some(Owner { account: name, .. }) = owner
                    && let Some(account) = self.accounts.get_mut(&name)
                {
                    account.groups -= 1;
                    if account.groups == 0 {
                        self.accounts.remove(&name);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A queue without a consumer, such as one of dead letters: logs its messages, because the user of a laptop
/// reads the log.
pub struct SetAside;

#[async_trait]
impl Queue for SetAside {
    async fn send_as(&self, body: &str, _: Delivery<'_>) -> Result<()> {
        error!(letter = body, "event set aside as dead letter");
        Ok(())
    }
}

#[async_trait]
impl Queue for LocalQueue {
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
        let owner = delivery.account.map(|account| Owner {
            account: account.into(),
            project: delivery.project.unwrap_or_default().into(),
        });
        let message = Message {
            id: ids::new_id(Clock::System.now()),
            group: group_of(&delivery),
            owner,
            priority: delivery.priority,
            body: body.to_owned(),
            receives: 0,
        };
        let share = self.settings.group_share;
        self.state().wait(message, delivery.delay, share);
        self.changed.notify_waiters();
        Ok(())
    }
}

/// A group has one project and one priority, so a name with several becomes several groups.
fn group_of(delivery: &Delivery<'_>) -> Arc<str> {
    let (name, project) = (
        delivery.group.unwrap_or_default(),
        delivery.project.unwrap_or_default(),
    );
    format!("{name} {project} {:?}", delivery.priority).into()
}

fn batch_of(messages: &[Message]) -> Batch {
    let messages = messages.iter().map(|message| platform::batch::Message {
        id: message.id.clone(),
        body: message.body.clone(),
    });
    Batch::new(messages.collect())
}

#[cfg(test)]
mod tests;
