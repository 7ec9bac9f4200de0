//! Adds examples to the OpenAPI document: for each operation a request and its answer, from the file that is
//! named after the operation. A test sends each request and compares the answer with the file.

use platform::config::ConfigError;
use serde::Deserialize;
use serde_json::{Map, Value};

macro_rules! files {
    ($($operation:ident)*) => {
        [$((stringify!($operation), include_str!(concat!("examples/", stringify!($operation), ".json")))),*]
    };
}

/// Operations, and the contents of their files.
static FILES: [(&str, &str); 90] = files! {
    actOnWorkflowRun
    addMember
    aggregateEvents
    alterTable
    archiveDashboard
    archiveDataStore
    cancelDelivery
    countPromptFacets
    createChannel
    createDashboard
    createDashboardSnapshot
    createDataStore
    createKey
    createPrompt
    createStoreSnapshot
    createSubscription
    createTables
    createUpload
    deleteChannel
    deletePrompt
    deleteSubscription
    downloadDataStore
    dropTable
    forkPrompt
    getChannel
    getDashboard
    getDataStore
    getDelivery
    getEvent
    getImport
    getKey
    getMe
    getMember
    getPrompt
    getPromptVersion
    getSchema
    getSubscription
    getSubscriptionStatistics
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
    listKeys
    listMembers
    listPresets
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
    listWorkflowTypes
    promoteDashboardVersion
    publishPrompt
    publishRunUpdate
    queryDataStore
    queryDataStoreBatch
    queryStoreVersion
    queryWorkflowRun
    redriveDeliveries
    removeMember
    renderPrompt
    retryDelivery
    revokeKey
    rollBackDataStore
    rotateKey
    searchDeliveries
    searchEvents
    sendTestEvent
    setDashboardVersioning
    signalWorkflowRun
    streamRunUpdates
    testFilter
    updateChannel
    updateDashboard
    updateMember
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
    /// A string where the answer is not JSON.
    #[serde(default)]
    body: Value,
}

/// Adds the examples to a document. Fails where a file is not a valid example.
pub fn add_examples(document: &mut Value) -> Result<(), ConfigError> {
    let paths = document.pointer_mut("/paths").and_then(Value::as_object_mut);
    let paths = paths.into_iter().flatten();
    let items = paths.filter_map(|(_, item)| item.as_object_mut());
    for operation in items.flat_map(|item| item.values_mut()) {
        let id = operation.get("operationId").and_then(Value::as_str);
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
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten().filter_map(Value::as_object_mut) {
        let values = match parameter.get("in").and_then(Value::as_str) {
            Some("path") => &example.request.path,
            Some("query") => &example.request.query,
            _ => continue,
        };
        let name = parameter.get("name").and_then(Value::as_str);
        if let Some(value) = name.and_then(|name| values.get(name)) {
            parameter.insert("example".to_owned(), value.clone());
        }
    }
    if let Some(body) = example.request.body {
        add_to(
            operation.pointer_mut("/requestBody/content"),
            "application/json",
            body,
        );
    }
    let content = format!("/responses/{}/content", example.response.status);
    let (media_type, body) = match example.response.body {
        Value::String(events) => ("text/event-stream", last_data(&events)),
        body => ("application/json", body),
    };
    add_to(operation.pointer_mut(&content), media_type, body);
}

fn add_to(content: Option<&mut Value>, media_type: &str, example: Value) {
    let content = content.and_then(|content| content.get_mut(media_type));
    if let Some(content) = content.and_then(Value::as_object_mut) {
        content.insert("example".to_owned(), example);
    }
}

/// Returns the data of the last server-sent event, because the schema describes the data of one event.
fn last_data(events: &str) -> Value {
    let data = events.lines().rev().find_map(|line| line.strip_prefix("data: "));
    data.and_then(|data| serde_json::from_str(data).ok())
        .unwrap_or_default()
}
