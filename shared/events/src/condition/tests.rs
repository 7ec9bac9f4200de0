#![cfg(test)]

use serde_json::{Value, json};

use super::*;

const EVENT: &str = r#"{"event_id":"e","action":"opened","resource_data":{"metadata":{"type":"invoice"}},"details":{"payload":{"n":7,"name":"Ada","empty":null,"items":[{"price":2,"tags":["a","b"]},{"price":30,"tags":[]}]}}}"#;

fn compile(rule: Value) -> Result<Condition> {
    let Value::Object(rule) = rule else {
        panic!("{rule}")
    };
    Condition::compile(&rule)
}

fn holds(rule: Value) -> std::result::Result<bool, Unanswered> {
    compile(rule).unwrap().holds(&mut Subject::new(EVENT).unwrap())
}

#[test]
fn conditions_say_what_jsonlogic_says() {
    for (rule, expected) in [
        (json!({"==": [{"var": "action"}, "opened"]}), true),
        (json!({"===": [{"var": "details.payload.n"}, 7]}), true),
        (json!({"==": [{"var": "details.payload.n"}, "7"]}), true),
        (json!({"===": [{"var": "details.payload.n"}, "7"]}), false),
        (
            json!({"==": [{"var": "resource_data.metadata.type"}, "invoice"]}),
            true,
        ),
        (json!({"var": "details.payload.nothing"}), false),
        (json!({"var": ["details.payload.nothing", "default"]}), true),
        (json!({"!": {"var": "details.payload.empty"}}), true),
        (
            json!({"and": [{">": [{"var": "details.payload.n"}, 3]}, {"<": [1, {"var": "details.payload.n"}, 9]}]}),
            true,
        ),
        (json!({"in": ["Ad", {"var": "details.payload.name"}]}), true),
        (json!({"in": [{"var": "action"}, ["closed", "opened"]]}), true),
        (json!({"missing": ["action", "nothing"]}), true),
        (json!({"missing": ["action"]}), false),
        (json!({"missing_some": [1, ["action", "nothing"]]}), false),
        (
            json!({"some": [{"var": "details.payload.items"}, {">": [{"var": "price"}, 20]}]}),
            true,
        ),
        (
            json!({"all": [{"var": "details.payload.items"}, {">": [{"var": "price"}, 20]}]}),
            false,
        ),
        (
            json!({"none": [{"var": "details.payload.items"}, {"==": [{"var": "price"}, 3]}]}),
            true,
        ),
        (
            json!({">": [{"reduce": [{"var": "details.payload.items"}, {"+": [{"var": "accumulator"}, {"var": "current.price"}]}, 0]}, 31]}),
            true,
        ),
        (
            json!({"==": [{"map": [{"var": "details.payload.items"}, {"var": "price"}]}, [2, 30]]}),
            false,
        ),
        (
            json!({"filter": [{"var": "details.payload.items"}, {"var": "tags"}]}),
            true,
        ),
        (
            json!({"==": [{"cat": ["x-", {"var": "action"}]}, "x-opened"]}),
            true,
        ),
        (json!({"==": [{"substr": ["jsonlogic", 4]}, "logic"]}), true),
        (json!({"if": [{"var": "details.payload.n"}, false, true]}), false),
        (
            json!({"merge": [[], {"var": "details.payload.items.0.tags"}]}),
            true,
        ),
        // Values that are no numbers, and values that cannot be divided or compared.
        (json!({"+": [{"var": "action"}, 1]}), false),
        (json!({"==": [{"var": "details"}, 7]}), false),
        (json!({"==": [{"var": "details.payload.nothing"}, false]}), false),
        (json!({"==": [{"var": "details.payload.nothing"}, 0]}), false),
        (json!({"==": [{"var": "details.payload.nothing"}, null]}), true),
        (json!({"!=": [{"var": "details.payload.empty"}, ""]}), true),
        (json!({">": [{"var": "details.payload.items.length"}, 1]}), true),
        (json!({"and": {"==": [1, 1]}}), true),
        (json!({"missing": ["details.payload.empty"]}), true),
        (json!({"!!": [{"var": "details.payload"}]}), true),
        (json!({"==": [{"+": ["5 items", "1"]}, 6]}), true),
        (
            json!({"==": [{"cat": [{"var": "details.payload.items.0.tags"}]}, "a,b"]}),
            true,
        ),
        (json!({"==": [{"max": ["19.99", "5.00", null]}, 19.99]}), true),
        (json!({"==": [{"substr": ["a😀b", 1, 2]}, "😀"]}), true),
        (json!({"log": true}), true),
        (json!({">": [{"var": "nothing"}, {"var": "details"}]}), false),
        (
            json!({"or": [{">": [{"var": "action"}, 5]}, {"==": [{"var": "action"}, "opened"]}]}),
            true,
        ),
        (json!({"!": {">": [{"var": "details"}, 5]}}), true),
        (json!({"/": [1, 0]}), true),
        (json!({"max": ["x", 1]}), false),
        (json!({"<": [1, "x", 3]}), false),
    ] {
        assert_eq!(holds(rule.clone()), Ok(expected), "{rule}");
    }
}

