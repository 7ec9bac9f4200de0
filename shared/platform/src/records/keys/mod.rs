//! Defines every key of every record.
//!
//! `A` is the account, `P` the project. Ids are UUIDv7, so a listing by id is a listing by age.
//!
//! | question | table | pk | sk |
//! |---|---|---|---|
//! | a prompt template; the templates of a project | records | `A#P#prompts` | `<id>` |
//! | a version of a template; all of them | records | `A#P#prompt#<id>` | `version#<number, 10 digits>` |
//! | the forks of a template | records | `A#P#prompt#<id>` | `fork#<fork id>` |
//! | an interaction | records | `A#P#interactions` | `<id>` |
//! | the interactions of a name | records | `A#P#interaction-names` | `<SHA-256 of the name>#<interaction id>` |
//! | the interactions of one template; of all templates | records | `A#P#prompt-interactions` | `<prompt id>#<interaction id>` |
//! | an API key; the keys of a project | records | `A#P#api-keys` | `<id>` |
//! | a member; the members of a project | records | `A#P#members` | `<SHA-256 of the user id, 32 digits>` |
//! | the memberships of a user in all accounts | records | `*#*#memberships#<the same>` | `A/P` |
//! | a data store; the stores of a project | records | `A#P#stores` | `<id>` |
//! | whether a store's name is taken | records | `A#P#store-names` | `<name, folded>` |
//! | a version of a store; all of them | records | `A#P#store#<id>` | `version#<version id>` |
//! | a snapshot of a store by name; all of them | records | `A#P#store#<id>` | `snapshot#<name, folded>` |
//! | an import of a store | records | `A#P#store#<id>` | `import#<import id>` |
//! | the job of a background import, until it ends | records | `A#P#store#<id>` | `import-job#<import id>` |
//! | the imports that are due | records, due | `imports` | `<time>` |
//! | a dashboard; the dashboards of a store | records | `A#P#dashboards#<store id>` | `<id>` |
//! | whether a dashboard's name is taken in its store | records | `A#P#dashboard-names#<store id>` | `<name, folded>` |
//! | the versions of a dashboard, without their contents | records | `A#P#dashboard#<id>` | `version#<number, 10 digits>` |
//! | the content of a version of a dashboard | records | `A#P#dashboard#<id>` | `content#<version id>` |
//! | whether a snapshot's name is taken in its dashboard | records | `A#P#dashboard#<id>` | `snapshot-name#<name, folded>` |
//! | the state of a run | runs | `A#P#run#<run id>` | `state` |
//! | the events of a run that no longer fit into its state | runs | `A#P#run#<run id>` | `history#<first event, 10 digits>` |
//! | the number of the last update message of a run | runs | `A#P#run#<run id>` | `updates` |
//! | update messages of a run | runs | `A#P#run#<run id>` | `update#<number of the last, 10 digits>` |
//! | the current run of a workflow id | runs | `A#P#workflow#<workflow id>` | `current` |
//! | how many shards a project's listings have | runs or events | `A#P#listing-shards` | `schedule` |
//! | the runs of a project, by time, except those of webhooks | runs, gsi1 | `A#P#runs` | `<start>#<run id>` |
//! | the same of one status, except COMPLETED | runs, gsi2 | `A#P#runs#status#<status>` | `<start>#<run id>` |
//! | the same of one type | runs, gsi3 | `A#P#runs#type#<type>` | `<start>#<run id>` |
//! | the same of one document | runs, gsi4 | `A#P#runs#document#<document id>` | `<start>#<run id>` |
//! | the same of one subscription | runs, gsi5 | `A#P#runs#rule#<subscription id>` | `<start>#<run id>` |
//! | the runs that are due | runs, due | `runs-<shard>` | `<time>` |
//! | the ended runs to remove in steps | runs, due | `run-removals-<shard>` | `<time>` |
//! | a subscription; the subscriptions of a project | records | `A#P#subscriptions` | `<id>` |
//! | how many subscriptions and listeners a project has, and the number of the last change of subscriptions | records | `A#P#subscriptions-changed` | `last` |
//! | a place in the ring of the last changes of a project's subscriptions | records | `A#P#subscription-changes` | `<number, 4 digits>` |
//! | whether a system subscription is replaced | records | `A#P#subscription-overrides` | `<id of the system subscription>` |
//! | a process by name and version; the processes of a project | records | `A#P#processes` | `<namespace>/<name>@<version>` |
//! | the text of a definition of a process | records | `A#P#process-definition#<SHA-256>` | `text` |
//! | a secret of processes or MCP servers; all of them | records | `A#P#process-secrets` | `<name>` |
//! | whether inline definitions of a project may name secrets | records | `A#P#process-settings` | `inline` |
//! | a run that waits for events; all of them | records | `A#P#listeners` | `<run id>#<listener id>` |
//! | an ingest channel; the channels of a project | records | `A#P#channels` | `<id>` |
//! | how many channels a project has, and the number of the last creation or deletion | records | `A#P#channels-changed` | `last` |
//! | an event of the platform | events | `A#P#event#<id>` | `event` |
//! | the unmatched events | events, due | `events-<shard>` | `<time>` |
//! | the events to remove with their details | events, due | `event-removals` | `<time>` |
//! | the events of one request until each is written | events | `A#P#event-batch#<id>` | `batch` |
//! | the batches that are due | events, due | `event-batches-<shard>` | `<time>` |
//! | what a channel refused | events | `A#P#channel-refusals#<channel id>` | `last` |
//! | the refusals by missing channels, which no owner reads | events | `*#*#nowhere-refusals#<SHA-256 of the path>` | `last` |
//! | the event of an idempotency key of a channel | events | `A#P#ingested#<channel id>` | `<SHA-256 of the key>` |
//! | how many events a channel accepted in a window of time | events | `A#P#ingest-count#<channel id>` | `<start in Unix seconds>` |
//! | a delivery | events | `A#P#delivery#<id>` | `delivery` |
//! | the deliveries of a project, by time | events, gsi1 | `A#P#deliveries` | `<creation>#<id>` |
//! | the same of one status, except succeeded, and pending for a webhook | events, gsi2 | `A#P#deliveries#status#<status>` | `<creation>#<id>` |
//! | the same of one subscription | events, gsi3 | `A#P#deliveries#subscription#<id>` | `<creation>#<id>` |
//! | the same of one event | events, gsi4 | `A#P#deliveries#event#<id>` | `<creation>#<id>` |
//! | the deliveries that wait in a lane, by the arrival of their events | events | `A#P#lane#<lane>` | `<time received>#<event id>` |
//! | the second that the next request to a receiver may have | events | `A#P#delivery-rate#<subscription id>` | `next` |
//! | the events of a project that are not archived | events, gsi1 | `A#P#events-tail` | `<time received>#<id>` |
//! | an audit record | audit | `A#P#audit` | `<time>#<id>` |
//! | the audit records of a project that are not archived | audit, gsi1 | `A#P#audit-tail` | `<time>#<id>` |
//! | the state of a log; the logs of an account | events or audit | `A#*#event-logs`, `A#*#audit-logs` | `<P>` |
//! | the logs that are due for the archiver | events or audit, due | `logs` | `<time>` |
//! | a file of a log; the files of a range of days | events or audit | `A#P#event-log-files`, `A#P#audit-log-files` | `<day>#<file id>` |
//!
//! The listings of runs, of deliveries (except those of one event), and of unarchived events have shards
//! (`events::records::listing_shards`). The first shard is as above; in the others `runs`, `deliveries` and
//! `events-tail` become `runs.<shard>` and so on.
//!
//! Neither an account nor a project can contain a `#` (see [`crate::tenant::Tenant`]), so no key of one
//! tenant equals, or is a prefix of, a key of another. `*` replaces the project of records that belong only
//! to an account. Due work is listed for all tenants together, only for the sweeper; each item names its
//! tenant.

