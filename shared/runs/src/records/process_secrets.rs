//! Stores the secrets of a project: sealed JSON values by name, each bound to what may use it.
//!
//! Definitions of processes and MCP servers of interactions name them; only the worker opens them.

use platform::clock::UtcTime;
use platform::config::Secret;
use platform::error::{Error, Result};
use platform::http::text::check_resource_id;
use platform::records::{Condition, Query, Table, Written, keys};
use platform::sealing::{Place, Sealer};
use platform::tenant::Tenant;
use process::records::processes::ProcessRef;
use prompts::records::interactions::{is_host, is_tool_name};
use serde::{Deserialize, Serialize};

/// Maximum number of processes, of MCP servers and of hosts of a binding.
const MAX_ENTRIES: usize = 50;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessSecret {
    /// Name in `use.secrets` of a definition, or in `headers_secret` of an MCP server.
    pub name: String,
    /// Sealed JSON value.
    pub sealed: String,
    pub binding: Binding,
    /// Time of the last change.
    pub updated_at: UtcTime,
}

/// What may use a secret, and where it may be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Binding {
    /// Processes that may name it, each `namespace/name`.
    pub processes: Vec<String>,
    /// MCP servers that may name it, by their names in interactions.
    pub mcp_servers: Vec<String>,
    /// Each `host` or `host:port`.
    pub hosts: Vec<String>,
}

/// What uses a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder<'a> {
    /// Process, as `namespace/name`.
    Process(&'a str),
    /// MCP server, by its name in the interaction.
    McpServer(&'a str),
}

impl Binding {
    /// 400 for a binding that allows nothing, or names what cannot be.
    pub fn check(&self) -> Result<()> {
        if self.processes.is_empty() && self.mcp_servers.is_empty() {
            return Err(Error::invalid(
                "The secret is for nothing; name each process that may use it as namespace/name, or the MCP server.",
            ));
        }
        if self.hosts.is_empty() {
            return Err(Error::invalid(
                "The secret may be sent nowhere; name each host that it is for, such as api.example.com.",
            ));
        }
        let lists = [&self.processes, &self.mcp_servers, &self.hosts];
        if lists.iter().any(|list| list.len() > MAX_ENTRIES) {
            return Err(Error::invalid(format!(
                "The secret is bound to more than {MAX_ENTRIES} processes, servers or hosts."
            )));
        }
        for process in &self.processes {
            if ProcessRef::parse("for", process)?.version.is_some() {
                return Err(Error::invalid(format!(
                    "The secret is for all versions of a process; write '{process}' without its version."
                )));
            }
        }
        if let Some(server) = self.mcp_servers.iter().find(|server| !is_tool_name(server)) {
            return Err(Error::invalid(format!("'{server}' is no name of an MCP server.")));
        }
        match self.hosts.iter().find(|host| !is_host(host)) {
            Some(host) => Err(Error::invalid(format!(
                "'{host}' is no host; write a host or host:port, such as api.example.com."
            ))),
            None => Ok(()),
        }
    }
}

impl ProcessSecret {
    /// Returns the binding, or why the holder may not use the secret: a sentence with the remedy.
    pub fn binding_for(&self, holder: Holder<'_>) -> Result<&Binding, String> {
        let name = &self.name;
        let binding = &self.binding;
        let (is_bound, what, option) = match holder {
            Holder::Process(process) => (
                binding.processes.iter().any(|bound| bound == process),
                format!("process '{process}'"),
                format!("--for {process}"),
            ),
            Holder::McpServer(server) => (
                binding.mcp_servers.iter().any(|bound| bound == server),
                format!("MCP server '{server}'"),
                format!("--mcp-server {server}"),
            ),
        };
        match is_bound {
            true => Ok(binding),
            false => Err(format!(
                "The secret '{name}' is not for the {what}; the operator binds it anew with 'ops secret bind {name}', with '{option}' beside what \
                 it is for now."
            )),
        }
    }
}

#[derive(Clone)]
pub struct ProcessSecrets {
    table: Table,
}

impl ProcessSecrets {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Seals and stores a value, and replaces an existing one. `json` must be JSON.
    pub async fn set(
        &self,
        sealer: &dyn Sealer,
        tenant: &Tenant,
        (name, json): (&str, &Secret),
        binding: Binding,
        now: UtcTime,
    ) -> Result<()> {
        check_resource_id("name", name)?;
        binding.check()?;
        let place = place_name(name);
        let place = Place { tenant, name: &place };
        let record = ProcessSecret {
            name: name.to_owned(),
            sealed: sealer.seal(place, json).await?,
            binding,
            updated_at: now,
        };
        let key = keys::process_secret(tenant, name);
        match self.table.transaction().replace(&key, &record)?.commit().await? {
            Written::Done => Ok(()),
            _ => Err(busy()),
        }
    }

    /// Replaces the binding of a secret, and keeps its value. 404 for a missing secret.
    pub async fn bind(&self, tenant: &Tenant, name: &str, binding: Binding, now: UtcTime) -> Result<()> {
        binding.check()?;
        let secret = self.find(tenant, name).await?;
        let secret = secret.ok_or_else(|| missing(name))?;
        // A value that was set meanwhile must not be replaced by the one before.
        let same_value = Condition::TextIs("sealed", secret.sealed.clone());
        let record = ProcessSecret {
            binding,
            updated_at: now,
            ..secret
        };
        let key = keys::process_secret(tenant, name);
        if self
            .table
            .put(&key, &record, same_value)
            .await?
            .took_effect("a secret")?
        {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "The secret '{name}' was set or removed meanwhile; bind it again."
        )))
    }

    pub async fn find(&self, tenant: &Tenant, name: &str) -> Result<Option<ProcessSecret>> {
        self.table.find(&keys::process_secret(tenant, name)).await
    }

    /// Returns the JSON text of a secret.
    pub async fn open(&self, sealer: &dyn Sealer, tenant: &Tenant, secret: &ProcessSecret) -> Result<Secret> {
        let place = place_name(&secret.name);
        let place = Place { tenant, name: &place };
        sealer.open(place, &secret.sealed).await
    }

    /// Lists the sealed secrets of a project, by name.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<ProcessSecret>> {
        self.table
            .all(&Query::partition(keys::process_secrets(tenant)))
            .await
    }

    /// 404 for a missing secret.
    pub async fn remove(&self, tenant: &Tenant, name: &str) -> Result<()> {
        let key = keys::process_secret(tenant, name);
        if self
            .table
            .delete(&key, Condition::Present)
            .await?
            .took_effect("a secret")?
        {
            return Ok(());
        }
        Err(missing(name))
    }
}

