//! Generates random operations.

use platform::records::Condition;
use platform::records::schema::EXPIRES_AT;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{Act, At, Change, InIndex, Operation, Part, Range, Sort};

const NAMES: &[&str] = &["a", "n", "list", "summary", EXPIRES_AT];
const SORT_KEYS: &[&str] = &["a", "ab", "b", "é", "😀"];
const INDEXES: &[&str] = &["gsi1", "gsi3", "due"];

pub(super) fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        1 => prop::collection::vec(at(), 1..4).prop_map(Operation::Find),
        5 => change().prop_map(Operation::Write),
        3 => prop::collection::vec(change(), 1..4).prop_map(Operation::Transact),
        1 => (at(), 0_u64..3).prop_map(|(at, amount)| Operation::Add(at, amount)),
        3 => (range(), 1_usize..4).prop_map(|(range, most)| Operation::Read(range, most)),
        1 => range().prop_map(Operation::Count),
    ]
}

fn at() -> impl Strategy<Value = At> {
    (0_usize..3, 0_u8..2, select(SORT_KEYS)).prop_map(|(table, pk, sk)| At { table, pk, sk })
}

fn in_index() -> impl Strategy<Value = InIndex> {
    (select(INDEXES), 0_u8..2, select(SORT_KEYS)).prop_map(|(index, pk, sk)| InIndex { index, pk, sk })
}

fn name() -> impl Strategy<Value = &'static str> {
    select(NAMES)
}

fn value() -> impl Strategy<Value = Value> {
    select(vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(1),
        json!(2),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.5),
        json!(""),
        json!("a"),
        json!("2"),
        json!([]),
        json!([1, "a", null, [0.25]]),
        json!({}),
        json!({ "a": { "n": [1] } }),
    ])
}

fn change() -> impl Strategy<Value = Change> {
    let condition = prop::option::of(condition());
    (at(), action(), condition).prop_map(|(at, action, condition)| Change {
        at,
        action,
        condition,
    })
}

fn action() -> impl Strategy<Value = Act> {
    let attributes = prop::collection::vec((name(), value()), 0..4);
    let places = prop::collection::vec(in_index(), 0..3);
    prop_oneof![
        4 => (attributes, places).prop_map(|(attributes, places)| Act::Put(attributes, places)),
        4 => prop::collection::vec(part(), 1..4).prop_map(Act::Update),
        1 => Just(Act::Delete),
        1 => Just(Act::Check),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let values = prop::collection::vec(value(), 1..3);
    prop_oneof![
        3 => (name(), value()).prop_map(|(name, value)| Part::Set(name, value)),
        1 => values.prop_map(|values| Part::Append("list", values)),
        1 => (name(), -3_i64..4).prop_map(|(name, amount)| Part::Add(name, amount)),
        1 => name().prop_map(Part::Remove),
        2 => in_index().prop_map(Part::Place),
        1 => select(INDEXES).prop_map(Part::Leave),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let text = select(vec!["", "a", "2"]);
    let number = || select(vec![0, 1, 2, u64::MAX]);
    prop_oneof![
        1 => Just(Condition::Absent),
        4 => Just(Condition::Present),
        1 => (name(), number()).prop_map(|(name, number)| Condition::NumberIs(name, number)),
        1 => (name(), number()).prop_map(|(name, number)| Condition::NumberBelow(name, number)),
        1 => (name(), text).prop_map(|(name, text)| Condition::TextIs(name, text.to_owned())),
        1 => name().prop_map(Condition::Has),
        1 => name().prop_map(Condition::Lacks),
        1 => (-1_i64..3).prop_map(Condition::AbsentOrExpired),
    ]
}

fn range() -> impl Strategy<Value = Range> {
    let sort = prop_oneof![
        Just(Sort::All),
        select(SORT_KEYS).prop_map(Sort::Prefix),
        (select(SORT_KEYS), select(SORT_KEYS))
            .prop_map(|(one, other)| Sort::Between(one.min(other), one.max(other))),
    ];
    let index = prop::option::of(select(INDEXES));
    (0_usize..3, 0_u8..2, index, any::<bool>(), sort).prop_map(|(table, pk, index, is_descending, sort)| {
        Range {
            table,
            pk,
            index,
            is_descending,
            sort,
        }
    })
}
