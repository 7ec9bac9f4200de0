//! Caches the memberships of users, and chooses the project of a request among them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use platform::auth::{Principal, PrincipalKind};
use platform::clock::{Clock, UtcTime};
use platform::error::{Error, Result};
use platform::tenant::Tenant;

use crate::records::members::{Member, Members};
use crate::subject::Subject;
use crate::times::end_of;

/// Age up to which memberships are used without being read again, in milliseconds. A member who was removed
/// has access for as long.
pub const FRESH_MS: u64 = 30_000;
/// Maximum number of users whose memberships are cached.
const MAX_USERS: Option<NonZeroUsize> = NonZeroUsize::new(1_024);
/// Most projects that a refusal names.
const MAX_NAMED: usize = 10;
/// Header that chooses a project.
pub const PROJECT_HEADER: &str = "X-Millrace-Project";

type OfUser = Arc<[Member]>;

pub struct Memberships {
    members: Members,
    clock: Clock,
    users: Mutex<LruCache<String, (UtcTime, OfUser)>>,
}

impl Memberships {
    pub fn new(members: Members, clock: Clock) -> Self {
        Self {
            members,
            clock,
            users: Mutex::new(LruCache::new(MAX_USERS.unwrap_or(NonZeroUsize::MIN))),
        }
    }

    /// Returns the memberships of a user.
    pub async fn of_user(&self, user_id: &str) -> Result<OfUser> {
        let now = self.clock.now();
        let cached = self.users.lock().get(user_id).cloned();
        if let Some((at, members)) = cached
            && now.as_millis().abs_diff(at.as_millis()) < FRESH_MS
        {
            return Ok(members);
        }
        let members: OfUser = self.members.of_user(user_id).await?.into();
        self.users
            .lock()
            .put(user_id.to_owned(), (now, Arc::clone(&members)));
        Ok(members)
    }

    /// Returns the principal of a user in the project that the request names, or in the only one. 403 where
    /// the user is no member, or must choose.
    pub async fn principal(&self, subject: &Subject, project: Option<&str>) -> Result<Principal> {
        let own = subject.principal();
        let named = own.as_ref().and_then(|own| own.tenant().ok());
        let members = self.of_user(&subject.user).await?;
        let chosen = match project {
            Some(project) => matching(project, named.as_ref(), &members)?,
            None => named.clone().map_or_else(|| only(&subject.user, &members), Ok)?,
        };
        let member = members.iter().find(|member| is_of(member, &chosen));
        match (own.filter(|_| named.as_ref() == Some(&chosen)), member) {
            // The token's own project: what it says counts, and what a membership adds.
            (Some(own), None) => Ok(own),
            (Some(own), Some(member)) => Ok(with_roles(own, member)),
            (None, Some(member)) => Ok(of_member(subject, member)),
            (None, None) => Err(no_member(project.unwrap_or_default(), &members)),
        }
    }
}

fn is_of(member: &Member, tenant: &Tenant) -> bool {
    member.account_id == tenant.account() && member.project_id == tenant.project()
}

/// Returns the project with a name, `<project>` or `<account>/<project>`, that is the token's or of a membership.
fn matching(name: &str, own: Option<&Tenant>, members: &[Member]) -> Result<Tenant> {
    let tenants = members.iter().map(Member::tenant);
    let mut tenants = tenants.collect::<Result<Vec<_>>>()?;
    tenants.extend(own.cloned());
    tenants.retain(|tenant| tenant.project() == name || tenant.to_string() == name);
    tenants.sort_unstable();
    tenants.dedup();
    match (tenants.pop(), tenants.pop()) {
        (Some(tenant), None) => Ok(tenant),
        (Some(first), Some(second)) => Err(Error::forbidden(format!(
            "Several accounts have a project '{name}'. Write in {PROJECT_HEADER} which one: {second} or {first}."
        ))),
        (None, _) => Err(no_member(name, members)),
    }
}

/// Returns the only project of a user.
fn only(user: &str, members: &[Member]) -> Result<Tenant> {
    match members {
        [member] => member.tenant(),
        [] => Err(Error::forbidden(format!(
            "The user '{user}' is a member of no project. An administrator can add one: ops member add '{user}'."
        ))),
        _ => Err(Error::forbidden(format!(
            "The user is a member of several projects. Say which one in the header {PROJECT_HEADER}: {}.",
            names(members)
        ))),
    }
}

fn no_member(name: &str, members: &[Member]) -> Error {
    Error::forbidden(match members {
        [] => format!("The user is no member of the project '{name}', nor of another one."),
        _ => format!(
            "The user is no member of the project '{name}', but of {}.",
            names(members)
        ),
    })
}

fn names(members: &[Member]) -> String {
    let name = |member: &Member| format!("{}/{}", member.account_id, member.project_id);
    let mut names: Vec<_> = members.iter().take(MAX_NAMED).map(name).collect();
    if members.len() > MAX_NAMED {
        names.push(format!("{} more", members.len() - MAX_NAMED));
    }
    names.join(", ")
}

fn with_roles(principal: Principal, member: &Member) -> Principal {
    let mut roles = principal.roles;
    let added = member.roles.iter().map(|role| role.as_str().to_owned());
    for role in added {
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    let mut permissions = principal.permissions;
    permissions.extend(member.roles.iter().flat_map(|role| role.permissions()));
    Principal {
        roles,
        permissions,
        ..principal
    }
}

/// Returns the principal of a project that the token does not name. Roles in the token are those of its own.
fn of_member(subject: &Subject, member: &Member) -> Principal {
    let principal = Principal {
        kind: PrincipalKind::User(subject.user.clone()),
        account_id: member.account_id.clone(),
        project_id: Some(member.project_id.clone()),
        tenant_id: None,
        account_name: None,
        project_name: None,
        roles: Vec::new(),
        permissions: Default::default(),
        valid_until: end_of(subject.exp),
    };
    with_roles(principal, member)
}