mod due;
mod owner;
mod run_listing;

use sha2::{Digest as _, Sha256};

use crate::clock::UtcTime;
use crate::records::store::Key;
use crate::tenant::Tenant;

pub use due::{DUE_SHARDS, DueKind, EVENT_REMOVALS};
pub use owner::is_of;
pub use run_listing::{run_time, runs, runs_by};

fn pk(tenant: &Tenant, rest: &str) -> String {
    format!("{}#{}#{rest}", tenant.account(), tenant.project())
}

pub fn prompts(tenant: &Tenant) -> String {
    pk(tenant, "prompts")
}

pub fn prompt(tenant: &Tenant, id: &str) -> Key {
    Key::new(prompts(tenant), id)
}

pub fn prompt_parts(tenant: &Tenant, id: &str) -> String {
    pk(tenant, &format!("prompt#{id}"))
}

pub const PROMPT_VERSION: &str = "version#";
pub const PROMPT_FORK: &str = "fork#";

pub fn prompt_version(tenant: &Tenant, id: &str, version: u64) -> Key {
    Key::new(prompt_parts(tenant, id), format!("{PROMPT_VERSION}{version:010}"))
}

pub fn prompt_fork(tenant: &Tenant, parent: &str, fork: &str) -> Key {
    Key::new(prompt_parts(tenant, parent), format!("{PROMPT_FORK}{fork}"))
}