#[test]
fn conditions_that_cannot_work_are_refused() {
    let nested = |depth: usize| (0..depth).fold(json!({"var": "a"}), |inner, _| json!({"!": inner}));
    let wide = |count: usize| json!({"or": vec![json!({"var": "a"}); count]});
    for (rule, why) in [
        (
            json!({"equals": [1, 1]}),
            "has the operator 'equals', which JSONLogic does not know.",
        ),
        (
            json!({"and": [{"==": [1, 1]}, {"regex": ["a", "b"]}]}),
            "has the operator 'regex', which JSONLogic does not know.",
        ),
        (
            json!({"==": [1, 1], "!=": [1, 1]}),
            "has an object that is no operation;",
        ),
        (
            json!({"<": [1]}),
            "has the operator '<' with fewer arguments than it needs.",
        ),
        (
            json!({"map": {"var": "a"}}),
            "has the operator 'map' with fewer arguments than it needs.",
        ),
        (json!({"==": [{}, 1]}), "has an object that is no operation;"),
        (nested(40), "nests deeper than 32 levels."),
        (wide(1_100), "is made of more than 2000 values."),
        (
            json!({"==": ["x".repeat(40_000), 1]}),
            "has more than 32768 bytes.",
        ),
    ] {
        let refusal = compile(rule).err().expect(why);
        let expected = format!("The condition in 'filter.condition' {why}");
        assert!(refusal.message().starts_with(&expected), "{}", refusal.message());
    }
}

/// An event with a long array and a long text.
fn large() -> Subject {
    let numbers = vec!["1"; 20_000].join(",");
    let text = format!(
        r#"{{"action":"{}","details":{{"numbers":[{numbers}]}}}}"#,
        "x".repeat(100_000)
    );
    Subject::new(&text).unwrap()
}

#[test]
fn condition_that_exceeds_its_budget_has_no_result() {
    let numbers = json!({"var": "details.numbers"});
    let ints: Vec<u32> = (0..900).collect();
    let text = "y".repeat(20_000);
    for rule in [
        json!({"cat": vec![json!({"var": "details.numbers"}); 300]}),
        json!({"map": [ints, {"map": [ints, {"cat": [text, {"var": ""}]}]}]}),
        json!({"none": [ints, {"some": [ints, {"in": [{"var": ""}, text]}]}]}),
        json!({"map": [numbers, {"map": [ints, {"cat": [{"var": ""}, text]}]}]}),
        json!({"none": [{"map": [numbers, text]}, {"in": ["yyyyyyyz", {"var": ""}]}]}),
        json!({"reduce": [numbers, {"cat": [{"var": "accumulator"}, {"var": "accumulator"}]}, "x"]}),
        json!({"reduce": [numbers, {"merge": [{"var": "accumulator"}, {"var": "accumulator"}]}, [1]]}),
        json!({"==": [{ "+": vec![json!({"+": {"var": "details.numbers"}}); 600] }, 1]}),
    ] {
        let condition = compile(rule.clone()).unwrap();
        let result = condition.holds(&mut large());
        assert_eq!(result, Err(Unanswered::TooCostly), "{rule}");
    }
    for rule in [
        json!({"some": [numbers, {"==": [{"var": ""}, 2]}]}),
        json!({"some": [numbers, {"some": [{"var": ""}, {"==": [{"var": ""}, 2]}]}]}),
        json!({"some": [{"filter": [numbers, {">": [{"var": ""}, 0]}]}, {"in": ["z", {"var": ""}]}]}),
        json!({"in": ["xx", {"var": "action"}]}),
        json!({">": [{"reduce": [numbers, {"+": [{"var": "current"}, {"var": "accumulator"}]}, 0]}, 19_999]}),
        json!({"==": [{"cat": [{"var": "action"}, "."]}, "x"]}),
    ] {
        let condition = compile(rule.clone()).unwrap();
        assert!(condition.holds(&mut large()).is_ok(), "{rule}");
    }
}

