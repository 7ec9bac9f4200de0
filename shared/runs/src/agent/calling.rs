//! Carries out the tool calls of a turn, and returns their results to the model.

use std::time::Duration;

use models::{Message, ToolCall, ToolResult};
use serde_json::{Value, json};
use workflow::{Failure, RetryPolicy};

use super::conversing::{Conversing, user_text};
use super::input::USER_INPUT;
use super::tool_call::{Given, TOOL, Wanted};
use super::tools::{self, BuiltIn, Found, ask_user, finish, post_update};

/// Maximum number of tool calls that one turn carries out.
const MAX_CALLS: usize = 16;
/// Number of results that break the output schema after which the run fails; the model may repair the first.
const MAX_FAULTY_RESULTS: u32 = 2;
/// The same call in a row is refused from this repetition on.
const REFUSED_REPEATS: u32 = 3;
/// The run fails at this repetition of the same call.
const MAX_REPEATS: u32 = 6;

pub(super) enum Called {
    Result(ToolResult),
    /// Ends the run with this result.
    Finished(Value),
}

impl Conversing {
    pub(super) async fn call_tools(
        &mut self,
        calls: Vec<ToolCall>,
        text: &str,
    ) -> Result<Option<Value>, Failure> {
        let mut results = Vec::new();
        for (place, call) in calls.into_iter().enumerate() {
            if place >= MAX_CALLS {
                let why =
                    format!("One turn has at most {MAX_CALLS} tool calls. Make this one in the next turn.");
                results.push(refused(&call, why));
                continue;
            }
            match self.call(&call, text).await? {
                Called::Result(result) => results.push(result),
                Called::Finished(result) => return Ok(Some(result)),
            }
        }
        self.push(Message::Tool { results });
        self.hear_after_question();
        Ok(None)
    }

    /// Resets the count of turns after `ask_user`: an answer of the user allows further turns.
    fn hear_after_question(&self) {
        let mut shown = self.shown.borrow_mut();
        if shown.progress.last_tool.as_deref() == Some(ask_user::NAME) {
            shown.progress.iteration = 0;
        }
    }

    async fn call(&mut self, call: &ToolCall, text: &str) -> Result<Called, Failure> {
        let repeats = self.repeats(call);
        let turn = self.shown().progress.turns;
        let Some(found) = tools::find(&self.agent, &call.name) else {
            self.context.publish(
                "PROGRESS",
                "Refuses a tool that the agent does not have.",
                json!({ "turn": turn }),
            );
            if repeats >= MAX_REPEATS {
                return Err(looping());
            }
            return Ok(Called::Result(refused(call, tools::unknown(&call.name))));
        };
        self.shown.borrow_mut().progress.last_tool = Some(call.name.clone());
        let what = format!("Calls the tool {}.", call.name);
        self.context
            .publish("PROGRESS", &what, json!({ "turn": turn, "tool": call.name }));
        if repeats >= MAX_REPEATS {
            return Err(looping());
        }
        if repeats >= REFUSED_REPEATS {
            let why = format!(
                "You made this very call {repeats} times before. Do something else, or end the task."
            );
            return Ok(Called::Result(refused(call, why)));
        }
        match found {
            Found::BuiltIn(BuiltIn::PostUpdate) => Ok(Called::Result(self.post_update(call))),
            Found::BuiltIn(BuiltIn::AskUser) => self.ask(call).await.map(Called::Result),
            Found::BuiltIn(BuiltIn::Finish) => self.finish(call, text).await,
            Found::BuiltIn(tool) => self
                .carry_out(call, tool.is_repeatable())
                .await
                .map(Called::Result),
            Found::Remote(..) => self.carry_out(call, false).await.map(Called::Result),
        }
    }

    /// Returns how often this call was repeated in a row.
    fn repeats(&self, call: &ToolCall) -> u32 {
        let key = format!("{} {}", call.name, call.arguments);
        let mut shown = self.shown.borrow_mut();
        let progress = &mut shown.progress;
        if progress.last_call.as_ref() == Some(&key) {
            progress.repeats += 1;
        } else {
            progress.repeats = 0;
            progress.last_call = Some(key);
        }
        progress.repeats
    }

