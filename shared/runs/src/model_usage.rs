//! Publishes the cost of model calls: an event of the category `billing` after each call of a run.

use events::action::INFERENCE_COMPLETED;
use events::envelope::{Category, Envelope, MAX_NAME_BYTES, Meter, RawObject, raw};
use events::publish::Publisher;
use models::Usage;
use platform::{Clock, Result, UtcTime, ids};
use tracing::warn;
use workflow::ActivityContext;

/// Resource type and source of these events.
const RESOURCE_TYPE: &str = "model";
const SOURCE: &str = "inference";

#[derive(Clone)]
pub struct ModelUsage {
    publisher: Publisher,
    provider: &'static str,
    clock: Clock,
}

/// A call that a model answered, or that failed after it had used tokens.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
    /// Number of the call in its attempt, from 1.
    pub number: usize,
    /// Name of the model at its provider.
    pub model: &'a str,
    pub interaction: Option<&'a str>,
    pub usage: Usage,
}

impl ModelUsage {
    /// `provider` is the provider's name in `MILLRACE_MODEL_PROVIDER`.
    pub fn new(publisher: Publisher, provider: &'static str, clock: Clock) -> Self {
        Self {
            publisher,
            provider,
            clock,
        }
    }

    /// Publishes the event of a call, idempotently for repeated attempts. A failure is only logged: the
    /// answer is already paid for, and a retry of the call would cost twice.
    pub async fn publish(&self, context: &ActivityContext, call: &ModelCall<'_>) {
        let published = async {
            let now = self.clock.now();
            let envelope = envelope(context, call, self.provider, now)?;
            self.publisher
                .publish_of_run(&context.tenant, envelope, context.origin(), now)
                .await
        };
        if let Err(cause) = published.await {
            warn!(
                account = context.tenant.account(),
                project = context.tenant.project(),
                run_id = context.run_id,
                model = call.model,
                input_tokens = call.usage.input_tokens,
                output_tokens = call.usage.output_tokens,
                %cause,
                "the tokens of a model call are not on a billing event"
            );
        }
    }
}

fn envelope(
    context: &ActivityContext,
    call: &ModelCall<'_>,
    provider: &str,
    now: UtcTime,
) -> Result<Envelope> {
    let ActivityContext {
        run_id,
        activity_id,
        attempt,
        ..
    } = context;
    let seed = format!("inference#{run_id}#{activity_id}#{attempt}#{}", call.number);
    let mut details = RawObject::from_iter([
        ("workflow_run_id".to_owned(), raw(run_id)?),
        ("workflow_id".to_owned(), raw(&context.workflow_id)?),
        ("model".to_owned(), raw(&call.model)?),
        ("provider".to_owned(), raw(&provider)?),
    ]);
    if let Some(interaction) = call.interaction {
        details.insert("interaction".to_owned(), raw(&interaction)?);
    }
    let meter = |kind: &str, tokens: u64| Meter {
        category: "inference".to_owned(),
        kind: kind.to_owned(),
        quantity: tokens as f64,
    };
    Ok(Envelope {
        event_id: ids::derived_id(context.scheduled_at, &seed),
        event_category: Category::Billing,
        action: INFERENCE_COMPLETED.to_owned(),
        resource_type: RESOURCE_TYPE.to_owned(),
        resource_id: resource_id(call.model),
        account_id: context.tenant.account().to_owned(),
        project_id: context.tenant.project().to_owned(),
        tenant_id: context.principal.as_ref().and_then(|run| run.tenant_id.clone()),
        timestamp: now,
        source: SOURCE.to_owned(),
        resource_data: RawObject::new(),
        details,
        meters: vec![
            meter("input_tokens", call.usage.input_tokens),
            meter("output_tokens", call.usage.output_tokens),
        ],
        traceparent: None,
        tracestate: None,
    })
}

/// Returns the name of a model in the form of a resource id; the event's details hold the whole name.
fn resource_id(model: &str) -> String {
    let printable: String = model
        .chars()
        .filter(|character| !character.is_control())
        .collect();
    let end = printable.floor_char_boundary(MAX_NAME_BYTES);
    match printable.get(..end) {
        None | Some("") => "unknown".to_owned(),
        Some(name) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use workflow::testing::TestRun;
    use workflow::{Context, Failure, Registry};

    use super::*;

    fn call(number: usize) -> ModelCall<'static> {
        ModelCall {
            number,
            model: "m-1",
            interaction: None,
            usage: Usage::default(),
        }
    }

    #[test]
    fn a_call_is_one_event_however_often_its_attempt_is_carried_out() {
        let ask = async |context: ActivityContext, _: Value| {
            let id = |context: &ActivityContext, number, now: u64| {
                let now = UtcTime::EPOCH.plus_ms(now);
                envelope(context, &call(number), "openai", now).map(|envelope| envelope.event_id)
            };
            let ids = [id(&context, 1, 1)?, id(&context, 1, 2)?, id(&context, 2, 1)?];
            match context.attempt {
                1 => Err(Failure::new("Busy", ids.join(" "))),
                _ => Ok(json!(ids)),
            }
        };
        let run = async |context: Context, _: Value| context.activity::<Value>("ask", &()).await;
        let registry = Registry::new().workflow("Asks", run).activity("ask", ask);
        let outcome = TestRun::new(&registry, "Asks", &Value::Null).run().unwrap();
        let ids: [String; 3] = serde_json::from_value(outcome.result.unwrap()).unwrap();
        assert_eq!(ids[0], ids[1]);
        assert_ne!(ids[0], ids[2]);
    }

    #[test]
    fn a_long_or_odd_name_of_a_model_names_the_resource() {
        assert_eq!(resource_id("m-1"), "m-1");
        assert_eq!(resource_id("a\nb"), "ab");
        assert_eq!(resource_id(""), "unknown");
        assert!(resource_id(&"é".repeat(2_000)).len() <= MAX_NAME_BYTES);
    }
}
