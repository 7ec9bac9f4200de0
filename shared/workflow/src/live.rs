//! Who follows runs in this process, and hears at once what another part of it has written.
//!
//! A deployed stream function is alone in its process and looks at the records again and again; on the local runner everything
//! is one process, and nobody has to look until there is something to see.

use std::collections::HashMap;

use parking_lot::Mutex;
use platform::Tenant;
use tokio::sync::watch;

use crate::engine::Listener;

/// Who follows which run.
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
    /// Hears of changes of a run from now on. Run ids are unique over all tenants.
    pub fn follow(&self, run_id: &str) -> watch::Receiver<()> {
        let mut runs = self.runs.lock();
        runs.retain(|_, sender| sender.receiver_count() > 0);
        runs.entry(run_id.to_owned()).or_default().subscribe()
    }

    /// Hears when the process is about to end.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.ending.subscribe()
    }

    /// Tells everybody that the process is about to end.
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