#[test]
fn lists_that_nest_without_end_are_no_result() {
    let rule = json!({"reduce": [{"var": "details.numbers"}, [{"var": "accumulator"}], 1]});
    let result = compile(rule).unwrap().holds(&mut large());
    assert!(matches!(result, Err(Unanswered::Failed(_))), "{result:?}");
}

#[test]
fn conditions_share_the_budget_of_an_event() {
    let condition = compile(json!({"some": [{"var": "details.numbers"}, {"==": [{"var": ""}, 2]}]})).unwrap();
    let mut subject = large();
    let before = subject.left;
    condition.holds(&mut subject).unwrap();
    let steps = before - subject.left;
    subject.left = steps + steps / 2;
    assert_eq!(condition.holds(&mut subject), Ok(false));
    assert_eq!(condition.holds(&mut subject), Err(Unanswered::NothingLeft));
    assert_eq!(subject.left, 0);
}

#[test]
fn shared_condition_answers_and_spends_as_one_that_is_evaluated_again() {
    let rules = [
        json!({"==": [{"var": "action"}, "opened"]}),
        json!({"some": [{"var": "details.payload.items"}, {">": [{"var": "price"}, 20]}]}),
        json!({"missing_some": [1, null]}),
        json!({"cat": [{"map": [vec![0; 900], {"map": [vec![0; 900], {"cat": ["x".repeat(100), "y"]}]}]}]}),
    ];
    let rules = rules.map(|rule| rule.as_object().unwrap().clone());
    let conditions = rules.clone().map(|rule| Condition::compile(&rule).unwrap());
    let large = [MAX_STEPS - 1, MAX_STEPS, MAX_STEPS + 30, 2 * MAX_STEPS + 10];
    let budgets = (0..80).chain(large);
    for left in budgets {
        let mut shared = SharedConditions::default();
        // Two subscriptions have each condition.
        let all = [&rules, &rules].map(|rules| rules.clone().map(|rule| shared.compile(&rule).unwrap()));
        let [mut subject, mut expected] = [(); 2].map(|()| Subject::new(EVENT).unwrap());
        (subject.left, expected.left) = (left, left);
        for _ in 0..3 {
            for (place, (rule, condition)) in rules.iter().zip(&conditions).enumerate() {
                let holds = all[left as usize % 2][place].holds(&mut subject);
                assert_eq!(holds, condition.holds(&mut expected), "{left} {rule:?}");
                assert_eq!(subject.left, expected.left, "{left} {rule:?}");
            }
        }
        assert_eq!(subject.answers.len(), rules.len());
    }
}

#[test]
fn event_with_odd_values_is_read_as_javascript_does() {
    let event = r#"{"big":1e999,"half":"a\ud83d","list":[-1e999,{"deep":1}],"name":"x","name":"y"}"#;
    for (rule, expected) in [
        (json!({">": [{"var": "big"}, 1e300]}), true),
        (json!({"<": [{"var": "list.0"}, -1e300]}), true),
        (json!({"==": [{"var": "half.length"}, 2]}), true),
        (
            json!({"==": [{"substr": ["😀", 0, 1]}, {"substr": [{"var": "half"}, 1]}]}),
            true,
        ),
        (json!({"==": [{"var": "name"}, "y"]}), true),
    ] {
        let result = compile(rule.clone())
            .unwrap()
            .holds(&mut Subject::new(event).unwrap());
        assert_eq!(result, Ok(expected), "{rule}");
    }
}