pub fn interaction(tenant: &Tenant, id: &str) -> Key {
    Key::new(pk(tenant, "interactions"), id)
}

pub fn interaction_names(tenant: &Tenant) -> String {
    pk(tenant, "interaction-names")
}

/// Hashed, because a name and an id together can exceed the length of a key.
pub fn interaction_name_prefix(name: &str) -> String {
    format!("{}#", hex::encode(Sha256::digest(name.as_bytes())))
}

pub fn interaction_name(tenant: &Tenant, name: &str, id: &str) -> Key {
    Key::new(
        interaction_names(tenant),
        format!("{}{id}", interaction_name_prefix(name)),
    )
}

pub fn prompt_interactions(tenant: &Tenant) -> String {
    pk(tenant, "prompt-interactions")
}

pub fn prompt_interaction(tenant: &Tenant, prompt: &str, interaction: &str) -> Key {
    Key::new(prompt_interactions(tenant), format!("{prompt}#{interaction}"))
}

pub fn api_keys(tenant: &Tenant) -> String {
    pk(tenant, "api-keys")
}

pub fn api_key(tenant: &Tenant, id: &str) -> Key {
    Key::new(api_keys(tenant), id)
}

pub fn members(tenant: &Tenant) -> String {
    pk(tenant, "members")
}

pub fn member(tenant: &Tenant, id: &str) -> Key {
    Key::new(members(tenant), id)
}

/// Partition of a user's memberships in every account. No account is called `*`.
pub fn memberships(member: &str) -> String {
    format!("*#*#memberships#{member}")
}

pub fn membership(member: &str, tenant: &Tenant) -> Key {
    Key::new(memberships(member), tenant.to_string())
}

pub fn stores(tenant: &Tenant) -> String {
    pk(tenant, "stores")
}

pub fn store(tenant: &Tenant, id: &str) -> Key {
    Key::new(stores(tenant), id)
}

pub fn store_name(tenant: &Tenant, name: &str) -> Key {
    Key::new(pk(tenant, "store-names"), name.to_lowercase())
}

pub fn store_parts(tenant: &Tenant, id: &str) -> String {
    pk(tenant, &format!("store#{id}"))
}

pub const STORE_VERSION: &str = "version#";

pub fn store_version(tenant: &Tenant, id: &str, version: &str) -> Key {
    Key::new(store_parts(tenant, id), format!("{STORE_VERSION}{version}"))
}

pub const STORE_SNAPSHOT: &str = "snapshot#";

pub fn store_snapshot(tenant: &Tenant, id: &str, name: &str) -> Key {
    Key::new(
        store_parts(tenant, id),
        format!("{STORE_SNAPSHOT}{}", name.to_lowercase()),
    )
}

pub fn store_import(tenant: &Tenant, id: &str, import: &str) -> Key {
    Key::new(store_parts(tenant, id), format!("import#{import}"))
}

/// Partition of background imports in the index `due`.
pub const DUE_IMPORTS: &str = "imports";

pub fn store_import_job(tenant: &Tenant, id: &str, import: &str) -> Key {
    Key::new(store_parts(tenant, id), format!("import-job#{import}"))
}

pub fn dashboards(tenant: &Tenant, store: &str) -> String {
    pk(tenant, &format!("dashboards#{store}"))
}

pub fn dashboard(tenant: &Tenant, store: &str, id: &str) -> Key {
    Key::new(dashboards(tenant, store), id)
}

pub fn dashboard_name(tenant: &Tenant, store: &str, name: &str) -> Key {
    Key::new(
        pk(tenant, &format!("dashboard-names#{store}")),
        name.to_lowercase(),
    )
}

pub fn dashboard_parts(tenant: &Tenant, id: &str) -> String {
    pk(tenant, &format!("dashboard#{id}"))
}

pub fn dashboard_version_sort(number: u64) -> String {
    format!("version#{number:010}")
}

pub fn dashboard_version(tenant: &Tenant, id: &str, number: u64) -> Key {
    Key::new(dashboard_parts(tenant, id), dashboard_version_sort(number))
}

pub fn dashboard_content(tenant: &Tenant, id: &str, version: &str) -> Key {
    Key::new(dashboard_parts(tenant, id), format!("content#{version}"))
}

