use super::*;

#[track_caller]
fn check_error(text: &str, expected: &str) {
    assert_eq!(Filter::parse(text).unwrap_err().to_string(), expected, "{text}");
}

#[test]
fn bounds_hold() {
    let long = |bytes: usize| format!("RunId = '{}'", "a".repeat(bytes - "RunId = ''".len()));
    assert!(Filter::parse(&long(MAX_BYTES)).is_ok());
    check_error(
        &long(MAX_BYTES + 1),
        "column 4097: the filter is longer than 4096 bytes: shorten it to that",
    );
    check_error(
        &"é".repeat(3_000),
        "column 2049: the filter is longer than 4096 bytes: shorten it to that",
    );

    for (open, close) in [("(", ")"), ("NOT ", "")] {
        let nested = |levels: usize| format!("{}RunId = ''{}", open.repeat(levels), close.repeat(levels));
        assert!(Filter::parse(&nested(MAX_DEPTH)).is_ok());
        let column = MAX_DEPTH * open.len() + 1;
        check_error(
            &nested(MAX_DEPTH + 1),
            &format!("column {column}: more than 100 levels of parentheses and NOT: nest them less"),
        );
    }
    // Only nesting counts towards the depth.
    let side_by_side = vec!["NOT (RunId = '')"; MAX_DEPTH + 1].join(" AND ");
    assert!(Filter::parse(&side_by_side).is_ok());

    let list = |values: usize| format!("ExecutionDuration IN ({})", vec!["1"; values].join(","));
    assert!(Filter::parse(&list(MAX_VALUES)).is_ok());
    check_error(
        &list(MAX_VALUES + 1),
        "column 1023: more than 500 values in lists: ask for fewer",
    );
    check_error(
        &format!("{} OR {}", list(300), list(201)),
        "column 1049: more than 500 values in lists: ask for fewer",
    );
}

