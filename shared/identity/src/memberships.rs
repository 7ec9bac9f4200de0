//! Caches the memberships of users, and chooses the project of a request among them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use platform::auth::{Principal, PrincipalKind};
use platform::clock::{Clock, UtcTime};
use platform::error::{Error, Result};
use platform::tenant::check_id;

use crate::records::members::{Member, Members};
use crate::subject::Subject;
use crate::times::end_of;

/// Age up to which memberships are used without being read again, in milliseconds. A member who was removed
/// has access for as long.
const FRESH_MS: u64 = 30_000;
/// Maximum number of users whose memberships are cached.
const MAX_USERS: Option<NonZeroUsize> = NonZeroUsize::new(1_024);
/// Most projects that a refusal names.
const MAX_NAMED: usize = 10;
/// Header that chooses a project.
const PROJECT_HEADER: &str = "X-Millrace-Project";

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

    /// Returns the memberships of a user that count: of the account that the token names, if it names one.
    pub async fn of_user(&self, subject: &Subject) -> Result<OfUser> {
        let members = self.read(&subject.user).await?;
        let is_foreign = |member: &Member| {
            subject
                .account
                .as_ref()
                .is_some_and(|account| *account != member.account_id)
        };
        Ok(match members.iter().any(is_foreign) {
            true => members
                .iter()
                .filter(|member| !is_foreign(member))
                .cloned()
                .collect(),
            false => members,
        })
    }

    async fn read(&self, user_id: &str) -> Result<OfUser> {
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
}

/// Returns the principal of a user in the project that the request names, or in the only one. 403 where
/// the user is no member, or must choose.
///
/// Memberships are those that count ([`Memberships::of_user`]): administrators of another account than that
/// of the token cannot add the user to anything.
pub fn choose(subject: &Subject, members: &[Member], project: Option<&str>) -> Result<Principal> {
    let own = subject.principal();
    if let Some(own) = own.filter(|own| own.project_id.is_some() || own.administers_account())
        && let Ok(own) = in_project(own, project)
    {
        let of_project = |member: &&Member| own.project_id.as_ref() == Some(&member.project_id);
        return Ok(match members.iter().find(of_project) {
            Some(member) => with_roles(own, member),
            None => own,
        });
    }
    let mut chosen = members.iter().filter(|member| fits(member, project));
    match (chosen.next(), chosen.next(), project) {
        (Some(member), None, _) => Ok(of_member(subject, member)),
        (Some(_), Some(_), None) => Err(Error::forbidden(format!(
            "The user is a member of several projects. Say which one in the header {PROJECT_HEADER}: {}.",
            list(members)
        ))),
        (Some(_), Some(_), Some(name)) => Err(Error::forbidden(format!(
            "Several accounts have a project '{name}'. Say which one in the header {PROJECT_HEADER}: {}.",
            list(members)
        ))),
        (None, _, None) => Err(Error::forbidden(format!(
            "The user '{}' is a member of no project. An administrator of one adds members by POST /members or \
             `ops member add`.",
            subject.user
        ))),
        (None, _, Some(name)) => Err(Error::forbidden(match members.is_empty() {
            true => format!("The user is no member of the project '{name}', nor of another one."),
            false => format!(
                "The user is no member of the project '{name}', but of {}.",
                list(members)
            ),
        })),
    }
}

/// Whether a membership is of the project with a name: `<project>` or `<account>/<project>`.
fn fits(member: &Member, name: Option<&str>) -> bool {
    name.is_none_or(|name| {
        let full = format!("{}/{}", member.account_id, member.project_id);
        member.project_id == name || full == name
    })
}

/// Returns a principal in the project that a request names. 403 where it is for another one. An administrator
/// of an account can name each of its projects.
pub fn in_project(principal: Principal, name: Option<&str>) -> Result<Principal> {
    let Some(name) = name else {
        return Ok(principal);
    };
    let account = format!("{}/", principal.account_id);
    let project = name.strip_prefix(&account).unwrap_or(name);
    match &principal.project_id {
        Some(own) if own == project => Ok(principal),
        Some(own) => Err(Error::forbidden(format!(
            "The credential is for the project {account}{own}, and {PROJECT_HEADER} names another one; leave the header out."
        ))),
        None if principal.administers_account() => {
            check_id("project", project)?;
            Ok(Principal {
                project_id: Some(project.to_owned()),
                ..principal
            })
        }
        None => Err(Error::forbidden(format!(
            "The token is for a whole account, and {PROJECT_HEADER} names a project; that needs the permission account:admin."
        ))),
    }
}

/// Lists projects for a refusal.
fn list(members: &[Member]) -> String {
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
