//! Every key of every record, written once.
//!
//! `A` is the account, `P` the project. Ids are UUIDv7, so a listing by id is a listing by age.
//!
//! | question | table | pk | sk |
//! |---|---|---|---|
//! | a prompt template; the templates of a project | records | `A#P#prompts` | `<id>` |
//! | a version of a template; all of them | records | `A#P#prompt#<id>` | `version#<number, 10 digits>` |
//! | the forks of a template | records | `A#P#prompt#<id>` | `fork#<fork id>` |
//! | an interaction | records | `A#P#interactions` | `<id>` |
//! | the interactions of one template; of all templates | records | `A#P#prompt-interactions` | `<prompt id>#<interaction id>` |
//! | an API key; the keys of a project | records | `A#P#api-keys` | `<id>` |
//! | a data store; the stores of a project | records | `A#P#stores` | `<id>` |
//! | whether a store's name is taken | records | `A#P#store-names` | `<name, folded>` |
//! | a version of a store; all of them | records | `A#P#store#<id>` | `version#<version id>` |
//! | a snapshot of a store by name; all of them | records | `A#P#store#<id>` | `snapshot#<name, folded>` |
//! | an import of a store | records | `A#P#store#<id>` | `import#<import id>` |
//! | the work of an import in the background, until it is over | records | `A#P#store#<id>` | `import-job#<import id>` |
//! | the imports that somebody should look at | records, due | `imports` | `<time>` |
//! | a dashboard; the dashboards of a store | records | `A#P#dashboards#<store id>` | `<id>` |
//! | whether a dashboard's name is taken in its store | records | `A#P#dashboard-names#<store id>` | `<name, folded>` |
//! | the versions of a dashboard, without their contents | records | `A#P#dashboard#<id>` | `version#<number, 10 digits>` |
//! | the content of a version of a dashboard | records | `A#P#dashboard#<id>` | `content#<version id>` |
//! | whether a snapshot's name is taken in its dashboard | records | `A#P#dashboard#<id>` | `snapshot-name#<name, folded>` |
//! | the audit records of a project, by time | audit | `A#P#audit` | `<time>#<id>` |
//! | the audit records of an account, by time | audit, gsi1 | `A#*#audit` | `<time>#<id>` |
//!
//! Neither an account nor a project can hold a `#` (see [`crate::tenant::Tenant`]), so no key of one tenant is a key, or the
//! beginning of one, of another. `*` stands where an account has no project. What is due is one list for all tenants, for the
//! sweeper alone; each item names its tenant.

use crate::clock::UtcTime;
use crate::records::table::Key;
use crate::tenant::Tenant;

fn pk(tenant: &Tenant, rest: &str) -> String {
    format!("{}#{}#{rest}", tenant.account(), tenant.project())
}

pub(crate) fn prompts(tenant: &Tenant) -> String {
    pk(tenant, "prompts")
}

pub(crate) fn prompt(tenant: &Tenant, id: &str) -> Key {
    Key::new(prompts(tenant), id)
}

pub(crate) fn prompt_parts(tenant: &Tenant, id: &str) -> String {
    pk(tenant, &format!("prompt#{id}"))
}

pub(crate) const PROMPT_VERSION: &str = "version#";
pub(crate) const PROMPT_FORK: &str = "fork#";

pub(crate) fn prompt_version(tenant: &Tenant, id: &str, version: u64) -> Key {
    Key::new(prompt_parts(tenant, id), format!("{PROMPT_VERSION}{version:010}"))
}

pub(crate) fn prompt_fork(tenant: &Tenant, parent: &str, fork: &str) -> Key {
    Key::new(prompt_parts(tenant, parent), format!("{PROMPT_FORK}{fork}"))
}

pub(crate) fn interaction(tenant: &Tenant, id: &str) -> Key {
    Key::new(pk(tenant, "interactions"), id)
}

pub(crate) fn prompt_interactions(tenant: &Tenant) -> String {
    pk(tenant, "prompt-interactions")
}

pub(crate) fn prompt_interaction(tenant: &Tenant, prompt: &str, interaction: &str) -> Key {
    Key::new(prompt_interactions(tenant), format!("{prompt}#{interaction}"))
}

pub(crate) fn api_keys(tenant: &Tenant) -> String {
    pk(tenant, "api-keys")
}

pub(crate) fn api_key(tenant: &Tenant, id: &str) -> Key {
    Key::new(api_keys(tenant), id)
}

pub(crate) fn stores(tenant: &Tenant) -> String {
    pk(tenant, "stores")
}