#[test]
fn an_error_says_where_it_is_and_what_to_do() {
    for (text, expected) in [
        ("WorkflowId = ", "column 14: expected a value after '='"),
        ("WorkflowId = )", "column 14: expected a value after '='"),
        (
            "WorkflowId = AND RunId = 'a'",
            "column 14: expected a value after '='",
        ),
        (
            "'WorkflowId' = 'a'",
            "column 1: expected a field: write its name without quotes or in back-ticks",
        ),
        (
            "WorkflowId NOT = 'a'",
            "column 16: expected IN, BETWEEN or STARTS_WITH after NOT",
        ),
        (
            "WorkflowId NOT NULL",
            "column 16: expected IN, BETWEEN or STARTS_WITH after NOT",
        ),
        ("WorkflowId == 'a'", "column 12: '==' is not an operator: use '='"),
        (
            "WorkflowId <> 'a'",
            "column 12: '<>' is not an operator: use '!='",
        ),
        (
            "WorkflowId ! 'a'",
            "column 12: '!' is not an operator: use '!=' or NOT",
        ),
        (
            "WorkflowId = 'a';",
            "column 17: ';' has no meaning here: remove it, or put the text in quotes, like 'order-1'",
        ),
        (
            "WorkflowId = NULL",
            "column 14: nothing compares with NULL: use IS NULL or IS NOT NULL",
        ),
        (
            "WorkflowId = 'it''s",
            "column 14: the text that begins here has no end: close it with '",
        ),
        (
            r#"WorkflowId = "a'"#,
            r#"column 14: the text that begins here has no end: close it with ""#,
        ),
        (
            "`WorkflowId = 'a'",
            "column 1: the name that begins here has no end: close it with `",
        ),
        (
            "WorkflowId IS 'a'",
            "column 15: expected NULL or NOT NULL after IS",
        ),
        ("WorkflowId IS NOT 'a'", "column 19: expected NULL after IS NOT"),
        (
            "WorkflowId IN 'a'",
            "column 15: expected '(' and a list of values after IN",
        ),
        ("WorkflowId IN ()", "column 16: expected a value after '('"),
        ("WorkflowId IN ('a',)", "column 20: expected a value after ','"),
        (
            "WorkflowId IN ('a' 'b')",
            "column 20: expected ',' or ')' after a value of a list",
        ),
        (
            "WorkflowId IN ('a'",
            "column 19: expected ',' or ')' after a value of a list",
        ),
        (
            "WorkflowId BETWEEN 'a'",
            "column 23: expected AND and a second value after BETWEEN and a value",
        ),
        (
            "WorkflowId BETWEEN 'a', 'b'",
            "column 23: expected AND and a second value after BETWEEN and a value",
        ),
        (
            "WorkflowId BETWEEN 'a' AND",
            "column 27: expected a value after 'AND'",
        ),
        (
            "WorkflowId STARTS_WITH",
            "column 23: expected a value after 'STARTS_WITH'",
        ),
        (
            "WorkflowId = 'a' AND",
            "column 21: expected a condition, like WorkflowId = 'order-1'",
        ),
        (
            "WorkflowId = 'a' OR OR",
            "column 21: expected a condition, like WorkflowId = 'order-1'",
        ),
        (
            "NOT",
            "column 4: expected a condition, like WorkflowId = 'order-1'",
        ),
        (
            "()",
            "column 2: expected a condition, like WorkflowId = 'order-1'",
        ),
        (
            "= 'a'",
            "column 1: expected a condition, like WorkflowId = 'order-1'",
        ),
        (
            "(WorkflowId = 'a'",
            "column 18: expected AND, OR or ')' to close the '(' in column 1",
        ),
        (
            "RunId = 'b' AND (WorkflowId = 'a' RunId = 'b')",
            "column 35: expected AND, OR or ')' to close the '(' in column 17",
        ),
        (
            "WorkflowId = 'a')",
            "column 17: expected AND, OR or the end of the filter",
        ),
        (
            "WorkflowId = 'a' RunId = 'b'",
            "column 18: expected AND, OR or the end of the filter",
        ),
        (
            "WorkflowId = 'é' 'b'",
            "column 18: expected AND, OR or the end of the filter",
        ),
        (
            "WorkflowId = 'a' ORDER BY StartTime",
            "column 18: ORDER BY is not supported, remove it: runs are always listed newest first",
        ),
        (
            "ORDER BY StartTime DESC",
            "column 1: ORDER BY is not supported, remove it: runs are always listed newest first",
        ),
        (
            "WorkflowId = 'a' group by ExecutionStatus",
            "column 18: GROUP BY is not supported, remove it: runs are always listed newest first",
        ),
        (
            "(WorkflowId = 'a' ORDER BY StartTime)",
            "column 19: ORDER BY is not supported, remove it: runs are always listed newest first",
        ),
        (
            "WorkflowId = 'a' LIMIT 1",
            "column 18: expected AND, OR or the end of the filter",
        ),
        (
            "ExecutionStatus < 'Failed'",
            "column 17: ExecutionStatus takes only =, !=, IN, NOT IN, IS NULL and IS NOT NULL",
        ),
        (
            "ExecutionStatus NOT BETWEEN 'Failed' AND 'Running'",
            "column 17: ExecutionStatus takes only =, !=, IN, NOT IN, IS NULL and IS NOT NULL",
        ),
        (
            "ExecutionStatus STARTS_WITH 'F'",
            "column 17: ExecutionStatus takes only =, !=, IN, NOT IN, IS NULL and IS NOT NULL",
        ),
        (
            "StartTime STARTS_WITH '2026'",
            "column 11: STARTS_WITH is only for the text fields WorkflowId, RunId, WorkflowType, InitiatedBy, \
             DocumentId, EventName, RuleId",
        ),
        (
            "ExecutionDuration NOT STARTS_WITH 1",
            "column 19: STARTS_WITH is only for the text fields WorkflowId, RunId, WorkflowType, InitiatedBy, \
             DocumentId, EventName, RuleId",
        ),
        (
            "ExecutionDuration > -",
            "column 21: '-' has no meaning here: remove it, or put the text in quotes, like 'order-1'",
        ),
    ] {
        check_error(text, expected);
    }
}

#[test]
fn the_fields_are_listed() {
    let advice = "the fields are WorkflowId, RunId, WorkflowType, ExecutionStatus, StartTime, CloseTime, \
        ExecutionDuration, InitiatedBy, DocumentId, EventName, RuleId";
    for (text, problem) in [
        ("workflowid = 'a'", "column 1: unknown field 'workflowid'"),
        ("`Bogus` = 'a'", "column 1: unknown field 'Bogus'"),
    ] {
        check_error(text, &format!("{problem}: {advice}"));
    }
}

