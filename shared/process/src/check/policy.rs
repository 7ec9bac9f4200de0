//! Checks errors and retry policies, inline or by name.

use super::Checker;
use crate::data::Data;
use crate::definition::{Backoff, ErrorTemplate, Retry, RetryLimits, Span, Template};
use crate::fault::Place;
use crate::source::Tree;

impl Checker {
    /// Reads an error to raise: an object, or a name from `use.errors`.
    pub(super) fn error(&mut self, at: &Place, tree: &Tree) -> Option<ErrorTemplate> {
        let Tree::Text(name) = tree else {
            return self.error_object(at, tree);
        };
        match self.errors.get(name) {
            Some(error) => error.clone(),
            None => self.unknown_name(at, "error", name, "errors"),
        }
    }

    pub(super) fn error_object(&mut self, at: &Place, tree: &Tree) -> Option<ErrorTemplate> {
        let mut fields = self.fields(at, tree, "an error")?;
        let kind = self.required(&mut fields, "type");
        let kind = kind.and_then(|(at, tree)| self.text_template(&at, tree));
        let status = self.required(&mut fields, "status");
        let status = status.and_then(|(at, tree)| self.status(&at, tree));
        let title = self.optional_text_template(fields.take("title"));
        let detail = self.optional_text_template(fields.take("detail"));
        let instance = self.optional_text_template(fields.take("instance"));
        self.done(&fields, "an error");
        Some(ErrorTemplate {
            kind: kind?,
            status: status?,
            title,
            detail,
            instance,
        })
    }

    pub(super) fn status(&mut self, at: &Place, tree: &Tree) -> Option<Template> {
        match tree {
            Tree::Number(number) if number.parse::<u16>().is_ok() => {
                Some(Template::Constant(Data::from(tree.clone())))
            }
            Tree::Text(_) => match self.template(at, tree)? {
                template @ Template::Expression(_) => Some(template),
                _ => self.refuse(
                    at,
                    "Expected a status such as 400 or an expression ${ … }, found a text.",
                ),
            },
            other => self.refuse(
                at,
                format!(
                    "Expected a status such as 400, found {} that is none.",
                    other.kind()
                ),
            ),
        }
    }

    /// Reads a retry policy: an object, or a name from `use.retries`.
    pub(super) fn retry(&mut self, at: &Place, tree: &Tree) -> Option<Retry> {
        let Tree::Text(name) = tree else {
            return self.retry_object(at, tree);
        };
        match self.retries.get(name) {
            Some(retry) => retry.clone(),
            None => self.unknown_name(at, "retry policy", name, "retries"),
        }
    }

    pub(super) fn retry_object(&mut self, at: &Place, tree: &Tree) -> Option<Retry> {
        let mut fields = self.fields(at, tree, "a retry policy")?;
        let when = self.optional_expression(fields.take("when"));
        let except_when = self.optional_expression(fields.take("exceptWhen"));
        let delay = fields.take("delay").and_then(|(at, tree)| self.span(&at, tree));
        let backoff = fields
            .take("backoff")
            .and_then(|(at, tree)| self.backoff(&at, tree));
        let limits = fields.take("limit").and_then(|(at, tree)| self.limits(&at, tree));
        let jitter = fields.take("jitter").and_then(|(at, tree)| {
            let mut fields = self.fields(&at, tree, "'jitter'")?;
            let from = self.required(&mut fields, "from");
            let from = from.and_then(|(at, tree)| self.span(&at, tree));
            let to = self.required(&mut fields, "to");
            let to = to.and_then(|(at, tree)| self.span(&at, tree));
            self.done(&fields, "'jitter'");
            if let (Some(Span::Fixed(from)), Some(Span::Fixed(to))) = (&from, &to)
                && from > to
            {
                self.report(&at, "The field 'from' is longer than 'to'; exchange them.");
            }
            Some((from?, to?))
        });
        self.done(&fields, "a retry policy");
        Some(Retry {
            when,
            except_when,
            delay,
            backoff: backoff.unwrap_or_default(),
            limits: limits.unwrap_or_default(),
            jitter,
        })
    }

    fn backoff(&mut self, at: &Place, tree: &Tree) -> Option<Backoff> {
        let (name, at, value) = self.named(at, tree, "'backoff'")?;
        let backoff = match name {
            "constant" => Backoff::Constant,
            "linear" => Backoff::Linear,
            "exponential" => Backoff::Exponential,
            _ => {
                let message = format!("Unknown back-off '{name}'; known are: constant, linear, exponential.");
                return self.refuse(&at, message);
            }
        };
        match value {
            Tree::Null => {}
            Tree::Object(fields) if fields.is_empty() => {}
            _ => self.report(
                &at,
                format!("The back-off '{name}' has no settings; write {name}: {{}}."),
            ),
        }
        Some(backoff)
    }

    fn limits(&mut self, at: &Place, tree: &Tree) -> Option<RetryLimits> {
        let mut fields = self.fields(at, tree, "'limit'")?;
        let total = fields
            .take("duration")
            .and_then(|(at, tree)| self.span(&at, tree));
        let mut limits = RetryLimits {
            total,
            ..RetryLimits::default()
        };
        if let Some((at, tree)) = fields.take("attempt")
            && let Some(mut attempt) = self.fields(&at, tree, "'attempt'")
        {
            limits.attempt = attempt
                .take("duration")
                .and_then(|(at, tree)| self.span(&at, tree));
            limits.count = attempt.take("count").and_then(|(at, tree)| match tree {
                Tree::Number(number) if number.parse::<u32>().is_ok() => number.parse().ok(),
                _ => self.refuse(&at, "Expected a whole number of retries."),
            });
            self.done(&attempt, "'attempt'");
        }
        self.done(&fields, "'limit'");
        Some(limits)
    }
}