pub(crate) fn store(tenant: &Tenant, id: &str) -> Key {
    Key::new(stores(tenant), id)
}

pub(crate) fn store_name(tenant: &Tenant, name: &str) -> Key {
    Key::new(pk(tenant, "store-names"), name.to_lowercase())
}

pub(crate) fn store_parts(tenant: &Tenant, id: &str) -> String {
    pk(tenant, &format!("store#{id}"))
}

pub(crate) const STORE_VERSION: &str = "version#";

pub(crate) fn store_version(tenant: &Tenant, id: &str, version: &str) -> Key {
    Key::new(store_parts(tenant, id), format!("{STORE_VERSION}{version}"))
}

pub(crate) const STORE_SNAPSHOT: &str = "snapshot#";

pub(crate) fn store_snapshot(tenant: &Tenant, id: &str, name: &str) -> Key {
    Key::new(
        store_parts(tenant, id),
        format!("{STORE_SNAPSHOT}{}", name.to_lowercase()),
    )
}

pub(crate) fn store_import(tenant: &Tenant, id: &str, import: &str) -> Key {
    Key::new(store_parts(tenant, id), format!("import#{import}"))
}

/// The kind of unfinished work that imports in the background are.
pub(crate) const DUE_IMPORTS: &str = "imports";

pub(crate) fn store_import_job(tenant: &Tenant, id: &str, import: &str) -> Key {
    Key::new(store_parts(tenant, id), format!("import-job#{import}"))
}

pub(crate) fn dashboards(tenant: &Tenant, store: &str) -> String {
    pk(tenant, &format!("dashboards#{store}"))
}

pub(crate) fn dashboard(tenant: &Tenant, store: &str, id: &str) -> Key {
    Key::new(dashboards(tenant, store), id)
}

pub(crate) fn dashboard_name(tenant: &Tenant, store: &str, name: &str) -> Key {
    Key::new(
        pk(tenant, &format!("dashboard-names#{store}")),
        name.to_lowercase(),
    )
}

pub(crate) fn dashboard_parts(tenant: &Tenant, id: &str) -> String {
    pk(tenant, &format!("dashboard#{id}"))
}

pub(crate) fn dashboard_version_sort(number: u64) -> String {
    format!("version#{number:010}")
}

pub(crate) fn dashboard_version(tenant: &Tenant, id: &str, number: u64) -> Key {
    Key::new(dashboard_parts(tenant, id), dashboard_version_sort(number))
}

pub(crate) fn dashboard_content(tenant: &Tenant, id: &str, version: &str) -> Key {
    Key::new(dashboard_parts(tenant, id), format!("content#{version}"))
}

pub(crate) fn dashboard_snapshot_name(tenant: &Tenant, id: &str, name: &str) -> Key {
    let name = name.to_lowercase();
    Key::new(dashboard_parts(tenant, id), format!("snapshot-name#{name}"))
}

pub(crate) fn audit(account: &str, project: Option<&str>) -> String {
    format!("{account}#{}#audit", project.unwrap_or("*"))
}

pub(crate) fn audit_of_account(account: &str) -> String {
    format!("{account}#*#audit")
}

pub(crate) fn audit_time(time: UtcTime, id: &str) -> String {
    format!("{time}#{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_begins_with_account_and_project() {
        let tenant = Tenant::new("acme", "demo").unwrap();
        let keys = [
            prompt(&tenant, "x").pk,
            prompt_version(&tenant, "x", 1).pk,
            prompt_fork(&tenant, "x", "y").pk,
            interaction(&tenant, "x").pk,
            prompt_interaction(&tenant, "x", "y").pk,
            api_key(&tenant, "x").pk,
            store(&tenant, "x").pk,
            store_name(&tenant, "x").pk,
            store_version(&tenant, "x", "y").pk,
            store_snapshot(&tenant, "x", "y").pk,
            store_import(&tenant, "x", "y").pk,
            store_import_job(&tenant, "x", "y").pk,
            dashboard(&tenant, "x", "y").pk,
            dashboard_name(&tenant, "x", "y").pk,
            dashboard_version(&tenant, "x", 1).pk,
            dashboard_content(&tenant, "x", "y").pk,
            dashboard_snapshot_name(&tenant, "x", "y").pk,
            audit("acme", Some("demo")),
        ];
        assert!(keys.iter().all(|pk| pk.starts_with("acme#demo#")), "{keys:?}");
    }

    #[test]
    fn versions_sort_as_numbers() {
        let tenant = Tenant::new("acme", "demo").unwrap();
        assert!(prompt_version(&tenant, "x", 9).sk < prompt_version(&tenant, "x", 10).sk);
    }
}
