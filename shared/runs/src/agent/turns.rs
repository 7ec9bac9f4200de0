//! Runs the loop of a conversation: a model turn, its tool calls, and the next turn.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use models::{Content, Message, StopReason, ToolCall};
use serde_json::{Value, json};
use workflow::{Context, Failure, RetryPolicy};

use super::calling::Called;
use super::conversation::Conversation;
use super::conversing::{Conversing, Shown};
use super::cut_off::Answered;
use super::definition::Agent;
use super::input::{CONVERSATION, Carried, ConversationInput, Progress, USER_INPUT};
use super::model_turn::{ATTEMPT, HEARTBEAT, MODEL_TURN, Turn, Turned, retries};
use super::prepare::{AgentRequest, PREPARE};
use super::shortened::shortened;
use super::tools::finish;

/// The run fails after this many empty answers in a row.
const MAX_EMPTY_ANSWERS: u32 = 3;
/// Number of history events after which the run continues as a new one.
const LONG_HISTORY: u64 = 1_000;
/// Total size of the conversations sent to the model after which the run continues as a new one: the history
/// keeps each of them, and each replay reads all.
const LONG_TURNS_BYTES: usize = 4_000_000;
/// Maximum size of an update message.
const MAX_UPDATE_BYTES: usize = 9_000;

pub async fn run(context: Context, mut input: ConversationInput) -> Result<Value, Failure> {
    let max_iterations = input.max_iterations()?;
    let carried = input.carried.take();
    let shown = Rc::new(RefCell::new(Shown {
        agent_name: input.reference().to_owned(),
        conversation: Conversation::default(),
        progress: Progress::default(),
        waits_for: Some("the agent"),
    }));
    answer_queries(&context, &shown);
    let agent = match carried {
        Some(carried) => {
            let mut shown = shown.borrow_mut();
            shown.conversation = Conversation::from_messages(carried.messages);
            shown.progress = carried.progress;
            carried.agent
        }
        None => prepared(&context, &input, &shown).await?,
    };
    shown.borrow_mut().agent_name.clone_from(&agent.name);
    let conversing = Conversing {
        context,
        input,
        agent,
        shown,
        max_iterations,
        given_bytes: 0,
    };
    conversing.go().await
}

fn answer_queries(context: &Context, shown: &Rc<RefCell<Shown>>) {
    let (messages, state) = (Rc::clone(shown), Rc::clone(shown));
    context.answer(CONVERSATION, move || {
        let shown = messages.borrow();
        json!({ "agent": shown.agent_name, "messages": shown.conversation.shown() })
    });
    context.expose(move || {
        let shown = state.borrow();
        let progress = &shown.progress;
        json!({
            "agent": shown.agent_name,
            "turns": progress.turns,
            "iteration": progress.iteration,
            "last_tool": progress.last_tool,
            "waits_for": shown.waits_for,
            "usage": progress.usage,
        })
    });
}

async fn prepared(
    context: &Context,
    input: &ConversationInput,
    shown: &RefCell<Shown>,
) -> Result<Agent, Failure> {
    let request = AgentRequest {
        reference: input.reference().to_owned(),
        data: input.data.clone(),
    };
    let preparing = context.run(PREPARE, &request).retry(RetryPolicy::attempts(5));
    let prepared = preparing.start_to_close(Duration::from_secs(120)).await?;
    for (server, why) in &prepared.missing_servers {
        let text = format!("The tools of the MCP server '{server}' are missing: {why}");
        context.publish("WARNING", &text, json!({ "server": server }));
    }
    shown.borrow_mut().conversation = Conversation::from_messages(prepared.opening);
    Ok(prepared.agent)
}

impl Conversing {
    async fn go(mut self) -> Result<Value, Failure> {
        loop {
            self.hear();
            if self.context.history_length() > LONG_HISTORY || self.given_bytes > LONG_TURNS_BYTES {
                return Err(self.continued());
            }
            let turned = self.turn().await?;
            let text = self.said(&turned)?;
            let is_cut = turned.stop == StopReason::MaxTokens;
            if is_cut {
                self.warn_of_cut()?;
            }
            let part: String = turned.content.iter().filter_map(Content::text).collect();
            let calls: Vec<ToolCall> = turned
                .content
                .into_iter()
                .filter_map(|part| match part {
                    Content::ToolCall(call) => Some(call),
                    Content::Text { .. } => None,
                })
                .collect();
            let ended = match (calls.is_empty(), text) {
                (false, text) => {
                    self.forget_unfinished();
                    self.call_tools(calls, &text).await?
                }
                (true, text) if text.is_empty() => None,
                (true, _) => match self.joined(&part, is_cut) {
                    Some(answer) => self.answered(&answer).await?,
                    None => None,
                },
            };
            if let Some(result) = ended {
                return Ok(result);
            }
        }
    }

