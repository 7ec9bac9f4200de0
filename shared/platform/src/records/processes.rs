//! Stored processes: definition texts by their digest, and the names that stand for them.
//!
//! A text never changes, so a run that names a digest executes the same definition however long it takes. A
//! name and version stand for one text for good; removing a name leaves the text, which runs may still load.

use std::fmt;

use semver::Version;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::clock::UtcTime;
use crate::error::{Error, Result};
use crate::objects::Objects;
use crate::records::{Condition, Query, Table, Written, keys};
use crate::tenant::Tenant;

/// Texts of more bytes are kept in the bucket: a record takes 400 KB.
const MAX_RECORD_BYTES: usize = 100_000;
/// Longest namespace and name, as the DSL has it.
const MAX_LABEL: usize = 63;
/// Longest version, in characters.
const MAX_VERSION: usize = 100;
/// Processes that an error lists.
const LISTED: usize = 20;

/// A name and version, and the text that they stand for.
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
    /// Size of the text.
    pub bytes: u64,
    /// `document.title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it was stored.
    pub created_at: UtcTime,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.namespace, self.name, self.version)
    }
}

/// A process by name: of one version, or of the highest one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version; None stands for the highest one that there is.
    pub version: Option<String>,
}

impl ProcessRef {
    /// Reads `namespace/name` or `namespace/name@version`. 400 for anything else; `field` is how the caller
    /// knows it.
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
            _ => Err(Error::invalid(format!(
                "The field '{field}' names no process; write namespace/name for the highest version, or namespace/name@version."
            ))),
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

#[derive(Serialize, Deserialize)]
struct TextRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Its place in the bucket, where it is not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// SHA-256 of a text, in hexadecimal digits.
pub fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// The stored processes.
#[derive(Clone)]
pub struct Processes {
    table: Table,
}

impl Processes {
    /// In the table of records.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Keeps a text; its digest. A large text needs the bucket.
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
        match self.table.put(&key, &record, Condition::Absent).await? {
            // Refused: the same text is there.
            Written::Done | Written::Refused { .. } => Ok(digest),
            Written::Contended => Err(busy()),
        }
    }

    /// The text of a digest; None where there is none.
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

    /// Gives a text a name. False where it has the name already; 409 where another text has it.
    pub async fn insert(&self, tenant: &Tenant, process: &Process) -> Result<bool> {
        let key = keys::process(tenant, &process.namespace, &process.name, &process.version);
        match self.table.put(&key, process, Condition::Absent).await? {
            Written::Done => return Ok(true),
            Written::Contended => return Err(busy()),
            Written::Refused { .. } => {}
        }
        match self.table.find::<Process>(&key).await? {
            Some(known) if known.digest == process.digest => Ok(false),
            _ => Err(Error::conflict(format!(
                "The process {process} is stored with another text, and a version never changes; raise 'document.version'."
            ))),
        }
    }

    /// A process; without a version the one of the highest. None where there is none.
    pub async fn find(&self, tenant: &Tenant, process: &ProcessRef) -> Result<Option<Process>> {
        let (namespace, name) = (&process.namespace, &process.name);
        if let Some(version) = &process.version {
            let key = keys::process(tenant, namespace, name, version);
            return self.table.find(&key).await;
        }
        let versions = keys::process_versions(namespace, name);
        let query = Query::partition(keys::processes(tenant)).prefix(versions);
        let versions: Vec<Process> = self.table.all(&query).await?;
        // What is stored has semantic versions.
        Ok(versions
            .into_iter()
            .max_by_key(|process| Version::parse(&process.version).ok()))
    }

    /// A process; 400 with those that there are where it is missing. `field` is how the caller knows it.
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
        Err(Error::invalid(format!(
            "The field '{field}' names the process '{process}', which does not exist; {there}."
        )))
    }

    /// The processes of a project, by name and version.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<Process>> {
        let query = Query::partition(keys::processes(tenant));
        let mut found: Vec<Process> = self.table.all(&query).await?;
        found.sort_by_cached_key(|process| {
            let version = Version::parse(&process.version).ok();
            (process.namespace.clone(), process.name.clone(), version)
        });
        Ok(found)
    }

    /// Removes the name of a process, of one version or of all; those removed. A missing one is a 404.
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
            // Refused: it is gone already.
            if self.table.delete(&key, Condition::Present).await? == Written::Contended {
                return Err(busy());
            }
        }
        Ok(removed)
    }
}

/// With the payloads of runs, because the same functions read it.
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
