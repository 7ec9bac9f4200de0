//! `ops member`: says which users are members of a project.

use clap::Subcommand;
use identity::check_user;
use identity::records::members::{Member, Members, member_id};
use platform::auth::{Principal, Role};
use platform::http::text::check_name;
use platform::records::audit::AuditAction;
use platform::{Error, Result};
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

/// What to do with the members of the project.
#[derive(Subcommand)]
pub enum MemberCommand {
    /// Makes a user a member, or replaces the roles of a member.
    Add {
        /// User at the identity provider, such as 'auth0|64fe'; `ops whoami` shows the id in a token.
        user_id: String,
        /// Roles, comma-joined: reader, executor, automation, developer, project_admin, account_admin.
        /// Default: those that the member has; developer for a new one.
        #[arg(long, value_delimiter = ',', value_parser = role)]
        roles: Vec<Role>,
        /// Name for people.
        #[arg(long)]
        name: Option<String>,
    },
    /// Lists the members.
    List,
    /// Removes a user from the project.
    Remove { user_id: String },
}

fn role(text: &str) -> std::result::Result<Role, String> {
    text.parse().map_err(|()| {
        let names: Vec<_> = Role::ALL.iter().map(|role| role.as_str()).collect();
        format!("the roles are {}", names.join(", "))
    })
}

pub async fn run(command: MemberCommand, target: &Target, output: Output) -> Result<()> {
    let members = Members::new(target.records.clone());
    match command {
        MemberCommand::Add { user_id, roles, name } => {
            check_user(&user_id)?;
            if let Some(name) = &name {
                check_name("name", name)?;
            }
            let member = add(&members, target, (user_id, roles, name)).await?;
            let line = format!(
                "The user '{}' is a member of {} as {}, within 30 seconds.",
                member.user_id,
                target.tenant,
                names(&member.roles)
            );
            output.print(
                &json!({ "id": member.id, "user_id": member.user_id, "roles": member.roles }),
                &line,
            )
        }
        MemberCommand::List => list(&members, target, output).await,
        MemberCommand::Remove { user_id } => {
            let id = member_id(&user_id);
            let member = members.find(&target.tenant, &id).await?;
            let member = member.ok_or_else(|| {
                Error::invalid(format!("The user '{user_id}' is no member of {}.", target.tenant))
            })?;
            members.remove(&member).await?;
            target.audit(AuditAction::Delete, "member", &id).await?;
            let line = format!("The user '{user_id}' is no member of {} any more.", target.tenant);
            output.print(&json!({ "id": id, "user_id": user_id }), &line)
        }
    }
}

async fn add(
    members: &Members,
    target: &Target,
    (user_id, roles, name): (String, Vec<Role>, Option<String>),
) -> Result<Member> {
    let (id, now) = (member_id(&user_id), target.clock.now());
    let author = Principal::system(&target.tenant).reference();
    let present = members.find(&target.tenant, &id).await?;
    let before = present.clone().unwrap_or_else(|| Member {
        id: id.clone(),
        user_id,
        account_id: target.tenant.account().to_owned(),
        project_id: target.tenant.project().to_owned(),
        roles: vec![Role::Developer],
        name: None,
        version: 0,
        created_at: now,
        created_by: author.clone(),
        updated_at: now,
        updated_by: author.clone(),
    });
    let member = Member {
        roles: match roles.is_empty() {
            true => before.roles.clone(),
            false => roles,
        },
        name: name.or(before.name),
        version: before.version + 1,
        updated_at: now,
        updated_by: author,
        ..before
    };
    let action = match present {
        Some(_) => {
            members.save(&member).await?;
            AuditAction::Update
        }
        None => {
            members.insert(&member).await?;
            AuditAction::Create
        }
    };
    target.audit(action, "member", &id).await?;
    Ok(member)
}

async fn list(members: &Members, target: &Target, output: Output) -> Result<()> {
    let mut rows = members.rows(&target.tenant, None, 1_000);
    let (mut records, mut lines) = (Vec::new(), Vec::new());
    while let Some(member) = rows.next().await? {
        lines.push(format!(
            "{}  {}  {}  {}",
            member.user_id,
            names(&member.roles),
            member.updated_at,
            member.name.as_deref().unwrap_or_default()
        ));
        records.push(
            json!({ "id": member.id, "user_id": member.user_id, "roles": member.roles, "name": member.name }),
        );
    }
    let lines = match lines.is_empty() {
        true => format!("{} has no members.", target.tenant),
        false => lines.join("\n"),
    };
    output.print(&records, &lines)
}

fn names(roles: &[Role]) -> String {
    let names: Vec<_> = roles.iter().map(|role| role.as_str()).collect();
    names.join(",")
}
