//! Chooses the answer to a request.

use std::collections::VecDeque;
use std::sync::Arc;

use super::received::Received;
use super::reply::Reply;

pub(super) type Answerer = Arc<dyn Fn(&Received) -> Reply + Send + Sync>;

#[derive(Default)]
pub(super) struct Script {
    pub(super) next: VecDeque<Reply>,
    pub(super) rules: Vec<(String, Reply)>,
    pub(super) otherwise: Option<Answerer>,
    pub(super) received: Vec<Received>,
}

impl Script {
    pub(super) fn reply(&mut self, request: Received) -> Reply {
        let last = request.last();
        let otherwise = self.otherwise.as_ref().map(|answerer| answerer(&request));
        self.received.push(request);
        if let Some(reply) = self.next.pop_front() {
            return reply;
        }
        let rule = self.rules.iter().find(|(text, _)| last.contains(text));
        rule.map(|(_, reply)| reply.clone())
            .or(otherwise)
            .unwrap_or_else(|| {
                Reply::failing(500, "unscripted", "The stand-in has no answer to this request.")
            })
    }
}
