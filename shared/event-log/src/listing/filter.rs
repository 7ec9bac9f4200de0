//! Defines the filter of a listing.

use std::collections::BTreeSet;

use platform::UtcTime;
use platform::records::audit::AuditAction;

/// Filter of a listing. An empty set or a None matches every record.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub actions: BTreeSet<AuditAction>,
    pub resource_types: BTreeSet<String>,
    pub resource_id: Option<String>,
    /// Id of an API key or a service.
    pub principal_id: Option<String>,
    pub principal_user_id: Option<String>,
    /// Inclusive.
    pub from: Option<UtcTime>,
    /// Inclusive.
    pub to: Option<UtcTime>,
}
