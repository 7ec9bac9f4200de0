//! Notifies followers of runs within one process.
//!
//! A deployed stream function has a process of its own and polls the records. The local runner is one
//! process, so its streams wait for a notification.

use std::collections::HashMap;

use parking_lot::Mutex;
use platform::Tenant;
use tokio::sync::watch;

use crate::engine::Listener;

pub struct Followers {
    runs: Mutex<HashMap<String, watch::Sender<()>>>,
    ending: watch::Sender<bool>,
}

impl Default for Followers {
    fn default() -> Self {
        Self {
            runs: Mutex::default(),
            ending: watch::Sender::new(false),
        }
    }
}

impl Followers {
    /// Subscribes to changes of a run. Run ids are unique across tenants.
    pub fn follow(&self, run_id: &str) -> watch::Receiver<()> {
        let mut runs = self.runs.lock();
        runs.retain(|_, sender| sender.receiver_count() > 0);
        runs.entry(run_id.to_owned()).or_default().subscribe()
    }

    /// Subscribes to the end of the process.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.ending.subscribe()
    }

    /// Notifies all followers that the process ends.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }
}

impl Listener for Followers {
    fn changed(&self, _: &Tenant, run_id: &str) {
        let runs = self.runs.lock();
        if let Some(sender) = runs.get(run_id) {
            sender.send_replace(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follower_hears_of_its_run_alone_also_between_two_looks() {
        let followers = Followers::default();
        let tenant = Tenant::new("acme", "demo").unwrap();
        let mut follower = followers.follow("a");
        assert!(!follower.has_changed().unwrap());
        followers.changed(&tenant, "b");
        assert!(!follower.has_changed().unwrap());
        followers.changed(&tenant, "a");
        assert!(follower.has_changed().unwrap());
        follower.mark_unchanged();
        drop(follower);
        followers.follow("b");
        assert_eq!(followers.runs.lock().len(), 1);
    }
}
