//! Stores processes: definition texts by their digest, and the names of these texts.
//!
//! A text never changes, so a run that refers to a digest executes the same definition however long it takes.
//! A name and version always mean the same text; removing a name keeps the text, which runs may still load.

use std::fmt;

use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::objects::Objects;
use platform::records::{Condition, Query, Table, Written, keys};
use platform::tenant::Tenant;
use semver::Version;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Larger texts are stored in the bucket, because a record is limited to 400 KB.
const MAX_RECORD_BYTES: usize = 100_000;
/// Maximum length of a namespace and a name; the limit of the DSL.
const MAX_LABEL: usize = 63;
/// Maximum length of a version, in characters.
const MAX_VERSION: usize = 100;
/// Number of processes that an error lists.
const LISTED: usize = 20;

/// A name and version, with the text that they refer to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// `document.namespace`.
    pub namespace: String,
    /// `document.name`.
    pub name: String,
    /// `document.version`, a semantic version.
    pub version: String,
    /// SHA-256 of the text, in hexadecimal digits.
    pub digest: String,
    pub bytes: u64,
    /// `document.title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub created_at: UtcTime,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.namespace, self.name, self.version)
    }
}

/// A reference to one version of a process, or to its highest version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRef {
    pub namespace: String,
    pub name: String,
    /// None means the highest existing version.
    pub version: Option<String>,
}

impl ProcessRef {
    /// Parses `namespace/name` or `namespace/name@version`. 400 for anything else; `field` is the caller's
    /// name of the field.
    pub fn parse(field: &str, text: &str) -> Result<Self> {
        let (path, version) = match text.split_once('@') {
            Some((path, version)) => (path, Some(version)),
            None => (text, None),
        };
        let is_version = |version: &str| version.len() <= MAX_VERSION && Version::parse(version).is_ok();
        match path.split_once('/') {
            Some((namespace, name))
                if is_label(namespace) && is_label(name) && version.is_none_or(is_version) =>
            {
                Ok(Self {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                    version: version.map(str::to_owned),
                })
            }
            _ => Err(Error::invalid_field(
                field,
                "names no process; write namespace/name for the highest version, or namespace/name@version.",
            )),
        }
    }
}

