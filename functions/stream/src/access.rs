//! Ends a stream with the credentials that opened it: at their end, and soon after they are withdrawn.

use std::time::Duration;

use platform::UtcTime;
use platform::auth::Viewer;
use platform::auth::{Required as _, permission::UseRuns};
use platform::http::Recheck;
use tokio::time::Instant;

/// Time between two checks of credentials that have not ended: an API key may be revoked, a signing key
/// withdrawn.
const CHECK: Duration = Duration::from_secs(30);

/// Right to follow one run.
pub struct Access {
    recheck: Recheck,
    /// Owner of a private run.
    private_to: Option<String>,
    /// End of the credentials; None where they have none.
    ends_at: Option<Instant>,
    next_check: Instant,
}

impl Access {
    /// For credentials that were checked at `now` and end at `valid_until`.
    pub fn new(
        recheck: Recheck,
        valid_until: Option<UtcTime>,
        private_to: Option<&str>,
        now: UtcTime,
    ) -> Self {
        let start = Instant::now();
        let left = |end: UtcTime| Duration::from_millis(end.millis_since(now));
        Self {
            recheck,
            private_to: private_to.map(str::to_owned),
            ends_at: valid_until.and_then(|end| start.checked_add(left(end))),
            next_check: start + CHECK,
        }
    }

    /// Returns when to ask next.
    pub fn due(&self) -> Instant {
        self.ends_at
            .map_or(self.next_check, |end| end.min(self.next_check))
    }

    /// Returns whether the run may be followed further.
    pub async fn holds(&mut self) -> bool {
        let now = Instant::now();
        if self.ends_at.is_some_and(|end| end <= now) {
            return false;
        }
        if now < self.next_check {
            return true;
        }
        self.next_check = now + CHECK;
        match self.recheck.principal().await {
            Ok(principal) => {
                principal.require(UseRuns::ANY_OF).is_ok()
                    && Viewer::from_principal(&principal).sees(self.private_to.as_deref())
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use platform::auth::{Permission, Principal};
    use platform::{Error, Tenant};
    use tokio::time::advance;

    use super::*;

    fn now() -> UtcTime {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    fn access(valid_until: Option<UtcTime>) -> (Access, Arc<AtomicBool>) {
        let is_revoked = Arc::new(AtomicBool::new(false));
        let revoked = Arc::clone(&is_revoked);
        let recheck = Recheck::new(move || {
            let is_revoked = revoked.load(Ordering::SeqCst);
            Box::pin(async move {
                let mut principal = Principal::system(&Tenant::new("acme", "demo")?);
                principal.permissions.insert(Permission::WorkflowRun);
                match is_revoked {
                    true => Err(Error::unauthenticated("The API key does not hold.")),
                    false => Ok(principal),
                }
            })
        });
        (Access::new(recheck, valid_until, None, now()), is_revoked)
    }

    #[tokio::test(start_paused = true)]
    async fn access_ends_with_the_token() {
        let (mut access, _) = access(Some(now().plus_ms(90_000)));
        assert!(access.holds().await);
        advance(Duration::from_millis(89_999)).await;
        assert!(access.holds().await);
        assert!(access.due() <= Instant::now() + Duration::from_millis(1));
        advance(Duration::from_millis(1)).await;
        assert!(!access.holds().await);
    }

    #[tokio::test(start_paused = true)]
    async fn access_ends_within_half_a_minute_of_a_revocation() {
        let (mut access, is_revoked) = access(None);
        advance(CHECK).await;
        assert!(access.holds().await);
        is_revoked.store(true, Ordering::SeqCst);
        advance(CHECK / 2).await;
        assert!(access.holds().await);
        advance(CHECK / 2).await;
        assert!(!access.holds().await);
    }

    #[tokio::test(start_paused = true)]
    async fn access_to_a_private_run_ends_where_the_caller_no_longer_sees_it() {
        let (mut access, _) = access(None);
        access.private_to = Some("user:ada".to_owned());
        advance(CHECK).await;
        assert!(!access.holds().await);
    }
}
