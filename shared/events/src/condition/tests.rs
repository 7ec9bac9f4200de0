#![cfg(test)]

use serde_json::json;

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
            json!({"==": [{"map": [{"var": "details.payload.items"}, {"var": "price"}]}, [2, 31]]}),
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
        (json!({">": [{"var": "nothing"}, {"var": "details"}]}), false),
        (
            json!({"or": [{">": [{"var": "action"}, 5]}, {"==": [{"var": "action"}, "opened"]}]}),
            true,
        ),
        (json!({"!": {">": [{"var": "details"}, 5]}}), true),
        (json!({"/": [1, 0]}), false),
        (json!({"max": ["x", 1]}), false),
        (json!({"<": [1, "x", 3]}), false),
    ] {
        assert_eq!(holds(rule.clone()), Ok(expected), "{rule}");
    }
}

#[test]
fn what_no_condition_is_is_refused() {
    let nested = |depth: usize| (0..depth).fold(json!({"var": "a"}), |inner, _| json!({"!": inner}));
    let wide = |count: usize| json!({"or": vec![json!({"var": "a"}); count]});
    for (rule, why) in [
        (
            json!({"equals": [1, 1]}),
            "has the operator 'equals', which JSONLogic does not know.",
        ),
        (
            json!({"log": "x"}),
            "has the operator 'log', which JSONLogic does not know.",
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
        (
            json!({"try": [1, 2]}),
            "has the operator 'try', which JSONLogic does not know.",
        ),
        (json!({"==": [{}, 1]}), "has an object that is no operation;"),
        (nested(40), "nests deeper than 32 levels."),
        (wide(1_100), "is made of more than 2000 values."),
        (
            json!({"==": ["x".repeat(40_000), 1]}),
            "has more than 32768 bytes.",
        ),
        (
            json!({"some": [[1], {"some": [[1], {"some": [[1], true]}]}]}),
            "goes through arrays within arrays more than 2 deep.",
        ),
        (
            json!({"reduce": [[1, 2], {"cat": [{"var": "accumulator"}, {"var": "accumulator"}]}, "x"]}),
            "has the operator 'cat' in a 'reduce', where nothing may grow.",
        ),
        (
            json!({"reduce": [[1, 2], {"missing": [{"var": "accumulator"}, {"var": "accumulator"}]}, ["a"]]}),
            "has the operator 'missing' in a 'reduce', where nothing may grow.",
        ),
        (
            json!({"reduce": [[1, 2], {"if": [true, [{"var": "accumulator"}, {"var": "accumulator"}]]}, ["a"]]}),
            "makes an array of operations in a 'reduce', where nothing may grow.",
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
fn what_could_take_too_long_has_no_answer() {
    let numbers = json!({"var": "details.numbers"});
    let ints: Vec<u32> = (0..900).collect();
    let text = "y".repeat(20_000);
    for rule in [
        json!({"reduce": [numbers, {"if": [{"in": ["x", {"var": "accumulator"}]}, {"var": "accumulator"}]}, {"var": "action"}]}),
        json!({"cat": vec![json!({"var": ""}); 950]}),
        json!({"map": [ints, {"map": [ints, {"cat": [text, {"var": ""}]}]}]}),
        json!({"none": [ints, {"none": [ints, {"in": [{"var": ""}, text]}]}]}),
        json!({"map": [numbers, {"map": [ints, {"cat": [{"var": ""}, text]}]}]}),
        json!({"all": [{"map": [numbers, text]}, {"in": ["z", {"var": ""}]}]}),
    ] {
        let condition = compile(rule.clone()).unwrap();
        assert_eq!(
            condition.holds(&mut large()),
            Err(Unanswered::TooCostly),
            "{rule}"
        );
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
fn an_event_has_so_many_steps_and_no_more() {
    let numbers = json!({"var": "details.numbers"});
    let condition = compile(json!({"some": [numbers, {"==": [{"var": ""}, {"var": "nothing"}]}]})).unwrap();
    let mut subject = large();
    subject.left = condition.cost.on(subject.size) * 2.5;
    let answers: Vec<_> = (0..3).map(|_| condition.holds(&mut subject)).collect();
    assert_eq!(answers[2], Err(Unanswered::NothingLeft));
    assert!(answers[0].is_ok() && answers[1].is_ok());
}

/// `+` and the others fold an array, so a rule of many folds takes long on a long array.
#[test]
fn arithmetic_reads_every_entry_of_an_array() {
    let entries = vec!["1"; 100_000].join(",");
    let event = format!(r#"{{"details":{{"numbers":[{entries}]}}}}"#);
    let subject = Subject::new(&event).unwrap();
    for operator in check::ARITHMETIC {
        let fold = json!({ operator: [{ "var": "details.numbers" }] });
        let straight = compile(json!({ "==": [{ "+": vec![fold.clone(); 100] }, 1] })).unwrap();
        let steps = straight.cost.on(subject.size);
        assert!(steps > 100.0 * 100_000.0, "{operator}: {steps}");
        // The cost of a join is estimated for each event.
        let joined = compile(json!({ "==": [{ "cat": ["n", fold] }, "n1"] })).unwrap();
        let steps = joined.cost.on(subject.size);
        assert!(steps > 100_000.0, "{operator} in a join: {steps}");
    }
    let sums = vec![json!({ "+": { "var": "details.numbers" } }); 600];
    let costly = compile(json!({ "==": [{ "+": sums }, 1] })).unwrap();
    let answer = costly.holds(&mut Subject::new(&event).unwrap());
    assert!(matches!(answer, Err(Unanswered::TooCostly)), "{answer:?}");
}

#[test]
fn the_entries_of_arrays_and_objects_are_counted() {
    for (text, items, fields) in [
        ("{}", 1.0, 1.0),
        (r#"{"a":[1,2,3],"b":"1,2,3,4,5,6"}"#, 3.0, 2.0),
        (r#"{"a":"\",\",\"","b":[[1,2],[1]]}"#, 2.0, 2.0),
        (r#"{"a":[{"x":[1,2,3,4]},{"y":1,"z":2,"{":3}]}"#, 4.0, 3.0),
    ] {
        let size = Size::measure(text);
        assert_eq!((size.items, size.fields), (items, fields), "{text}");
    }
}

/// Each level in a round is estimated twice: 31 levels would take far too long.
#[test]
fn a_condition_whose_cost_takes_long_to_work_out_is_refused() {
    let mut source = json!({"var": "x"});
    for _ in 0..28 {
        source = json!({"map": [source, 1]});
    }
    let refusal = compile(json!({"some": [{"var": "details.numbers"}, {"some": [source, 1]}]})).err();
    let refusal = refusal.unwrap();
    assert!(
        refusal.message().contains("goes too many times through"),
        "{}",
        refusal.message()
    );
}

/// An event with two large objects of the same fields, one in reverse order.
fn wide(fields: usize) -> Subject {
    let object = |order: &mut dyn Iterator<Item = usize>| {
        order
            .map(|number| format!(r#""field-{number}":1"#))
            .collect::<Vec<_>>()
            .join(",")
    };
    let (one, other) = (object(&mut (0..fields)), object(&mut (0..fields).rev()));
    let entries = vec!["1"; 20_000].join(",");
    Subject::new(&format!(
        r#"{{"details":{{"a":{{{one}}},"b":{{{other}}},"numbers":[{entries}]}}}}"#
    ))
    .unwrap()
}

#[test]
fn entries_of_wide_objects_that_are_looked_for_count() {
    let (a, b) = (json!({"var": "details.a"}), json!({"var": "details.b"}));
    let missing: Vec<_> = (0..60)
        .map(|number| json!({"var": format!("accumulator.z{number}")}))
        .collect();
    for rule in [
        json!({"==": [a, b]}),
        json!({"===": [a, b]}),
        json!({"in": [a, [b]]}),
        json!({"some": [[{"var": "details"}], {"==": [{"var": "a"}, {"var": "b"}]}]}),
        json!({"reduce": [{"var": "details.numbers"}, {"or": [missing, {"var": "accumulator"}]}, a]}),
        json!({"or": vec![json!({"var": "details.a.z"}); 1_900]}),
    ] {
        let answer = compile(rule.clone()).map(|condition| condition.holds(&mut wide(10_000)));
        assert!(!matches!(answer, Ok(Ok(_))), "{rule}");
    }
    for rule in [
        json!({"===": [a, b]}),
        json!({"in": [{"var": "details.a.field-1"}, {"var": "details.numbers"}]}),
        json!({"and": [{"==": [{"var": "details.a.field-7"}, 1]}, {"==": [{"var": "details.b.field-7"}, {"var": "details.a.field-1"}]}]}),
    ] {
        let condition = compile(rule.clone()).unwrap();
        assert_eq!(condition.holds(&mut wide(50)), Ok(true), "{rule}");
    }
}
