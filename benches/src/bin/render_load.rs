//! Measures rendering alone, on one thread: how often per second a template of 1 KB is rendered, compared
//! with the crate `handlebars` on the same template and data. Prints one JSON object for the benchmarks.

use std::io::Write as _;
use std::time::{Duration, Instant};

use handlebars::Handlebars;
use prompts::Templates;
use prompts::records::prompts::ContentType;
use serde_json::{Value, json};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Duration of one turn of a side.
const TURN: Duration = Duration::from_millis(200);
/// Number of turns per side; the first is a warm-up.
const TURNS: usize = 11;
/// Number of renderings between two reads of the clock.
const BATCH: u32 = 500;

const HANDLEBARS: &str = "You are a careful assistant of {{company}}.\n\
    {{#if customer}}The customer is {{customer.name}} of {{customer.country}}, with us since {{customer.since}}.\n\
    {{else}}The customer is unknown.\n{{/if}}\
    Orders:\n{{#each orders}}- {{@index}}: {{this.id}} of {{this.day}}, {{this.total}} {{../currency}}\
    {{#unless this.paid}} (open){{/unless}}\n{{/each}}";
const JST: &str = "You are a careful assistant of ${company}.\n\
    ${customer ? `The customer is ${customer.name} of ${customer.country}, with us since ${customer.since}.` : \
    `The customer is unknown.`}\n\
    Orders:\n- ${orders[0].id} of ${orders[0].day}, ${orders[0].total} ${currency}\n\
    - ${orders[1].id} of ${orders[1].day}, ${orders[1].total} ${currency}\n\
    - ${orders[2].id} of ${orders[2].day}, ${orders[2].total} ${currency}\n";
const INSTRUCTIONS: &str =
    "Answer in at most five sentences, in the language of the question, and say so if you do not know. ";

fn data() -> Value {
    let orders: Vec<_> = (1..=5)
        .map(|number| {
            json!({ "id": format!("A-{number}"), "day": "2026-01-02", "total": number * 1_250, "paid": number % 2 == 0 })
        })
        .collect();
    json!({
        "company": "Example", "currency": "EUR", "orders": orders,
        "customer": { "name": "Ada Lovelace", "country": "PT", "since": 2019 },
    })
}

/// Pads a template to 1 KB.
fn filled_up(head: &str) -> String {
    let mut text = head.to_owned();
    while text.len() < 1_024 {
        text.push_str(INSTRUCTIONS);
    }
    text.truncate(1_024);
    text
}

/// Returns the number of renderings per second.
fn turn(render: &mut dyn FnMut() -> Result<usize, Error>) -> Result<f64, Error> {
    let (began, mut count) = (Instant::now(), 0_u32);
    while began.elapsed() < TURN {
        for _ in 0..BATCH {
            if std::hint::black_box(render()?) == 0 {
                return Err("the text is empty".into());
            }
        }
        count += BATCH;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<(), Error> {
    let data = data();
    let templates = Templates::new(1_024 * 1_024);
    let mut measured = Vec::new();
    for (language, content_type, content) in [
        ("handlebars", ContentType::Handlebars, filled_up(HANDLEBARS)),
        ("jst", ContentType::Jst, filled_up(JST)),
        ("text", ContentType::Text, filled_up(INSTRUCTIONS)),
    ] {
        let mut ours = || -> Result<usize, Error> {
            let text = templates
                .render(content_type, &content, &data)
                .map_err(|error| error.to_string())?;
            Ok(text.len())
        };
        let mut reference = Handlebars::new();
        reference.register_escape_fn(handlebars::no_escape);
        if content_type == ContentType::Handlebars {
            reference.register_template_string("t", &content)?;
        }
        let mut theirs = || -> Result<usize, Error> { Ok(reference.render("t", &data)?.len()) };
        let (mut our_rates, mut their_rates) = (Vec::new(), Vec::new());
        for number in 0..TURNS {
            let rate = turn(&mut ours)?;
            let their_rate = match content_type {
                ContentType::Handlebars => Some(turn(&mut theirs)?),
                ContentType::Jst | ContentType::Text => None,
            };
            if number > 0 {
                our_rates.push(rate);
                their_rates.extend(their_rate);
            }
        }
        let beside = (!their_rates.is_empty()).then(|| median(their_rates));
        measured.push(
            json!({ "language": language, "per_second": median(our_rates), "crate_per_second": beside }),
        );
    }
    let report = json!({ "bytes": 1_024, "templates": measured });
    std::io::stdout().write_all(report.to_string().as_bytes())?;
    Ok(())
}