pub fn dashboard_snapshot_name(tenant: &Tenant, id: &str, name: &str) -> Key {
    let name = name.to_lowercase();
    Key::new(dashboard_parts(tenant, id), format!("snapshot-name#{name}"))
}

pub fn run_parts(tenant: &Tenant, run: &str) -> String {
    pk(tenant, &format!("run#{run}"))
}

pub fn run(tenant: &Tenant, run: &str) -> Key {
    Key::new(run_parts(tenant, run), "state")
}

/// Parses the account, project and run in a run's partition key.
pub fn run_of(pk: &str) -> Option<(Tenant, &str)> {
    part_of(pk, "run")
}

fn part_of<'a>(pk: &'a str, wanted: &str) -> Option<(Tenant, &'a str)> {
    let mut parts = pk.splitn(4, '#');
    let (account, project, kind, id) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    (kind == wanted).then_some((Tenant::new(account, project).ok()?, id))
}

pub const RUN_HISTORY: &str = "history#";

pub fn run_history(tenant: &Tenant, run: &str, first_event: u64) -> Key {
    Key::new(run_parts(tenant, run), format!("{RUN_HISTORY}{first_event:010}"))
}

pub fn run_updates(tenant: &Tenant, run: &str) -> Key {
    Key::new(run_parts(tenant, run), "updates")
}

pub const RUN_UPDATE: &str = "update#";

pub fn run_update(tenant: &Tenant, run: &str, number: u64) -> Key {
    Key::new(run_parts(tenant, run), format!("{RUN_UPDATE}{number:010}"))
}

pub fn workflow(tenant: &Tenant, workflow_id: &str) -> Key {
    Key::new(pk(tenant, &format!("workflow#{workflow_id}")), "current")
}

/// Key of a project's schedule of shards, in the table of its listings.
pub fn listing_shards(tenant: &Tenant) -> Key {
    Key::new(pk(tenant, "listing-shards"), "schedule")
}

/// Returns the name of a shard. The first shard has the name of a listing without shards.
fn shard_of(listing: &str, shard: u16) -> String {
    match shard {
        0 => listing.to_owned(),
        shard => format!("{listing}.{shard}"),
    }
}

pub fn subscriptions(tenant: &Tenant) -> String {
    pk(tenant, "subscriptions")
}

pub fn subscription(tenant: &Tenant, id: &str) -> Key {
    Key::new(subscriptions(tenant), id)
}

pub fn subscriptions_changed(tenant: &Tenant) -> Key {
    Key::new(pk(tenant, "subscriptions-changed"), "last")
}

/// Key of a place in the ring of the last changes of a project's subscriptions.
pub fn subscription_change(tenant: &Tenant, place: u64) -> Key {
    Key::new(pk(tenant, "subscription-changes"), format!("{place:04}"))
}

pub fn subscription_override(tenant: &Tenant, system: &str) -> Key {
    Key::new(pk(tenant, "subscription-overrides"), system)
}

pub fn processes(tenant: &Tenant) -> String {
    pk(tenant, "processes")
}

/// Returns `namespace/name@`, the prefix of the keys of a process's versions.
pub fn process_versions(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}@")
}

pub fn process(tenant: &Tenant, namespace: &str, name: &str, version: &str) -> Key {
    let versions = process_versions(namespace, name);
    Key::new(processes(tenant), format!("{versions}{version}"))
}

pub fn process_definition(tenant: &Tenant, digest: &str) -> Key {
    Key::new(pk(tenant, &format!("process-definition#{digest}")), "text")
}

pub fn process_secrets(tenant: &Tenant) -> String {
    pk(tenant, "process-secrets")
}

pub fn process_secret(tenant: &Tenant, name: &str) -> Key {
    Key::new(process_secrets(tenant), name)
}

pub fn inline_processes(tenant: &Tenant) -> Key {
    Key::new(pk(tenant, "process-settings"), "inline")
}

pub fn listeners(tenant: &Tenant) -> String {
    pk(tenant, "listeners")
}

pub fn listener(tenant: &Tenant, run: &str, listener: &str) -> Key {
    Key::new(listeners(tenant), format!("{run}#{listener}"))
}

pub fn channels(tenant: &Tenant) -> String {
    pk(tenant, "channels")
}

pub fn channel(tenant: &Tenant, id: &str) -> Key {
    Key::new(channels(tenant), id)
}

pub fn channels_changed(tenant: &Tenant) -> Key {
    Key::new(pk(tenant, "channels-changed"), "last")
}

