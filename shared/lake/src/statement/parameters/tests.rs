use proptest::prelude::*;
use serde_json::json;

use super::*;

fn rewritten(sql: &str, params: Value) -> Rewritten {
    rewrite(sql, params.as_object().unwrap()).unwrap()
}

fn place(line: u32, column: u32) -> error::Place {
    error::Place { line, column }
}

#[test]
fn a_name_is_one_parameter_however_often_it_is_used() {
    let result = rewritten(
        "select {{a}}, {{b}}, {{a}}",
        json!({ "a": 1, "b": "x", "unused": [1] }),
    );
    assert_eq!(result.sql, "select $1, $2, $1");
    assert_eq!(result.values, [Scalar::Signed(1), Scalar::Text("x".into())]);
}

#[test]
fn literals_identifiers_and_comments_are_left_alone() {
    for sql in [
        "select '{{a}}'",
        "select 'it''s {{a}}'",
        r"select E'\'{{a}}'",
        "select E'a'\n'\\'{{a}}'",
        "select e'a' -- '\n  -- {{a}}\r '\\'{{a}}'",
        "select e'{{a}}'",
        r#"select "{{a}}" from t"#,
        r#"select "x""{{a}}""#,
        "select 1 -- {{a}}",
        "select /* {{a}} */ 1",
        "select /* a /* b */ {{a}} */ 1",
        "select $${{a}}$$",
        "select $tag$ $$ {{a}} $tag$",
        "select {'a': {'b': 1}}",
        "select {{'a': 1}}",
        "select '{{a}}",
        "select /* {{a}}",
        "select {{1a}}",
    ] {
        assert_eq!(rewritten(sql, json!({})).sql, sql);
    }
}

#[test]
fn what_looks_like_a_literal_and_is_none_does_not_hide_a_parameter() {
    for (sql, expected) in [
        ("select 'a' || {{a}}", "select 'a' || $1"),
        ("select {{ a }}, {{  a}}", "select $1, $1"),
        ("select {'a': {'b': {{a}}}}", "select {'a': {'b': $1}}"),
        ("select 1 -- '\n, {{a}}", "select 1 -- '\n, $1"),
        ("select case'\\' when {{a}}", "select case'\\' when $1"),
        ("select 1 - - {{a}}", "select 1 - - $1"),
        ("select x$y$ + {{a}} + z$y$", "select x$y$ + $1 + z$y$"),
        ("select E'a' '\\', {{a}}", "select E'a' '\\', $1"),
        (
            "select E'a' /* \n */ '\\', {{a}}",
            "select E'a' /* \n */ '\\', $1",
        ),
    ] {
        assert_eq!(rewritten(sql, json!({ "a": 1 })).sql, expected);
    }
}

#[test]
fn the_spaces_of_unicode_are_spaces() {
    for (sql, expected) in [
        ("select 1,\u{a0}E'\\'{{a}}'", "select 1,  E'\\'{{a}}'"),
        ("select 1,\u{3000}$$ {{a}} $$", "select 1,   $$ {{a}} $$"),
        ("select\u{feff}'\u{a0}',{{a}}", "select   '\u{a0}',$1"),
        ("x\u{2009}in\u{2009}({{a}}\u{2009})", "x   in   ($1   )"),
    ] {
        assert_eq!(rewritten(sql, json!({ "a": 1 })).sql, expected);
    }
}

#[test]
fn a_parameter_is_no_part_of_a_word_or_of_a_number() {
    for (sql, expected) in [
        ("x{{a}}", "x $1"),
        ("é{{a}}é", "é $1 é"),
        ("1{{a}}2", "1 $1 2"),
        ("{{a}}{{a}}", "$1 $1"),
        ("({{a}})", "($1)"),
        ("{{a}}$${{a}}$$", "$1 $${{a}}$$"),
    ] {
        assert_eq!(rewritten(sql, json!({ "a": 1 })).sql, expected);
    }
}

#[test]
fn arrays_are_lists_and_stand_alone_in_in() {
    let params = json!({ "a": [1, 2], "none": [] });
    for (sql, expected) in [
        ("x IN ({{a}})", "x IN ($1, $2)"),
        (
            "x not in(/* c */ {{a}} -- d\n )",
            "x not in(/* c */ $1, $2 -- d\n )",
        ),
        ("x IN ({{none}})", "x IN (SELECT NULL WHERE false)"),
        ("x = ANY({{a}})", "x = ANY([$1, $2])"),
        ("x = ANY({{none}})", "x = ANY([])"),
        ("begin({{a}})", "begin([$1, $2])"),
        ("x IN {{a}}", "x IN [$1, $2]"),
        ("x IN ({{a}}) or y = {{a}}", "x IN ($1, $2) or y = [$3, $4]"),
    ] {
        assert_eq!(rewritten(sql, params.clone()).sql, expected);
    }
}

#[test]
fn numbers_keep_their_digits() {
    let params = json!({ "big": 9_007_199_254_740_993_i64, "huge": u64::MAX, "d": -12.50, "e": 1e300 });
    let result = rewritten("{{big}} {{huge}} {{d}} {{e}}", params);
    assert_eq!(result.sql, "$1 $2 CAST($3 AS DECIMAL(3,1)) $4");
    assert_eq!(
        result.values,
        [
            Scalar::Signed(9_007_199_254_740_993),
            Scalar::Unsigned(u64::MAX),
            Scalar::Text("-12.5".into()),
            Scalar::Double(1e300)
        ]
    );
}