    async fn carry_out(&self, call: &ToolCall, is_repeatable: bool) -> Result<ToolResult, Failure> {
        self.waits_for(Some("a tool"));
        let wanted = Wanted {
            call: call.clone(),
            agent: self.agent.for_tool(&call.name),
        };
        let retry = RetryPolicy::attempts(if is_repeatable { 4 } else { 1 });
        let calling = self.context.run(TOOL, &wanted).retry(retry);
        let given = match calling.start_to_close(Duration::from_secs(90)).await {
            Ok(given) => given,
            Err(failure) if failure.is_canceled() => return Err(failure),
            Err(failure) => Given {
                text: format!(
                    "The call gave no answer; whether it was carried out is not known. {}: {}",
                    failure.kind, failure.message
                ),
                is_error: true,
            },
        };
        self.waits_for(None);
        Ok(ToolResult {
            id: call.id.clone(),
            text: given.text,
            failed: given.is_error,
        })
    }

    fn post_update(&self, call: &ToolCall) -> ToolResult {
        match post_update::message(&call.arguments) {
            Ok(message) => {
                let details = json!({ "turn": self.shown().progress.turns });
                self.context.publish("AGENT_UPDATE", &message, details);
                ToolResult {
                    id: call.id.clone(),
                    text: "Published.".to_owned(),
                    failed: false,
                }
            }
            Err(refusal) => refused(call, refusal.to_string()),
        }
    }

    async fn ask(&self, call: &ToolCall) -> Result<ToolResult, Failure> {
        let question = match ask_user::question(&call.arguments) {
            Ok(question) => question,
            Err(refusal) => return Ok(refused(call, refusal.to_string())),
        };
        self.context.publish(
            "QUESTION",
            &question,
            json!({ "turn": self.shown().progress.turns }),
        );
        self.waits_for(Some(USER_INPUT));
        let signals = self.context.signals(USER_INPUT);
        let text = loop {
            let text = user_text(signals.receive::<Value>().await?);
            if !text.trim().is_empty() {
                break text;
            }
        };
        self.waits_for(None);
        Ok(ToolResult {
            id: call.id.clone(),
            text: ask_user::result(&text),
            failed: false,
        })
    }

    /// Ends the run with a result that fits the output schema. Fails at the second result that does not fit.
    pub(super) async fn finish(&self, call: &ToolCall, text: &str) -> Result<Called, Failure> {
        if self.agent.output_schema.is_some() {
            let checked = self.carry_out(call, true).await?;
            if checked.failed {
                return self.faulty(checked).map(Called::Result);
            }
        }
        let finished = match finish::finished(&call.arguments) {
            Ok(finished) => finished,
            Err(refusal) => {
                return self
                    .faulty(refused(call, refusal.to_string()))
                    .map(Called::Result);
            }
        };
        let message = finished.message.unwrap_or_else(|| text.to_owned());
        Ok(Called::Finished(
            json!({ "message": message, "output": finished.result }),
        ))
    }

    fn faulty(&self, result: ToolResult) -> Result<ToolResult, Failure> {
        let mut shown = self.shown.borrow_mut();
        shown.progress.faulty_results += 1;
        if shown.progress.faulty_results >= MAX_FAULTY_RESULTS {
            return Err(Failure::permanent(
                "OutputInvalid",
                "The result of the agent breaks the output schema, also after one repair. Simplify the schema or the prompt.",
            ));
        }
        Ok(result)
    }
}

fn refused(call: &ToolCall, text: String) -> ToolResult {
    ToolResult {
        id: call.id.clone(),
        text,
        failed: true,
    }
}

/// The name of the tool is the model's own word, so the failure leaves it out.
fn looping() -> Failure {
    Failure::permanent(
        "ToolLoop",
        "The model made the same call of a tool again and again.",
    )
}
