//! Describes the principal that changes a run.

use crate::state::About;

/// Principal as the history and the events of a run name it.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Such as `user:<user_id>`.
    pub reference: &'a str,
    /// Tenant that the principal's token names.
    pub tenant_id: Option<&'a str>,
}

impl<'a> From<&'a str> for Caller<'a> {
    /// A principal without a tenant.
    fn from(reference: &'a str) -> Self {
        Self {
            reference,
            tenant_id: None,
        }
    }
}

impl Caller<'_> {
    /// Makes later events of the run carry the caller's tenant. A caller without a tenant leaves that of the
    /// starter.
    pub(super) fn causes_events_of(self, about: &mut About) {
        if let Some(tenant_id) = self.tenant_id {
            about.tenant_id = Some(tenant_id.to_owned());
        }
    }
}
