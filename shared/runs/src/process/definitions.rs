//! Loads definitions by activities, so that each replay gets the same text, and compiles each once for all
//! runs.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

use lru::LruCache;
use parking_lot::Mutex;
use process::Definition;
use serde::{Deserialize, Serialize};
use workflow::{ActivityContext, ActivityType, Failure};

use super::services::ProcessServices;

/// Loads the text of a definition by its digest.
pub(super) const LOAD: ActivityType<String, Loaded> = ActivityType::new("process_load");
/// Finds the digest of a named definition.
pub(super) const FIND: ActivityType<Named, Option<String>> = ActivityType::new("process_find");

/// Maximum number of compiled definitions in the cache: each takes up to some megabytes.
const MAX_KEPT: NonZeroUsize = match NonZeroUsize::new(64) {
    Some(most) => most,
    None => NonZeroUsize::MIN,
};

/// Definition, and the account of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Loaded {
    /// Text of the definition; None where it is not stored.
    pub text: Option<String>,
    pub account: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Named {
    pub namespace: String,
    pub name: String,
    /// Version number, or `latest`.
    pub version: String,
}

pub(super) async fn load(
    services: ProcessServices,
    context: ActivityContext,
    digest: String,
) -> Result<Loaded, Failure> {
    Ok(Loaded {
        text: services.definitions.find(&context.tenant, &digest).await?,
        account: context.tenant.account().to_owned(),
    })
}

pub(super) async fn find(
    services: ProcessServices,
    context: ActivityContext,
    named: Named,
) -> Result<Option<String>, Failure> {
    let Named {
        namespace,
        name,
        version,
    } = &named;
    let definitions = &services.definitions;
    let found = definitions
        .digest_of(&context.tenant, namespace, name, version)
        .await;
    Ok(found?)
}

/// Compiles a definition. The error is a sentence for the failure of the run.
pub(super) fn compiled(digest: &str, text: &str) -> Result<Arc<Definition>, String> {
    static KEPT: LazyLock<Mutex<LruCache<String, Arc<Definition>>>> =
        LazyLock::new(|| Mutex::new(LruCache::new(MAX_KEPT)));
    let kept = || KEPT.lock();
    if let Some(definition) = kept().get(digest) {
        return Ok(Arc::clone(definition));
    }
    let definition = process::check(text).map_err(|faults| {
        let first = faults.first().map(ToString::to_string);
        format!("The definition is not valid: {}", first.unwrap_or_default())
    })?;
    let definition = Arc::new(definition);
    kept().put(digest.to_owned(), Arc::clone(&definition));
    Ok(definition)
}