    async fn turn(&mut self) -> Result<Turned, Failure> {
        let turn = {
            let mut shown = self.shown.borrow_mut();
            let shown = &mut *shown;
            if shown.progress.iteration >= self.max_iterations {
                return Err(Failure::permanent(
                    "MaxIterations",
                    format!(
                        "The model took {} turns without coming to an end. Raise 'max_iterations', or give a smaller task.",
                        self.max_iterations
                    ),
                ));
            }
            shown.conversation.fit()?;
            shown.progress.iteration += 1;
            shown.progress.turns += 1;
            shown.waits_for = Some("the model");
            self.given_bytes += shown.conversation.bytes();
            Turn {
                number: shown.progress.turns,
                agent: self.agent.clone(),
                messages: shown.conversation.messages().to_vec(),
            }
        };
        let what = format!("Turn {}: the model is asked.", turn.number);
        self.context
            .publish("PROGRESS", &what, json!({ "turn": turn.number }));
        let activity = self.context.run(MODEL_TURN, &turn).start_to_close(ATTEMPT);
        let turned = activity.heartbeat(HEARTBEAT).retry(retries()).await?;
        let mut shown = self.shown.borrow_mut();
        shown.progress.usage += turned.usage;
        shown.waits_for = None;
        drop(shown);
        Ok(turned)
    }

    /// Adds the answer of the model to the conversation and returns its text. Fails where the model refuses,
    /// or after several empty answers in a row.
    fn said(&self, turned: &Turned) -> Result<String, Failure> {
        let has_calls = turned.content.iter().any(|part| part.text().is_none());
        let text: String = turned.content.iter().filter_map(Content::text).collect();
        let text = text.trim().to_owned();
        if turned.stop == StopReason::Refused {
            return Err(Failure::permanent(
                "ModelRefused",
                "The model, or a filter of its provider, refused to answer. Change the prompts or the data.",
            ));
        }
        if !text.is_empty() || has_calls {
            self.push(Message::Assistant {
                content: turned.content.clone(),
            });
            self.shown.borrow_mut().progress.empty_answers = 0;
            return Ok(text);
        }
        let empty_answers = {
            let mut shown = self.shown.borrow_mut();
            shown.progress.empty_answers += 1;
            shown.progress.empty_answers
        };
        if empty_answers >= MAX_EMPTY_ANSWERS {
            return Err(Failure::permanent(
                "EmptyAnswer",
                format!("The model gave {empty_answers} empty answers in a row."),
            ));
        }
        self.push(Message::user(
            "Your last answer was empty. Answer, or call a tool.",
        ));
        Ok(text)
    }

    /// Handles an answer without a tool call: waits for the user where the run is interactive, else ends the
    /// run.
    async fn answered(&mut self, answer: &Answered) -> Result<Option<Value>, Failure> {
        let text = answer.text.as_str();
        let mut details = json!({ "turn": self.shown().progress.turns });
        mark(&mut details, answer);
        let shown = shortened(
            text.to_owned(),
            MAX_UPDATE_BYTES,
            "the query 'Conversation' answers all of it",
        );
        self.context.publish("MESSAGE", &shown, details);
        if self.input.interactive {
            self.listen().await?;
            return Ok(None);
        }
        let unread = self.context.signals(USER_INPUT).try_receive::<Value>();
        if unread.is_some_and(|signal| self.heard(signal.unwrap_or_default())) {
            return Ok(None);
        }
        if self.agent.output_schema.is_none() {
            let mut result = json!({ "message": text });
            mark(&mut result, answer);
            return Ok(Some(result));
        }
        // Some models write the result instead of calling 'finish'.
        let result = serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
        let arguments = json!({ "result": result });
        let call = ToolCall {
            id: "answer".to_owned(),
            name: finish::NAME.to_owned(),
            arguments,
        };
        match self.finish(&call, "").await? {
            Called::Finished(mut result) => {
                mark(&mut result, answer);
                Ok(Some(result))
            }
            Called::Result(refused) => {
                self.push(Message::user(refused.text));
                Ok(None)
            }
        }
    }

    fn continued(&self) -> Failure {
        let shown = self.shown();
        let input = ConversationInput {
            carried: Some(Box::new(Carried {
                agent: self.agent.clone(),
                messages: shown.conversation.messages().to_vec(),
                progress: shown.progress.clone(),
            })),
            // The prompts are already rendered.
            data: serde_json::Map::new(),
            ..self.input.clone()
        };
        self.context.continue_as_new(&input)
    }
}

/// Marks what is made of an answer that is not whole.
fn mark(shown: &mut Value, answer: &Answered) {
    if answer.is_cut {
        shown["truncated"] = true.into();
    }
}
