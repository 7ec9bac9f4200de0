//! Handles answers that the limit of tokens cuts off: by the choice of the interaction they are marked,
//! continued, or fail the run. An answer that is not whole never looks like one.

use models::Message;
use prompts::records::interactions::TokenLimit;
use serde_json::json;
use workflow::Failure;

use super::conversing::Conversing;
use super::model_turn::MAX_ANSWER_BYTES;

/// Maximum number of times that the model is asked to continue one answer.
const MAX_CONTINUATIONS: u32 = 5;
const CONTINUE: &str = "Your answer was cut off at the limit of tokens. Continue exactly where it ends, and repeat nothing of it.";

/// An answer of the model without a tool call.
pub(super) struct Answered {
    /// With the parts before it, where it was continued.
    pub text: String,
    pub is_cut: bool,
}

impl Conversing {
    /// Publishes that an answer was cut off. Fails where the interaction wants no such answer.
    pub(super) fn warn_of_cut(&self) -> Result<(), Failure> {
        let details = json!({ "turn": self.shown().progress.turns });
        self.context.publish(
            "WARNING",
            "The limit of tokens cut off the model's answer.",
            details,
        );
        match self.agent.on_token_limit {
            TokenLimit::Fail => Err(Failure::permanent(
                "AnswerCutOff",
                "The limit of tokens cut off the model's answer. Raise 'max_output_tokens' of the interaction, ask for less, or let \
                 its 'on_token_limit' be 'continue' or 'mark'.",
            )),
            TokenLimit::Mark | TokenLimit::Continue => Ok(()),
        }
    }

    /// Joins an answer with the parts before it; None where the model is asked to continue it.
    pub(super) fn joined(&self, part: &str, is_cut: bool) -> Option<Answered> {
        let is_continued = {
            let mut shown = self.shown.borrow_mut();
            let progress = &mut shown.progress;
            progress.unfinished.push_str(part);
            let may_continue = self.agent.on_token_limit == TokenLimit::Continue
                && progress.continuations < MAX_CONTINUATIONS
                && progress.unfinished.len() < MAX_ANSWER_BYTES;
            progress.continuations += 1;
            is_cut && may_continue
        };
        if is_continued {
            self.push(Message::user(CONTINUE));
            return None;
        }
        let text = self.forget_unfinished().trim().to_owned();
        Some(Answered { text, is_cut })
    }

    /// Ends the answer that is being continued, and returns its text.
    pub(super) fn forget_unfinished(&self) -> String {
        let mut shown = self.shown.borrow_mut();
        shown.progress.continuations = 0;
        std::mem::take(&mut shown.progress.unfinished)
    }
}
