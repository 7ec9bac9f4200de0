//! Lists the tools of MCP servers once, when the run starts, and calls them by name.
//!
//! A server is not trusted: its addresses are checked, its responses are limited, and its errors become
//! errors of the tool.

mod credentials;
mod http;
mod naming;

use std::collections::HashSet;
use std::time::Duration;

use platform::Tenant;
use prompts::records::interactions::McpServer;
use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, PaginatedRequestParams};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use tokio::time::timeout;
use workflow::Failure;

use self::credentials::Credentials;
use self::http::Http;
use super::super::definition::RemoteTool;
use super::super::fault::{Fault, Refusal};
use super::super::services::Services;

/// Time limit of a listing and of a call, including the connection.
const DEADLINE: Duration = Duration::from_secs(60);
/// Maximum size of one response of a server.
const MAX_ANSWER_BYTES: usize = 1_000_000;
/// Maximum number of tools of one server, and of pages of its listing.
const MAX_TOOLS: usize = 64;
const MAX_PAGES: usize = 8;
/// Maximum length of a tool's description.
const MAX_DESCRIPTION: usize = 2_000;
/// Maximum size of the schema of a tool's arguments; the model does not get a larger one.
const MAX_SCHEMA_BYTES: usize = 16_000;

/// Lists the tools of a server. Of two tools with one name, the second is left out.
pub async fn list(
    services: &Services,
    tenant: &Tenant,
    server: &McpServer,
) -> Result<Vec<RemoteTool>, Refusal> {
    let credentials = Credentials::read(services, tenant, server).await?;
    let listed = within(DEADLINE, async {
        let client = connect(services, server, &credentials).await?;
        let mut tools = Vec::new();
        let mut page: Option<PaginatedRequestParams> = None;
        for _ in 0..MAX_PAGES {
            let listed = client
                .list_tools(page.take())
                .await
                .map_err(|error| credentials.broken(&error))?;
            tools.extend(listed.tools);
            match listed.next_cursor {
                Some(cursor) if tools.len() < MAX_TOOLS => {
                    page = Some(PaginatedRequestParams::default().with_cursor(Some(cursor)));
                }
                _ => break,
            }
        }
        client.cancel().await.ok();
        Ok(tools)
    });
    let listed = listed
        .await
        .map_err(|refusal| credentials.struck_refusal(refusal))?;
    let mut names = HashSet::new();
    let tools = listed.into_iter().filter_map(|tool| {
        let name = naming::name(&server.name, &tool.name);
        // A name that holds a secret would be kept with the run.
        let holds_secret = credentials.struck(tool.name.to_string()) != tool.name;
        if holds_secret || !names.insert(name.clone()) {
            return None;
        }
        let schema = credentials.struck(Value::from(tool.input_schema.as_ref().clone()).to_string());
        let schema = Some(schema).filter(|schema| schema.len() <= MAX_SCHEMA_BYTES);
        let schema = schema.and_then(|schema| serde_json::from_str(&schema).ok());
        let description = credentials.struck(tool.description.unwrap_or_default().into_owned());
        Some(RemoteTool {
            name,
            server: server.name.clone(),
            remote_name: tool.name.into_owned(),
            description: description.chars().take(MAX_DESCRIPTION).collect(),
            input_schema: schema.unwrap_or_else(|| json!({ "type": "object" })),
        })
    });
    Ok(tools.take(MAX_TOOLS).collect())
}

pub async fn call(
    services: &Services,
    tenant: &Tenant,
    (server, tool): (&McpServer, &RemoteTool),
    arguments: &Value,
) -> Result<String, Fault> {
    let credentials = Credentials::read(services, tenant, server).await?;
    let called = within(DEADLINE, async {
        let client = connect(services, server, &credentials).await?;
        let mut asked = CallToolRequestParams::new(tool.remote_name.clone());
        asked.arguments = arguments.as_object().cloned();
        let result = client
            .peer()
            .call_tool(asked)
            .await
            .map_err(|error| credentials.broken(&error))?;
        client.cancel().await.ok();
        told(result)
    });
    match called.await {
        Ok(text) => {
            let struck = credentials.redaction.aside(move |redaction| redaction.text(text));
            Ok(struck.await.map_err(Failure::from)?)
        }
        Err(refusal) => Err(credentials.struck_refusal(refusal).into()),
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
    let too_slow = || {
        Refusal(format!(
            "The MCP server gave no answer within {} seconds.",
            limit.as_secs()
        ))
    };
    timeout(limit, work).await.unwrap_or_else(|_| Err(too_slow()))
}

async fn connect(
    services: &Services,
    server: &McpServer,
    credentials: &Credentials,
) -> Result<RunningService<RoleClient, ()>, Refusal> {
    let http = Http::new(&services.outbound, credentials, (MAX_ANSWER_BYTES, DEADLINE));
    let config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str());
    let transport = StreamableHttpClientTransport::with_client(http, config);
    ().serve(transport)
        .await
        .map_err(|error| credentials.broken(&error))
}

/// Joins the texts of a result; other content is only mentioned.
fn told(result: CallToolResult) -> Result<String, Refusal> {
    let parts = result.content.iter().map(|part| match part {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(_) => "[an image, which is left out]".to_owned(),
        ContentBlock::Audio(_) => "[a sound, which is left out]".to_owned(),
        _ => "[a resource, which is left out]".to_owned(),
    });
    let mut text = parts.collect::<Vec<_>>().join("\n");
    if let Some(structured) = result.structured_content.filter(|_| text.trim().is_empty()) {
        text = structured.to_string();
    }
    match result.is_error {
        Some(true) => Err(Refusal(text)),
        _ => Ok(text),
    }
}