#[test]
fn the_operators_are_listed() {
    let advice = "=, !=, <, <=, >, >=, [NOT] IN, [NOT] BETWEEN, [NOT] STARTS_WITH or IS [NOT] NULL";
    for (text, problem) in [
        ("WorkflowId", "column 11: expected an operator after WorkflowId"),
        (
            "WorkflowId LIKE 'a'",
            "column 12: expected an operator after WorkflowId",
        ),
        (
            "WorkflowId 'a'",
            "column 12: expected an operator after WorkflowId",
        ),
    ] {
        check_error(text, &format!("{problem}: {advice}"));
    }
}

#[test]
fn a_text_stands_in_quotes() {
    let advice = "write it in quotes, like 'order-1'";
    for (text, problem) in [
        ("WorkflowId = order-1", "column 14: WorkflowId is a text"),
        ("WorkflowId = order", "column 14: WorkflowId is a text"),
        ("WorkflowId = 42", "column 14: WorkflowId is a text"),
        ("WorkflowId = 42a", "column 14: WorkflowId is a text"),
    ] {
        check_error(text, &format!("{problem}: {advice}"));
    }
}

#[test]
fn a_status_is_one_of_a_list() {
    let advice = "write one of RUNNING, COMPLETED, FAILED, CANCELED, TERMINATED, CONTINUED_AS_NEW, TIMED_OUT in quotes";
    for (text, problem) in [
        ("ExecutionStatus = 'Broken'", "column 19: unknown status 'Broken'"),
        ("ExecutionStatus = ''", "column 19: unknown status ''"),
        (
            "ExecutionStatus IN ('Failed', 'TIMED OUT')",
            "column 31: unknown status 'TIMED OUT'",
        ),
        ("ExecutionStatus = 1", "column 19: ExecutionStatus is a status"),
        (
            "ExecutionStatus = Failed",
            "column 19: ExecutionStatus is a status",
        ),
    ] {
        check_error(text, &format!("{problem}: {advice}"));
    }
}

#[test]
fn a_time_is_in_iso_8601() {
    let advice = "write it in quotes, like '2026-01-31T08:00:00Z', or as a date, like '2026-01-31'";
    for (text, problem) in [
        ("StartTime > 1769846400", "column 13: StartTime is a time"),
        ("StartTime > 2026-01-31", "column 13: StartTime is a time"),
        ("StartTime > 'yesterday'", "column 13: 'yesterday' is not a time"),
        ("StartTime > ''", "column 13: '' is not a time"),
        (
            "StartTime > '2026-02-30'",
            "column 13: '2026-02-30' is not a time",
        ),
        (
            "StartTime > '2026-01-31T08:00:00 Mars'",
            "column 13: '2026-01-31T08:00:00 Mars' is not a time",
        ),
        (
            "StartTime BETWEEN '2026-01-31' AND 'now'",
            "column 36: 'now' is not a time",
        ),
        ("CloseTime IN ('2026-01-31', 5)", "column 29: CloseTime is a time"),
    ] {
        check_error(text, &format!("{problem}: {advice}"));
    }
}

#[test]
fn a_duration_is_a_number_or_a_text_with_units() {
    let advice = "write a number of seconds, like 90 or 1.5, or a text, like '1h30m' or '500ms'";
    for (text, problem) in [
        (
            "ExecutionDuration > 90s",
            "column 21: 90s is not a number of seconds",
        ),
        (
            "ExecutionDuration > 1.2.3",
            "column 21: 1.2.3 is not a number of seconds",
        ),
        (
            "ExecutionDuration > 1e3",
            "column 21: 1e3 is not a number of seconds",
        ),
        (
            "ExecutionDuration > 9223372036854775.808",
            "column 21: 9223372036854775.808 is not a number of seconds",
        ),
        (
            "ExecutionDuration > 99999999999999999999999999999999999999999999",
            "column 21: 99999999999999999999999999999999999999999999 is not a number of seconds",
        ),
        ("ExecutionDuration > '90'", "column 21: '90' is not a duration"),
        ("ExecutionDuration > ''", "column 21: '' is not a duration"),
        ("ExecutionDuration > '1d'", "column 21: '1d' is not a duration"),
        ("ExecutionDuration > 's'", "column 21: 's' is not a duration"),
        ("ExecutionDuration > '.s'", "column 21: '.s' is not a duration"),
        ("ExecutionDuration > '-'", "column 21: '-' is not a duration"),
        (
            "ExecutionDuration > '9999999999999h'",
            "column 21: '9999999999999h' is not a duration",
        ),
        (
            "ExecutionDuration > hour",
            "column 21: ExecutionDuration is a duration",
        ),
    ] {
        check_error(text, &format!("{problem}: {advice}"));
    }
}