#[test]
fn missing_values_objects_and_foreign_placeholders_are_refused() {
    let refused = |sql: &str, params: Value| {
        let error = rewrite(sql, params.as_object().unwrap()).unwrap_err();
        assert_eq!(error.status(), 400);
        error.message().to_owned()
    };
    assert!(refused("select {{region}}", json!({})).contains("'region'"));
    assert!(refused("select {{a}}", json!({ "a": { "b": 1 } })).contains("'a'"));
    assert!(refused("select {{a}}", json!({ "a": [[1]] })).contains("'a'"));
    assert!(refused("select\n ?", json!({})).starts_with("Line 2, column 2:"));
    assert!(refused("select $1", json!({})).contains("{{name}}"));
    assert!(refused("select $a", json!({})).contains("{{name}}"));
    assert!(refused("select $é", json!({})).contains("{{name}}"));
    assert!(refused("select 1$a", json!({})).contains("{{name}}"));
    assert!(refused("select $\"{{a}}\"", json!({})).contains("{{name}}"));
}

#[test]
fn positions_are_those_of_the_callers_text() {
    let sql = "select {{a}},\n {{a}} é nope";
    let result = rewritten(sql, json!({ "a": [1, 2, 3] }));
    assert_eq!(result.place(sql, result.sql.find("nope").unwrap()), place(2, 10));
    assert_eq!(result.place(sql, result.sql.find("$2").unwrap()), place(1, 8));
    assert_eq!(result.place(sql, 10_000), place(2, 14));
    let sql = "select 'ééé',\n 'é', nope";
    assert_eq!(
        rewritten(sql, json!({})).place(sql, sql.find("nope").unwrap()),
        place(2, 7)
    );
}

#[test]
fn names_are_listed_once() {
    assert_eq!(names("select {{b}}, '{{c}}', {{a}}, {{b}}"), ["b", "a"]);
}

/// Megabytes are read in one pass; quadratic time would take hours.
#[test]
fn a_long_statement_takes_no_longer_than_it_is() {
    let long = "{{".repeat(2_500_000);
    assert_eq!(names(&long), Vec::<String>::new());
    let many: String = (0..300_000).map(|number| format!("{{{{n{number}}}}}")).collect();
    assert_eq!(names(&many).len(), 300_000);
}

proptest! {
    #[test]
    fn any_text_is_cut_without_loss(sql in r"(\{\{a\}\}|[{}a'$E/*\n -]|--|/\*|\*/|\$t\$|é){0,40}") {
        let mut whole = String::new();
        for piece in scan(&sql) {
            match piece {
                Piece::Text(text) | Piece::Space(text) => whole.push_str(text),
                Piece::Parameter { name, offset, .. } => {
                    prop_assert_eq!(whole.len(), offset);
                    whole.push_str(&format!("{{{{{name}}}}}"));
                }
                Piece::Placeholder { offset } => prop_assert_eq!(whole.len(), offset),
            }
        }
        prop_assert_eq!(whole, sql);
    }

    #[test]
    fn no_value_reaches_the_text(value in "\\PC{0,20}", number in any::<f64>()) {
        let params = json!({ "v": value, "n": number });
        let sql = rewritten("select {{v}}, {{n}}", params).sql;
        prop_assert!(sql == "select $1, $2" || sql.starts_with("select $1, CAST($2 AS DECIMAL("), "{}", sql);
    }

    #[test]
    fn a_parameter_outside_of_everything_is_always_found(before in "[a-z0-9 ,.()]{0,20}") {
        prop_assert_eq!(names(&format!("{before}{{{{x}}}}")), ["x"]);
    }
}

#[test]
fn places_are_those_of_the_caller_also_after_an_edit() {
    let original = "pivot t on\n{{a}}, x in (select {{b}})\nusing {{a}} + y";
    let params = json!({ "a": "long", "b": 1.25 });
    let rewritten = rewrite(original, params.as_object().unwrap()).unwrap();
    let find = |text: &Rewritten, part: &str| text.sql.find(part).unwrap();
    let first = find(&rewritten, ", x");
    let (open, close) = (find(&rewritten, "(select"), find(&rewritten, "\nusing"));
    let edited = rewritten.edited(&[
        (first..first, " IN p0".to_owned()),
        (open..close, " p1 ".to_owned()),
    ]);
    assert_eq!(edited.sql, "pivot t on\n$1 IN p0, x in  p1 \nusing $1 + y");
    assert_eq!(edited.values, rewritten.values);
    for (part, (line, column)) in [
        ("pivot", (1, 1)),
        ("$1 IN", (2, 1)),
        (", x", (2, 6)),
        ("p1", (2, 13)),
        ("using", (3, 1)),
        (" + y", (3, 12)),
    ] {
        assert_eq!(
            edited.place(original, find(&edited, part)),
            place(line, column),
            "{part}"
        );
    }
    let part = rewritten.part(open + 1..close - 1);
    assert_eq!(part.place(original, find(&part, "select")), place(2, 14));
}
