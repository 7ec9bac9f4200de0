use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::expression::{Comparison, Field, Kind, Test};
use super::literal::Value;
use super::*;

/// Parts of filters, valid and invalid.
const ATOMS: &[&str] = &[
    "WorkflowId",
    "ExecutionStatus",
    "`StartTime`",
    "ExecutionDuration",
    "DocumentId",
    "AND",
    "or",
    "NOT",
    "IN",
    "BETWEEN",
    "STARTS_WITH",
    "IS",
    "NULL",
    "ORDER BY",
    "(",
    ")",
    ",",
    "=",
    "!=",
    "<",
    ">=",
    "!",
    "`",
    "'",
    "\"",
    "'Failed'",
    "'2026-01-31'",
    "'1h30m'",
    "'it''s'",
    "90",
    "-1.5",
    "é",
    ";",
    "WorkflowId = 'a'",
    "ExecutionDuration > 1",
];

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// First and last millisecond of a valid time.
const TIMES: std::ops::RangeInclusive<i64> = -377_705_023_201_000..=253_402_207_200_999;

/// Generates values for a kind of field.
type Values = fn(Kind) -> BoxedStrategy<Value>;

fn any_value(kind: Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Text => ".{0,6}|['\"`\n a]{0,6}".prop_map(Value::Text).boxed(),
        Kind::Status => select(&STATUSES[..]).prop_map(Value::Status).boxed(),
        Kind::Time => TIMES.prop_map(Value::Time).boxed(),
        Kind::Duration => any::<i64>().prop_map(Value::Duration).boxed(),
    }
}

/// Generates few different values, so that filters often match runs.
fn common_value(kind: Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Text => select(&["a", "b"][..])
            .prop_map(|text| Value::Text(text.into()))
            .boxed(),
        Kind::Status => select(&STATUSES[..2]).prop_map(Value::Status).boxed(),
        Kind::Time => (0..4_i64).prop_map(Value::Time).boxed(),
        Kind::Duration => (0..4_i64).prop_map(Value::Duration).boxed(),
    }
}

fn condition(values: Values) -> impl Strategy<Value = Expression> {
    select(&Field::ALL[..]).prop_flat_map(move |field| {
        let kind = field.kind();
        let comparisons = if kind == Kind::Status {
            &COMPARISONS[..2]
        } else {
            &COMPARISONS[..]
        };
        let mut tests = vec![
            (select(comparisons), values(kind))
                .prop_map(|(comparison, value)| Test::Compare(comparison, value))
                .boxed(),
            (any::<bool>(), vec(values(kind), 1..4))
                .prop_map(|(negated, values)| Test::In { negated, values })
                .boxed(),
            any::<bool>().prop_map(|negated| Test::IsNull { negated }).boxed(),
        ];
        if kind != Kind::Status {
            let between = (any::<bool>(), values(kind), values(kind));
            let between = between.prop_map(|(negated, low, high)| Test::Between { negated, low, high });
            tests.push(between.boxed());
        }
        if kind == Kind::Text {
            let starts = (any::<bool>(), ".{0,6}");
            let starts = starts.prop_map(|(negated, prefix)| Test::StartsWith { negated, prefix });
            tests.push(starts.boxed());
        }
        proptest::strategy::Union::new(tests).prop_map(move |test| Expression::Condition(field, test))
    })
}

fn filter(values: Values) -> impl Strategy<Value = Filter> {
    let expression = condition(values).prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 2..4).prop_map(Expression::All),
            1 => vec(inner.clone(), 2..4).prop_map(Expression::Any),
            1 => inner.prop_map(|inner| Expression::Not(Box::new(inner))),
        ]
    });
    option::weighted(0.95, expression).prop_map(|root| Filter { root })
}

/// Conditions joined by `AND`, which narrow a filter.
fn conjunction(values: Values) -> impl Strategy<Value = Filter> {
    vec(condition(values), 2..4).prop_map(|parts| Filter {
        root: Some(Expression::All(parts)),
    })
}

fn common_text() -> impl Strategy<Value = &'static str> {
    select(&["a", "b"][..])
}

fn run() -> impl Strategy<Value = RunFields<'static>> {
    let texts = [(); 3].map(|()| common_text());
    let optional_texts = [(); 4].map(|()| option::of(common_text()));
    let status = select(&STATUSES[..2]);
    (texts, optional_texts, status, 0..4_i64, option::of(0..8_i64)).prop_map(
        |(texts, optional_texts, status, start_time, close_time)| {
            let [workflow_id, run_id, workflow_type] = texts;
            let [initiated_by, document_id, event_name, rule_id] = optional_texts;
            RunFields {
                workflow_id,
                run_id,
                workflow_type,
                status,
                start_time,
                close_time,
                initiated_by,
                document_id,
                event_name,
                rule_id,
            }
        },
    )
}

fn admits(narrowed: &Narrowed, run: &RunFields<'_>) -> bool {
    let is = |wanted: &Option<String>, actual: Option<&str>| wanted.is_none() || wanted.as_deref() == actual;
    narrowed
        .status
        .as_ref()
        .is_none_or(|status| status.contains(&run.status))
        && is(&narrowed.workflow_type, Some(run.workflow_type))
        && is(&narrowed.document_id, run.document_id)
        && is(&narrowed.rule_id, run.rule_id)
        && is(&narrowed.run_id, Some(run.run_id))
        && is(&narrowed.workflow_id, Some(run.workflow_id))
        && narrowed.start_from.is_none_or(|from| from <= run.start_time)
        && narrowed.start_to.is_none_or(|to| run.start_time <= to)
}

/// The position of an error is in the text or right behind it.
fn check_any_text(text: &str) -> Result<(), TestCaseError> {
    if let Err(error) = Filter::parse(text) {
        prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{error}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_a_filter_or_an_error(text in "(?s).{0,60}") {
        check_any_text(&text)?;
    }

    #[test]
    fn any_words_are_a_filter_or_an_error(
        words in vec((select(ATOMS), select(&["", " ", " "][..])), 0..12)
    ) {
        let text: String = words.into_iter().flat_map(|(word, space)| [word, space]).collect();
        check_any_text(&text)?;
    }

    #[test]
    fn a_printed_filter_means_the_same(filter in filter(any_value)) {
        let text = filter.to_string();
        prop_assume!(text.len() <= MAX_BYTES);
        prop_assert_eq!(Filter::parse(&text), Ok(filter), "{}", text);
    }

    #[test]
    fn what_matches_is_not_narrowed_away(
        filter in prop_oneof![filter(common_value), conjunction(common_value)],
        runs in vec(run(), 64),
    ) {
        let narrowed = filter.narrowed();
        for run in runs {
            if filter.matches(&run) {
                prop_assert!(admits(&narrowed, &run), "{} {:?} {:?}", filter, narrowed, run);
            }
        }
    }
}