fn place_name(name: &str) -> String {
    format!("process-secret/{name}")
}

fn missing(name: &str) -> Error {
    Error::not_found("secret", name)
}

fn busy() -> Error {
    Error::unavailable("the secret is changed by others")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    fn binding(processes: &[&str], mcp_servers: &[&str], hosts: &[&str]) -> Binding {
        Binding {
            processes: texts(processes),
            mcp_servers: texts(mcp_servers),
            hosts: texts(hosts),
        }
    }

    #[test]
    fn binding_that_allows_nothing_or_names_what_cannot_be_is_refused() {
        binding(&["shop/order"], &["docs"], &["api.example.com", "[::1]:8080"])
            .check()
            .unwrap();
        for (wrong, words) in [
            (binding(&[], &[], &["api.example.com"]), "for nothing"),
            (binding(&["shop/order"], &[], &[]), "sent nowhere"),
            (binding(&["order"], &[], &["a.example"]), "names no process"),
            (
                binding(&["shop/order@1.0.0"], &[], &["a.example"]),
                "all versions",
            ),
            (binding(&[], &["a b"], &["a.example"]), "no name of an MCP server"),
            (
                binding(&["shop/order"], &[], &["https://a.example/"]),
                "is no host",
            ),
            (binding(&["shop/order"], &[], &["*"]), "is no host"),
            (binding(&["shop/order"; 51], &[], &["a.example"]), "more than 50"),
        ] {
            let refusal = wrong.check().unwrap_err();
            assert!(
                refusal.message().contains(words),
                "{wrong:?}: {}",
                refusal.message()
            );
        }
    }

    #[test]
    fn secret_is_for_its_holders_alone() {
        let bound = ProcessSecret {
            name: "key".to_owned(),
            sealed: "s".to_owned(),
            binding: binding(&["shop/order"], &["docs"], &["a.example"]),
            updated_at: UtcTime::EPOCH,
        };
        bound.binding_for(Holder::Process("shop/order")).unwrap();
        bound.binding_for(Holder::McpServer("docs")).unwrap();
        for holder in [
            Holder::Process("docs"),
            Holder::Process("shop/order2"),
            Holder::McpServer("shop/order"),
            Holder::McpServer("DOCS"),
        ] {
            let refusal = bound.binding_for(holder).unwrap_err();
            assert!(refusal.contains("ops secret bind key"), "{refusal}");
        }
    }
}