impl fmt::Display for ProcessRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)?;
        match &self.version {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

fn is_label(text: &str) -> bool {
    (1..=MAX_LABEL).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// What a project allows inline definitions of subscriptions.
#[derive(Default, Serialize, Deserialize)]
struct InlineSettings {
    /// Whether they may name secrets.
    secrets: bool,
}

#[derive(Serialize, Deserialize)]
struct TextRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Object key, if the text is in the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// Returns the SHA-256 of a text, in hexadecimal digits.
pub fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

#[derive(Clone)]
pub struct Processes {
    table: Table,
}

impl Processes {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Stores a text, and returns its digest. A large text goes to the bucket.
    pub async fn insert_text(
        &self,
        tenant: &Tenant,
        objects: Option<&Objects>,
        text: &str,
    ) -> Result<String> {
        let digest = digest(text);
        let mut record = TextRecord {
            text: Some(text.to_owned()),
            key: None,
        };
        if text.len() > MAX_RECORD_BYTES {
            let objects = objects.ok_or_else(|| Error::internal("a large definition without a bucket"))?;
            let key = object_key(tenant, &digest);
            objects.put(&key, text.as_bytes().to_vec()).await?;
            record = TextRecord {
                text: None,
                key: Some(key),
            };
        }
        let key = keys::process_definition(tenant, &digest);
        // Refused: the same text exists.
        self.table
            .put(&key, &record, Condition::Absent)
            .await?
            .took_effect("a process")?;
        Ok(digest)
    }

    /// Returns the text of a digest; None if it does not exist.
    pub async fn text(&self, tenant: &Tenant, objects: &Objects, digest: &str) -> Result<Option<String>> {
        let key = keys::process_definition(tenant, digest);
        let Some(record) = self.table.find::<TextRecord>(&key).await? else {
            return Ok(None);
        };
        let Some(key) = record.key else {
            return Ok(record.text);
        };
        let bytes = objects.find(&key).await?;
        let bytes = bytes.ok_or_else(|| Error::internal(format!("the definition {key} is gone")))?;
        String::from_utf8(bytes).map(Some).map_err(Error::internal)
    }

    /// Names a text. False if the name already refers to it; 409 if the name refers to another text.
    pub async fn insert(&self, tenant: &Tenant, process: &Process) -> Result<bool> {
        let key = keys::process(tenant, &process.namespace, &process.name, &process.version);
        if self
            .table
            .put(&key, process, Condition::Absent)
            .await?
            .took_effect("a process")?
        {
            return Ok(true);
        }
        match self.table.find::<Process>(&key).await? {
            Some(known) if known.digest == process.digest => Ok(false),
            _ => Err(Error::conflict(format!(
                "The process {process} is stored with another text, and a version never changes; raise 'document.version'."
            ))),
        }
    }

    /// Returns a process; without a version, the one with the highest version. None if it does not exist.
    pub async fn find(&self, tenant: &Tenant, process: &ProcessRef) -> Result<Option<Process>> {
        let (namespace, name) = (&process.namespace, &process.name);
        if let Some(version) = &process.version {
            let key = keys::process(tenant, namespace, name, version);
            return self.table.find(&key).await;
        }
        let versions = keys::process_versions(namespace, name);
        let query = Query::partition(keys::processes(tenant)).prefix(versions);
        let versions: Vec<Process> = self.table.all(&query).await?;
        // Stored versions are semantic versions.
        Ok(versions
            .into_iter()
            .max_by_key(|process| Version::parse(&process.version).ok()))
    }

    /// Returns a process. A missing one is a 400 that lists the existing ones; `field` is the caller's name
    /// of the field.
    pub async fn require(&self, tenant: &Tenant, field: &str, process: &ProcessRef) -> Result<Process> {
        if let Some(found) = self.find(tenant, process).await? {
            return Ok(found);
        }
        let there = self.list(tenant).await?;
        let mut names: Vec<String> = there.iter().take(LISTED).map(Process::to_string).collect();
        if there.len() > LISTED {
            names.push(format!("{} more", there.len() - LISTED));
        }
        let there = match names.as_slice() {
            [] => "the project has none".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        Err(Error::invalid_field(
            field,
            format!("names the process '{process}', which does not exist; {there}."),
        ))
    }

    /// Lists the processes of a project, by name and version.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<Process>> {
        let query = Query::partition(keys::processes(tenant));
        let mut found: Vec<Process> = self.table.all(&query).await?;
        found.sort_by_cached_key(|process| {
            let version = Version::parse(&process.version).ok();
            (process.namespace.clone(), process.name.clone(), version)
        });
        Ok(found)
    }

    /// Returns whether inline definitions of the project may name secrets; by default they may not.
    pub async fn allows_inline_secrets(&self, tenant: &Tenant) -> Result<bool> {
        let settings = self.table.find(&keys::inline_processes(tenant)).await?;
        Ok(settings.is_some_and(|settings: InlineSettings| settings.secrets))
    }

    /// Lets inline definitions of the project name secrets, or ends that.
    pub async fn allow_inline_secrets(&self, tenant: &Tenant, secrets: bool) -> Result<()> {
        let settings = InlineSettings { secrets };
        let transaction = self.table.transaction();
        let replaced = transaction.replace(&keys::inline_processes(tenant), &settings)?;
        match replaced.commit().await? {
            Written::Done => Ok(()),
            _ => Err(busy()),
        }
    }

    /// Removes one version of a name or all of them, and returns those removed. 404 if there are none.
    pub async fn remove(&self, tenant: &Tenant, process: &ProcessRef) -> Result<Vec<Process>> {
        let of_name = self.list(tenant).await?.into_iter().filter(|known| {
            known.namespace == process.namespace
                && known.name == process.name
                && process
                    .version
                    .as_ref()
                    .is_none_or(|version| *version == known.version)
        });
        let removed: Vec<Process> = of_name.collect();
        if removed.is_empty() {
            return Err(Error::not_found("process", &process.to_string()));
        }
        for process in &removed {
            let key = keys::process(tenant, &process.namespace, &process.name, &process.version);
            // Refused: already removed.
            self.table
                .delete(&key, Condition::Present)
                .await?
                .took_effect("a process")?;
        }
        Ok(removed)
    }
}

/// Stored with the payloads of runs, because the same functions read both.
fn object_key(tenant: &Tenant, digest: &str) -> String {
    format!(
        "payloads/{}/{}/processes/{digest}",
        tenant.account(),
        tenant.project()
    )
}

fn busy() -> Error {
    Error::unavailable("the processes of the project are changed by too many at once")
}