pub fn ingest_count(tenant: &Tenant, channel: &str, window: i64) -> Key {
    Key::new(pk(tenant, &format!("ingest-count#{channel}")), window.to_string())
}

pub fn ingested(tenant: &Tenant, channel: &str, key_hash: &str) -> Key {
    Key::new(pk(tenant, &format!("ingested#{channel}")), key_hash)
}

pub fn delivery(tenant: &Tenant, id: &str) -> Key {
    Key::new(pk(tenant, &format!("delivery#{id}")), "delivery")
}

pub fn deliveries(tenant: &Tenant, shard: u16) -> String {
    pk(tenant, &shard_of("deliveries", shard))
}

pub fn deliveries_by(tenant: &Tenant, shard: u16, what: &str, value: &str) -> String {
    format!("{}#{what}#{value}", deliveries(tenant, shard))
}

pub fn delivery_time(created: UtcTime, id: &str) -> String {
    format!("{created}#{id}")
}

pub fn lane(tenant: &Tenant, lane: &str) -> String {
    pk(tenant, &format!("lane#{lane}"))
}

pub fn lane_place(tenant: &Tenant, lane: &str, place: &str) -> Key {
    Key::new(self::lane(tenant, lane), place)
}

pub fn delivery_rate(tenant: &Tenant, subscription: &str) -> Key {
    Key::new(pk(tenant, &format!("delivery-rate#{subscription}")), "next")
}

/// Parses the account, project and event in an event's partition key.
pub fn event_of(pk: &str) -> Option<(Tenant, &str)> {
    part_of(pk, "event")
}

pub fn event_batch(tenant: &Tenant, id: &str) -> Key {
    Key::new(pk(tenant, &format!("event-batch#{id}")), "batch")
}

/// Parses the account, project and batch in a batch's partition key.
pub fn event_batch_of(pk: &str) -> Option<(Tenant, &str)> {
    part_of(pk, "event-batch")
}

pub fn channel_refusals(tenant: &Tenant, channel: &str) -> Key {
    Key::new(pk(tenant, &format!("channel-refusals#{channel}")), "last")
}

/// Key of the refusals by a missing channel, which are of no account.
pub fn nowhere_refusals(path: &str) -> Key {
    let hash = hex::encode(Sha256::digest(path.as_bytes()));
    Key::new(format!("*#*#nowhere-refusals#{hash}"), "last")
}

pub fn event(tenant: &Tenant, id: &str) -> Key {
    Key::new(pk(tenant, &format!("event#{id}")), "event")
}

pub fn audit(account: &str, project: Option<&str>) -> String {
    format!("{account}#{}#audit", project.unwrap_or(NO_PROJECT))
}

/// Partition of logs in the index `due`.
pub const DUE_LOGS: &str = "logs";
pub const EVENT_LOGS: &str = "event-logs";
pub const AUDIT_LOGS: &str = "audit-logs";

/// Returns the partition of a listing of a log's records.
pub fn log_tail(account: &str, project: Option<&str>, tail: &str, shard: u16) -> String {
    log_part(account, project, &shard_of(tail, shard))
}

/// Returns a part of the log of a project, or of the account's records without a project.
pub fn log_part(account: &str, project: Option<&str>, part: &str) -> String {
    format!("{account}#{}#{part}", project.unwrap_or(NO_PROJECT))
}

pub fn log_heads(account: &str, logs: &str) -> String {
    log_part(account, None, logs)
}

/// Parses the account, the kind, and the project of a log's head.
pub fn log_of<'a>(pk: &'a str, sk: &'a str) -> Option<(&'a str, &'a str, Option<&'a str>)> {
    let mut parts = pk.splitn(3, '#');
    let (account, _, logs) = (parts.next()?, parts.next()?, parts.next()?);
    Some((account, logs, (sk != NO_PROJECT).then_some(sk)))
}

pub fn log_file_sort(day: &str, file: &str) -> String {
    format!("{day}#{file}")
}

/// Start of the sort keys of files with records from far before or after their day: it sorts after all days.
pub const LATE_LOG_FILES: &str = "late#";

pub fn late_log_file_sort(day: &str, file: &str) -> String {
    format!("{LATE_LOG_FILES}{day}#{file}")
}

/// Replaces the project in keys of data that belongs only to an account.
pub const NO_PROJECT: &str = "*";

pub fn audit_time(time: UtcTime, id: &str) -> String {
    format!("{time}#{id}")
}

#[cfg(test)]
mod tests;
