//! Tests patterns of callers that are expensive to compile or to compare: those of the filters of `listen`.

use serde_json::{Value, json};
use tests::{Answer, Events};

const SUBSCRIPTIONS: &str = "/events/subscriptions";

/// Definition that waits for an event whose type fits one of the texts.
pub fn waiting_for(types: &[String]) -> Value {
    let filters: Vec<Value> = types
        .iter()
        .map(|kind| json!({ "with": { "type": kind } }))
        .collect();
    json!({
        "document": { "dsl": "1.0.3", "namespace": "shop", "name": "waiting", "version": "1.0.0" },
        "do": [{ "wait": { "listen": { "to": { "any": filters } } } }],
    })
}

/// Subscription that starts a process for each external event.
pub fn subscription(definition: &Value) -> Value {
    json!({
        "name": "Waiting", "run_as_role": "executor",
        "filter": { "event_category": ["external"] },
        "target": { "type": "process", "definition": definition },
    })
}

async fn subscribe(events: &Events, definition: &Value) -> Answer {
    let body = subscription(definition);
    events.post(&events.token, SUBSCRIPTIONS, &body).await
}

/// Returns as many patterns of one form, each with a number of its own.
fn many(count: usize, form: impl Fn(usize) -> String) -> Vec<String> {
    (0..count).map(form).collect()
}

#[tokio::test]
async fn patterns_that_are_many_long_or_large_are_refused_with_their_place() {
    let events = Events::start().await;
    let large = "more than 32 KB once compiled";
    let ascii = "beyond ASCII";
    for (name, types, first, reason) in [
        // The attack that was demonstrated, 6.8 KB.
        (
            "120 Unicode patterns",
            many(120, |number| format!("(\\p{{L}}|\\w){{1,9}}{number}")),
            0,
            ascii,
        ),
        (
            "21 patterns",
            many(21, |number| format!("com\\.shop\\.{number}")),
            20,
            "more than 20 patterns",
        ),
        ("a repeated group", vec!["((a{9}){99}){99}".to_owned()], 0, large),
        (
            "a repeated class",
            vec!["[a-z]?".repeat(3) + "(.{0,999}){9}"],
            0,
            large,
        ),
        (
            "a long pattern",
            vec!["a?".repeat(501)],
            0,
            "at most 1000 are taken",
        ),
        (
            "folded Unicode",
            vec!["(?i)".to_owned() + &"\\p{L}".repeat(190)],
            0,
            ascii,
        ),
        ("a switch to Unicode", vec!["(?u)\\w".to_owned()], 0, ascii),
        (
            "a switch to Unicode in a group",
            vec!["((?iu:\\w))".to_owned()],
            0,
            ascii,
        ),
        ("a class with an umlaut", vec!["[ä]x".to_owned()], 0, ascii),
        (
            "nested groups",
            vec!["(".repeat(400) + &")".repeat(400)],
            0,
            "regular expression",
        ),
        (
            "a back-reference",
            vec!["(a)\\1".to_owned()],
            0,
            "regular expression",
        ),
        ("a look-ahead", vec!["(?=a)a".to_owned()], 0, "regular expression"),
        (
            "an end of a group that it did not begin",
            vec!["a)|(b".to_owned()],
            0,
            "regular expression",
        ),
    ] {
        let refused = subscribe(&events, &waiting_for(&types)).await;
        assert_eq!(refused.status, 400, "{name}: {}", refused.text());
        let faults = refused.body["faults"].as_array().unwrap();
        let pointer = format!("/do/0/wait/listen/to/any/{first}/with/type");
        assert_eq!(faults[0]["pointer"], pointer, "{name}: {}", refused.text());
        let message = faults[0]["message"].as_str().unwrap();
        assert!(message.contains(reason), "{name}: {message}");
    }
}

#[tokio::test]
async fn ordinary_patterns_are_accepted() {
    let events = Events::start().await;
    let mut types = many(12, |number| format!("com\\.shop\\.order-{number}\\..*"));
    for pattern in [
        r"com\.example\.(order|invoice|payment)\.(created|updated|deleted)",
        r"\w+\.\w+\.\w+",
        r"[^.]{1,200}\.received",
        r"(?i)external\..*",
        r"(ä|ö|ü)ber.*",
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"^external$|^internal$",
        "https://shop.example/orders?page=1",
    ] {
        types.push(pattern.to_owned());
    }
    // Texts without a special character are compared, and do not count.
    types.extend(many(200, |number| format!("com.shop.plain-{number}")));
    let answer = subscribe(&events, &waiting_for(&types)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// A definition of the largest size with a pattern in each filter costs no more than one without patterns.
#[tokio::test]
async fn a_definition_of_patterns_costs_as_much_as_a_plain_one_of_its_size_locally() {
    let mut events = Events::start_local().await;
    let patterns = many(1_400, |number| format!("\\w{{1,15}}{number:04}"));
    let plain = many(1_400, |number| format!("wwwwwwww-{number:04}"));
    let mut took = Vec::new();
    // The first round is not measured: it finds empty caches.
    for types in [&plain, &plain, &patterns] {
        let body = waiting_for(types);
        let before = events.service.process().processor_ms();
        for _ in 0..3 {
            let answer = subscribe(&events, &body).await;
            assert!([201, 400].contains(&answer.status), "{}", answer.text());
        }
        took.push(events.service.process().processor_ms().zip(before));
    }
    let took: Option<Vec<u64>> = took
        .into_iter()
        .map(|both| both.map(|(after, before)| after - before))
        .collect();
    if let Some([_, plain, patterns]) = took.as_deref() {
        assert!(
            *patterns < 3 * (*plain).max(10),
            "{patterns} ms beside {plain} ms"
        );
    }
}
