//! Defines members as the API shows them.

use identity::records::members::Member as Record;
use platform::UtcTime;
use platform::auth::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A user as a member of the project.
#[derive(Serialize, JsonSchema)]
pub struct Member {
    /// Id of the member in paths, made of the user's id.
    pub id: String,
    /// User at the identity provider; `created_by` of what the user makes is `user:<user_id>`.
    pub user_id: String,
    /// Name for people; left out means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Roles whose permissions the user has in this project.
    pub roles: Vec<Role>,
    /// Time at which the user became a member.
    pub created_at: UtcTime,
    /// Principal that made the user a member.
    pub created_by: String,
    /// Time of the last change of roles or name.
    pub updated_at: UtcTime,
    /// Principal that made the last change.
    pub updated_by: String,
}

impl From<Record> for Member {
    fn from(record: Record) -> Self {
        Self {
            id: record.id,
            user_id: record.user_id,
            name: record.name,
            roles: record.roles,
            created_at: record.created_at,
            created_by: record.created_by,
            updated_at: record.updated_at,
            updated_by: record.updated_by,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct MemberPath {
    /// Id of the member, not of the user.
    pub member_id: String,
}
