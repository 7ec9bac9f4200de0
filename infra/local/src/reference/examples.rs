//! Examples in the OpenAPI document: for each operation a request and its answer, from the file that is named as the
//! operation. A test sends each request and holds the answer against the file.

use platform::config::ConfigError;
use serde::Deserialize;
use serde_json::{Map, Value};

macro_rules! files {
    ($($operation:ident)*) => {
        [$((stringify!($operation), include_str!(concat!("examples/", stringify!($operation), ".json")))),*]
    };
}

/// Operations, and the texts of their files.
static FILES: [(&str, &str); 63] = files! {
    actOnWorkflowRun
    alterTable
    archiveDashboard
    archiveDataStore
    countPromptFacets
    createChannel
    createDashboard
    createDashboardSnapshot
    createDataStore
    createPrompt
    createStoreSnapshot
    createSubscription
    createTables
    deleteChannel
    deletePrompt
    deleteSubscription
    downloadDataStore
    dropTable
    forkPrompt
    getChannel
    getDashboard
    getDataStore
    getImport
    getPrompt
    getSchema
    getSubscription
    getTable
    getWorkflowRun
    importRows
    ingestEvent
    listAuditEvents
    listChannels
    listConversations
    listDashboardVersions
    listDashboards
    listDataStores
    listPromptForks
    listPromptInteractions
    listPromptVersions
    listPrompts
    listRunUpdates
    listSchemaChanges
    listStoreVersions
    listSubscriptions
    listTables
    listWorkflowRuns
    promoteDashboardVersion
    publishRunUpdate
    queryDataStore
    queryDataStoreBatch
    queryStoreVersion
    queryWorkflowRun
    rollBackDataStore
    searchDeliveries
    setDashboardVersioning
    signalWorkflowRun
    streamRunUpdates
    updateChannel
    updateDashboard
    updatePrompt
    updateSchema
    updateSubscription
    validateQueries
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default)]
    path: Map<String, Value>,
    #[serde(default)]
    query: Map<String, Value>,
    body: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    status: u16,
    /// A text where the answer is not JSON.
    #[serde(default)]
    body: Value,
}

/// Adds the examples to a document. An error where a file is no example.
pub fn add_examples(document: &mut Value) -> Result<(), ConfigError> {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let items = paths.filter_map(|(_, item)| item.as_object_mut());
    for operation in items.flat_map(|item| item.values_mut()) {
        let id = operation["operationId"].as_str();
        let Some((id, text)) = FILES.iter().find(|(name, _)| Some(*name) == id) else {
            continue;
        };
        let example = serde_json::from_str(text)
            .map_err(|error| ConfigError::new(format!("The example {id}.json is not valid: {error}.")))?;
        add(operation, example);
    }
    Ok(())
}

fn add(operation: &mut Value, example: Example) {
    for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
        let given = match parameter["in"].as_str() {
            Some("path") => &example.request.path,
            Some("query") => &example.request.query,
            _ => continue,
        };
        let value = parameter["name"]
            .as_str()
            .and_then(|name| given.get(name))
            .cloned();
        if let (Some(value), Some(parameter)) = (value, parameter.as_object_mut()) {
            parameter.insert("example".to_owned(), value);
        }
    }
    if let Some(body) = example.request.body {
        operation["requestBody"]["content"]["application/json"]["example"] = body;
    }
    let response = &mut operation["responses"][example.response.status.to_string()];
    let media_type = if example.response.body.is_string() {
        "text/event-stream"
    } else {
        "application/json"
    };
    if let Some(content) = response["content"].get_mut(media_type) {
        content["example"] = example.response.body;
    }
}
