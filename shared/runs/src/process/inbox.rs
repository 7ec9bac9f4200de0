//! Shares the signals of one name among the tasks that wait for them.
//!
//! A task sees the signals that no task has taken, in the order of their arrival. A task that waits for
//! events also sees those that arrived since it began to wait and that another task took.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use process::Data;
use serde_json::value::RawValue;
use workflow::turn::Signals;
use workflow::{Context, Failure};

pub(super) struct Inbox {
    name: &'static str,
    signals: Signals,
    /// Reads the content of a body; None where the body has no content.
    read: fn(&Data) -> Option<Data>,
    came: RefCell<Vec<Entry>>,
    /// Source and id of the received events, because an event may arrive twice.
    known: RefCell<BTreeSet<(String, String)>>,
}

struct Entry {
    body: Data,
    is_taken: bool,
}

/// Position of a task in an inbox.
pub(super) struct Reader {
    next: usize,
    /// Entries from this position on are visible even if another task took them.
    began_at: usize,
}

impl Inbox {
    pub fn new(context: &Context, name: &'static str, read: fn(&Data) -> Option<Data>) -> Self {
        Self {
            name,
            read,
            signals: context.signals(name),
            came: RefCell::default(),
            known: RefCell::default(),
        }
    }

    /// Starts reading; signals that arrive from now on are visible even if another task takes them.
    pub fn reader(&self) -> Reader {
        self.receive();
        Reader {
            next: 0,
            began_at: self.came.borrow().len(),
        }
    }

    /// Starts reading only the signals that no other task takes.
    pub fn exclusive_reader(&self) -> Reader {
        Reader {
            next: 0,
            began_at: usize::MAX,
        }
    }

    /// Waits in the scope of `context` for the next signal that may be for the reader; returns its position
    /// and body.
    pub async fn next(&self, context: &Context, reader: &mut Reader) -> Result<(usize, Data), Failure> {
        let waiting = context.signals(self.name).receive::<Box<RawValue>>();
        let mut waiting = pin!(waiting);
        poll_fn(|task| {
            loop {
                self.receive();
                if let Some(found) = self.look(reader) {
                    return Poll::Ready(Ok(found));
                }
                // No signal is left, so this waits, or returns the cancellation.
                match waiting.as_mut().poll(task) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(body)) => self.add(body),
                    Poll::Ready(Err(failure)) if failure.is_canceled() => {
                        return Poll::Ready(Err(failure));
                    }
                    Poll::Ready(Err(_)) => {}
                }
            }
        })
        .await
    }

    /// Takes the signal at a position: tasks that begin to wait later do not see it.
    pub fn take(&self, place: usize) {
        if let Some(entry) = self.came.borrow_mut().get_mut(place) {
            entry.is_taken = true;
        }
    }

    fn look(&self, reader: &mut Reader) -> Option<(usize, Data)> {
        let came = self.came.borrow();
        while let Some(entry) = came.get(reader.next) {
            let place = reader.next;
            reader.next += 1;
            if !entry.is_taken || place >= reader.began_at {
                return Some((place, entry.body.clone()));
            }
        }
        None
    }

    fn receive(&self) {
        while let Some(signal) = self.signals.try_receive::<Box<RawValue>>() {
            if let Ok(body) = signal {
                self.add(body);
            }
        }
    }

    fn add(&self, body: Box<RawValue>) {
        let body = Data::from_raw(body).ok();
        let Some(body) = body.and_then(|body| (self.read)(&body)) else {
            return;
        };
        let text = |name: &str| body.field(name).and_then(|value| value.as_text());
        if let (Some(source), Some(id)) = (text("source"), text("id"))
            && !self.known.borrow_mut().insert((source, id))
        {
            return;
        }
        let is_taken = false;
        self.came.borrow_mut().push(Entry { body, is_taken });
    }
}
