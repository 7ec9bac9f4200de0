//! Queues requests for the writer, limited in number and bytes.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex, MutexGuard};
use platform::records::store::checks::check_step;
use platform::records::store::limits::{bytes_of, check_item, check_steps, value_bytes};
use platform::records::store::{Action, Step, Written};
use platform::{Error, Result};
use tokio::sync::oneshot;

/// Maximum number of waiting requests.
const MAX_WAITING: usize = 16_384;
/// Maximum size of the waiting requests, in bytes.
const MAX_WAITING_BYTES: usize = 256 * 1_024 * 1_024;
/// Maximum number of requests in a commit.
const MAX_BATCH: usize = 256;
/// Size at which a batch accepts no further request, in bytes.
const MAX_BATCH_BYTES: usize = 8 * 1_024 * 1_024;
/// Size of a step without its texts, in bytes.
const STEP_BYTES: usize = 256;

/// Steps that are committed together or not at all.
pub(super) struct Request {
    pub(super) steps: Vec<Step>,
    /// Numeric attribute of the first step's item whose new value is returned.
    pub(super) number: Option<String>,
    pub(super) answer: oneshot::Sender<Result<Outcome>>,
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) written: Written,
    /// The requested number; None if it is not a non-negative number.
    pub(super) number: Option<u64>,
}

impl Request {
    /// Creates a request within the limits, and the receiver of its outcome.
    pub(super) fn new(
        steps: Vec<Step>,
        number: Option<String>,
    ) -> Result<(Self, oneshot::Receiver<Result<Outcome>>)> {
        check_steps(&steps)?;
        let mut bytes = 0;
        for step in &steps {
            check_step(step)?;
            bytes += STEP_BYTES + step.key.pk.len() + step.key.sk.len();
            match &step.action {
                Action::Put(item) => {
                    check_item(item)?;
                    if item.text("pk") != Some(&step.key.pk) || item.text("sk") != Some(&step.key.sk) {
                        return Err(Error::internal("an item is written at another key than its own"));
                    }
                    bytes += bytes_of(item);
                }
                Action::Update(changes) => {
                    let set = changes.set.iter().map(|(_, value)| value_bytes(value));
                    let appended = changes
                        .append
                        .iter()
                        .flat_map(|(_, values)| values)
                        .map(value_bytes);
                    bytes += set.sum::<usize>() + appended.sum::<usize>();
                }
                Action::Delete | Action::Check => {}
            }
        }
        let (answer, outcome) = oneshot::channel();
        let request = Self {
            steps,
            number,
            answer,
            bytes,
        };
        Ok((request, outcome))
    }
}

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    requests: VecDeque<Request>,
    bytes: usize,
    is_closed: bool,
}

impl Queue {
    /// Refuses a request if too many are waiting.
    pub(super) fn push(&self, request: Request) -> Result<()> {
        let mut waiting = self.lock();
        if waiting.is_closed {
            return Err(Error::unavailable("the thread that writes records has ended"));
        }
        let (requests, bytes) = (waiting.requests.len(), waiting.bytes);
        if requests >= MAX_WAITING || bytes + request.bytes > MAX_WAITING_BYTES {
            return Err(Error::unavailable(format!(
                "{requests} writes of {bytes} bytes wait for the disk; send fewer at a time"
            )));
        }
        waiting.bytes += request.bytes;
        waiting.requests.push_back(request);
        self.changed.notify_one();
        Ok(())
    }

    /// Returns the requests of the next commit, and waits until there is one. None when the queue is closed
    /// and empty.
    pub(super) fn take(&self) -> Option<Vec<Request>> {
        let mut waiting = self.lock();
        while waiting.requests.is_empty() {
            if waiting.is_closed {
                return None;
            }
            self.changed.wait(&mut waiting);
        }
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES {
            let Some(request) = waiting.requests.pop_front() else {
                break;
            };
            bytes += request.bytes;
            waiting.bytes -= request.bytes;
            batch.push(request);
        }
        Some(batch)
    }

    /// Stops accepting requests.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Closes a queue without a writer: waiting requests fail, because their senders are dropped.
    pub(super) fn abandon(&self) {
        self.close();
        let left = std::mem::take(&mut self.lock().requests);
        drop(left);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }
}

#[cfg(test)]
mod tests {
    use platform::ErrorKind;
    use platform::records::store::{Item, Key};

    use super::*;

    fn request(text_bytes: usize) -> Request {
        let key = Key::new("p", "s");
        let mut item = Item::default();
        item.extend([
            ("pk".to_owned(), "p".to_owned()),
            ("sk".to_owned(), "s".to_owned()),
        ]);
        item.set("text", "a".repeat(text_bytes));
        let step = Step {
            table: "table".into(),
            key,
            action: Action::Put(item),
            condition: None,
        };
        Request::new(vec![step], None).unwrap().0
    }

    #[test]
    fn a_batch_ends_by_number_or_by_bytes() {
        let queue = Queue::default();
        for _ in 0..MAX_BATCH + 1 {
            queue.push(request(1)).unwrap();
        }
        assert_eq!(queue.take().unwrap().len(), MAX_BATCH);
        assert_eq!(queue.take().unwrap().len(), 1);
        for _ in 0..30 {
            queue.push(request(390 * 1_024)).unwrap();
        }
        assert_eq!(queue.take().unwrap().len(), 21);
        assert_eq!(queue.take().unwrap().len(), 9);
        queue.close();
        assert!(queue.take().is_none());
    }

    #[test]
    fn excess_requests_are_refused_and_waiting_ones_stay() {
        let queue = Queue::default();
        let mut refused = None;
        for _ in 0..100_000 {
            refused = queue.push(request(1)).err().or(refused);
        }
        assert_eq!(refused.unwrap().kind(), ErrorKind::Unavailable);
        assert_eq!(queue.lock().requests.len(), MAX_WAITING);

        let queue = Queue::default();
        let waiting = (0..1_000)
            .filter(|_| queue.push(request(390 * 1_024)).is_ok())
            .count();
        assert!(
            (600..=MAX_WAITING_BYTES / (390 * 1_024)).contains(&waiting),
            "{waiting}"
        );
        let taken = queue.take().unwrap().len();
        let more = (0..100)
            .filter(|_| queue.push(request(390 * 1_024)).is_ok())
            .count();
        assert_eq!(more, taken);
    }
}
