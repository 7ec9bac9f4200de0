//! Converts a request to Bedrock's types.

use aws_sdk_bedrockruntime::error::BuildError;
use aws_sdk_bedrockruntime::types as wire;
use models::provider::{Call, Failure};
use models::{Content, Message, ModelError, ModelErrorKind, OutputSchema, Tool, ToolResult};

use super::document::from_json;

/// Inputs of both operations.
pub(super) struct Parts {
    pub(super) system: Option<Vec<wire::SystemContentBlock>>,
    pub(super) messages: Vec<wire::Message>,
    pub(super) inference: Option<wire::InferenceConfiguration>,
    pub(super) tools: Option<wire::ToolConfiguration>,
}

pub(super) fn build(call: &Call<'_>) -> Result<Parts, Failure> {
    built(call).map_err(|_| Failure {
        error: ModelError::new(
            ModelErrorKind::BadRequest,
            "The request to the language model cannot be written in Bedrock's form.",
        ),
        passes: false,
    })
}

fn built(call: &Call<'_>) -> Result<Parts, BuildError> {
    let request = call.request;
    let system = call.system();
    let inference = wire::InferenceConfiguration::builder()
        .set_max_tokens(
            request
                .max_tokens
                .map(|max| i32::try_from(max).unwrap_or(i32::MAX)),
        )
        .set_temperature(request.temperature)
        .build();
    let is_limited = request.max_tokens.is_some() || request.temperature.is_some();
    Ok(Parts {
        system: system.map(|text| vec![wire::SystemContentBlock::Text(text.into_owned())]),
        messages: messages(call)?,
        inference: is_limited.then_some(inference),
        tools: tools(call)?,
    })
}

/// Converts the conversation. Bedrock refuses consecutive messages of one role, and empty ones, so the former
/// are joined and the latter left out.
fn messages(call: &Call<'_>) -> Result<Vec<wire::Message>, BuildError> {
    let mut turns: Vec<(wire::ConversationRole, Vec<wire::ContentBlock>)> = Vec::new();
    for message in call.messages() {
        let (role, blocks) = match message {
            Message::User { text } => (
                wire::ConversationRole::User,
                vec![wire::ContentBlock::Text(text.clone())],
            ),
            Message::Assistant { content } => (wire::ConversationRole::Assistant, assistant(content)?),
            Message::Tool { results } => (
                wire::ConversationRole::User,
                results.iter().map(result).collect::<Result<_, _>>()?,
            ),
        };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, so_far)) if *last == role => so_far.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    turns
        .into_iter()
        .map(|(role, blocks)| {
            let message = wire::Message::builder().role(role);
            message.set_content(Some(blocks)).build()
        })
        .collect()
}

fn assistant(content: &[Content]) -> Result<Vec<wire::ContentBlock>, BuildError> {
    let blocks = content.iter().filter_map(|part| match part {
        Content::Text { text } if text.trim().is_empty() => None,
        Content::Text { text } => Some(Ok(wire::ContentBlock::Text(text.clone()))),
        Content::ToolCall(call) => {
            let block = wire::ToolUseBlock::builder()
                .tool_use_id(&call.id)
                .name(&call.name)
                .input(from_json(&call.arguments));
            Some(block.build().map(wire::ContentBlock::ToolUse))
        }
    });
    blocks.collect()
}

fn result(result: &ToolResult) -> Result<wire::ContentBlock, BuildError> {
    let text = wire::ToolResultContentBlock::Text(result.told());
    let block = wire::ToolResultBlock::builder()
        .tool_use_id(&result.id)
        .content(text);
    block.build().map(wire::ContentBlock::ToolResult)
}

/// Converts the tools, and adds the tool for structured output. The model must call one of them.
fn tools(call: &Call<'_>) -> Result<Option<wire::ToolConfiguration>, BuildError> {
    let own = &call.request.tools;
    let output = call.native_output();
    if own.is_empty() && output.is_none() {
        return Ok(None);
    }
    let mut tools: Vec<wire::Tool> = own.iter().map(tool).collect::<Result<_, _>>()?;
    let choice = match output {
        None => None,
        Some(output) => {
            tools.push(output_tool(output)?);
            Some(if own.is_empty() {
                let choice = wire::SpecificToolChoice::builder().name(&output.name);
                wire::ToolChoice::Tool(choice.build()?)
            } else {
                wire::ToolChoice::Any(wire::AnyToolChoice::builder().build())
            })
        }
    };
    let configuration = wire::ToolConfiguration::builder().set_tools(Some(tools));
    configuration.set_tool_choice(choice).build().map(Some)
}

fn tool(tool: &Tool) -> Result<wire::Tool, BuildError> {
    // Bedrock refuses an empty description.
    let description = Some(tool.description.clone()).filter(|text| !text.trim().is_empty());
    let schema = wire::ToolInputSchema::Json(from_json(&tool.input_schema));
    let specification = wire::ToolSpecification::builder()
        .name(&tool.name)
        .set_description(description)
        .input_schema(schema);
    specification.build().map(wire::Tool::ToolSpec)
}

fn output_tool(output: &OutputSchema) -> Result<wire::Tool, BuildError> {
    let specification = wire::ToolSpecification::builder()
        .name(&output.name)
        .description("Takes your answer. Call it once, when you know the whole answer.")
        .input_schema(wire::ToolInputSchema::Json(from_json(&output.schema)));
    specification.build().map(wire::Tool::ToolSpec)
}
