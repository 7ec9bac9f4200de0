use super::*;

/// 2026-01-31T08:00:00Z.
const START: i64 = 1_769_846_400_000;

/// A closed run of 90 seconds.
const CLOSED: RunFields<'_> = RunFields {
    workflow_id: "order-1",
    run_id: "run-1",
    workflow_type: "import",
    status: "COMPLETED",
    start_time: START,
    close_time: Some(START + 90_000),
    initiated_by: Some("o'neil"),
    document_id: Some("invoice"),
    event_name: Some("say \"hi\""),
    rule_id: Some("rule-1"),
};

/// An open run that no document or event started.
const OPEN: RunFields<'_> = RunFields {
    status: "RUNNING",
    close_time: None,
    initiated_by: None,
    document_id: None,
    event_name: None,
    rule_id: None,
    ..CLOSED
};

#[track_caller]
fn check(text: &str, run: &RunFields<'_>, expected: bool) {
    match Filter::parse(text) {
        Ok(filter) => assert_eq!(filter.matches(run), expected, "{text}"),
        Err(error) => panic!("{text}: {error}"),
    }
}

#[test]
fn an_empty_filter_matches_every_run() {
    for text in ["", " \t\r\n\u{a0}"] {
        check(text, &CLOSED, true);
        check(text, &OPEN, true);
        assert_eq!(Filter::parse(text).unwrap(), Filter::default());
    }
}

#[test]
fn every_field_is_compared() {
    for (condition, other) in [
        ("WorkflowId = 'order-1'", "WorkflowId = 'order-2'"),
        ("RunId = 'run-1'", "RunId = 'RUN-1'"),
        ("WorkflowType = 'import'", "WorkflowType = 'imports'"),
        ("ExecutionStatus = 'COMPLETED'", "ExecutionStatus = 'FAILED'"),
        ("StartTime = '2026-01-31T08:00:00Z'", "StartTime = '2026-01-31'"),
        (
            "CloseTime = '2026-01-31T08:01:30Z'",
            "CloseTime = '2026-01-31T08:00:00Z'",
        ),
        ("ExecutionDuration = 90", "ExecutionDuration = 91"),
        ("InitiatedBy = 'o''neil'", "InitiatedBy = 'oneil'"),
        ("DocumentId = 'invoice'", "DocumentId = ''"),
        ("EventName = 'say \"hi\"'", "EventName = 'say'"),
        ("RuleId = 'rule-1'", "RuleId = 'rule-2'"),
    ] {
        check(condition, &CLOSED, true);
        check(other, &CLOSED, false);
    }
}

#[test]
fn operators() {
    for (condition, expected) in [
        ("WorkflowId != 'order-1'", false),
        ("WorkflowId != 'order-2'", true),
        ("WorkflowId < 'order-1'", false),
        ("WorkflowId < 'order-2'", true),
        ("WorkflowId <= 'order-1'", true),
        ("WorkflowId <= 'order-0'", false),
        ("WorkflowId > 'order-1'", false),
        ("WorkflowId > 'order-0'", true),
        ("WorkflowId >= 'order-1'", true),
        ("WorkflowId >= 'order-2'", false),
        ("WorkflowId IN ('a', 'order-1')", true),
        ("WorkflowId IN ('a')", false),
        ("WorkflowId NOT IN ('a', 'order-1')", false),
        ("WorkflowId NOT IN ('a')", true),
        ("WorkflowId BETWEEN 'order-1' AND 'order-2'", true),
        ("WorkflowId BETWEEN 'order-0' AND 'order-1'", true),
        ("WorkflowId BETWEEN 'order-2' AND 'order-0'", false),
        ("WorkflowId NOT BETWEEN 'order-2' AND 'order-3'", true),
        ("WorkflowId NOT BETWEEN 'order-0' AND 'order-2'", false),
        ("WorkflowId STARTS_WITH 'order'", true),
        ("WorkflowId STARTS_WITH 'Order'", false),
        ("WorkflowId NOT STARTS_WITH 'order'", false),
        ("WorkflowId NOT STARTS_WITH 'rder'", true),
        ("WorkflowId IS NULL", false),
        ("WorkflowId IS NOT NULL", true),
        ("ExecutionStatus IS NULL", false),
        ("ExecutionStatus IS NOT NULL", true),
    ] {
        check(condition, &CLOSED, expected);
    }
}

#[test]
fn and_binds_tighter_than_or_and_not_tighter_than_both() {
    let (yes, no) = ("RunId = 'run-1'", "RunId = ''");
    for (text, expected) in [
        (format!("{yes} OR {no} AND {no}"), true),
        (format!("({yes} OR {no}) AND {no}"), false),
        (format!("{no} AND {no} OR {yes}"), true),
        (format!("{no} AND ({no} OR {yes})"), false),
        (format!("NOT {yes} OR {yes}"), true),
        (format!("NOT ({yes} OR {yes})"), false),
        (format!("NOT {no} AND {no}"), false),
        (format!("NOT ({no} AND {no})"), true),
        (format!("NOT NOT {yes}"), true),
        (format!("NOT(NOT({yes}))"), true),
        (format!("{yes} AND {yes} AND {no}"), false),
        (format!("{no} OR {no} OR {yes}"), true),
        (format!("RunId BETWEEN 'a' AND 'z' AND {no}"), false),
    ] {
        check(&text, &CLOSED, expected);
    }
}

#[test]
fn comparisons_with_null_are_false_and_their_negation_true() {
    for condition in [
        "DocumentId = 'a'",
        "DocumentId != 'a'",
        "EventName < 'a'",
        "EventName >= 'a'",
        "RuleId IN ('a')",
        "RuleId NOT IN ('a')",
        "InitiatedBy BETWEEN 'a' AND 'b'",
        "InitiatedBy NOT BETWEEN 'a' AND 'b'",
        "DocumentId STARTS_WITH ''",
        "DocumentId NOT STARTS_WITH 'a'",
        "CloseTime > '2000-01-01'",
        "CloseTime <= '2000-01-01'",
        "ExecutionDuration >= 0",
        "ExecutionDuration != 0",
        "CloseTime IS NOT NULL",
    ] {
        check(condition, &OPEN, false);
        check(&format!("NOT {condition}"), &OPEN, true);
    }
    check("CloseTime IS NULL AND ExecutionDuration IS NULL", &OPEN, true);
    check("CloseTime IS NULL OR ExecutionDuration IS NULL", &CLOSED, false);
}

#[test]
fn keywords_have_no_case_and_spaces_are_optional() {
    check(
        "not(`WorkflowId`='a'or\n`RunId`in('b','c'))and StartTime is Not null",
        &CLOSED,
        true,
    );
    check(
        "RunId starts_with 'run' AND RunId between 'a' and 'z'",
        &CLOSED,
        true,
    );
}

#[test]
fn quotes_hold_any_text() {
    for (condition, expected) in [
        (r#"InitiatedBy = "o'neil""#, true),
        (r#"EventName = "say ""hi""""#, true),
        (r"InitiatedBy = 'o\''neil'", false),
        ("DocumentId != ''", true),
        ("DocumentId != ''''", true),
        ("DocumentId IN ('(', ' AND ', 'ORDER BY', 'é', 'invoice')", true),
    ] {
        check(condition, &CLOSED, expected);
    }
}

#[test]
fn statuses_are_taken_in_every_spelling() {
    for (name, status) in [
        ("Running", "RUNNING"),
        ("completed", "COMPLETED"),
        ("FAILED", "FAILED"),
        ("Canceled", "CANCELED"),
        ("Terminated", "TERMINATED"),
        ("ContinuedAsNew", "CONTINUED_AS_NEW"),
        ("continued_as_new", "CONTINUED_AS_NEW"),
        ("TimedOut", "TIMED_OUT"),
        ("Timed_Out", "TIMED_OUT"),
    ] {
        let run = RunFields { status, ..CLOSED };
        check(&format!("ExecutionStatus = '{name}'"), &run, true);
        check(&format!("ExecutionStatus != '{name}'"), &run, false);
        check(&format!("ExecutionStatus IN ('{name}')"), &run, true);
        check(&format!("ExecutionStatus NOT IN ('{name}')"), &run, false);
    }
}

#[test]
fn times_are_instants_in_milliseconds() {
    for (condition, expected) in [
        ("StartTime = '2026-01-31T09:00:00+01:00'", true),
        ("StartTime = '2026-01-31T08:00:00.0009Z'", true),
        ("StartTime = '2026-01-31T08:00:00.001Z'", false),
        ("StartTime < '2026-02-01'", true),
        ("StartTime BETWEEN '2026-01-31' AND '2026-01-31T08:00:00Z'", true),
        ("StartTime NOT IN ('2026-01-31')", true),
        ("StartTime > '2026-01-31T08:00:00Z'", false),
    ] {
        check(condition, &CLOSED, expected);
    }
    let midnight = RunFields {
        start_time: START - 8 * 3_600_000,
        ..CLOSED
    };
    check("StartTime = '2026-01-31'", &midnight, true);
}

#[test]
fn durations_are_seconds_or_numbers_with_units() {
    for (value, milliseconds) in [
        ("90", 90_000),
        ("1.5", 1_500),
        ("0.0019", 1),
        ("-1", -1_000),
        ("'90s'", 90_000),
        ("'1h30m'", 5_400_000),
        ("'1.5h'", 5_400_000),
        ("'1m30.5s'", 90_500),
        ("'500ms'", 500),
        ("'2500us'", 2),
        ("'2500\u{b5}s'", 2),
        ("'2500\u{3bc}s'", 2),
        ("'1999999ns'", 1),
        ("'.5s'", 500),
        ("'0'", 0),
        ("'+1s'", 1_000),
        ("'-1s'", -1_000),
    ] {
        let run = RunFields {
            close_time: Some(START + milliseconds),
            ..CLOSED
        };
        check(&format!("ExecutionDuration = {value}"), &run, true);
    }
}

#[test]
fn the_text_of_a_filter_has_one_spelling() {
    for (text, printed) in [
        (
            "((`RunId`=\"a'b\")) and not(ExecutionStatus='TimedOut')",
            "RunId = 'a''b' AND NOT ExecutionStatus = 'TIMED_OUT'",
        ),
        (
            "StartTime>='2026-01-31' or ExecutionDuration in ('1h30m', 0.5)",
            "StartTime >= '2026-01-31T00:00:00.000Z' OR ExecutionDuration IN (5400, 0.500)",
        ),
        (
            "RunId is not null and (RunId not starts_with 'a' and (RunId not between 'a' and 'b' or RunId is null))",
            "RunId IS NOT NULL AND (RunId NOT STARTS_WITH 'a' AND (RunId NOT BETWEEN 'a' AND 'b' OR RunId IS NULL))",
        ),
        (" ", ""),
    ] {
        let filter = Filter::parse(text).unwrap();
        assert_eq!(filter.to_string(), printed);
        assert_eq!(Filter::parse(printed).unwrap(), filter);
    }
}

#[test]
fn a_filter_narrows_the_runs_by_what_all_of_them_must_have() {
    let narrowed = |text: &str| Filter::parse(text).unwrap().narrowed();
    assert_eq!(
        narrowed(
            "WorkflowId = 'a' AND (RunId = 'b' AND WorkflowType = 'c') AND DocumentId = 'd' AND RuleId = 'e' \
             AND ExecutionStatus IN ('Failed', 'Running', 'TimedOut') AND ExecutionStatus IN ('Running', 'Failed') \
             AND StartTime > '2026-01-30' AND StartTime >= '2026-01-31' AND StartTime < '2026-02-02' \
             AND StartTime BETWEEN '2026-01-01' AND '2026-02-01'"
        ),
        Narrowed {
            status: Some(vec!["RUNNING", "FAILED"]),
            workflow_type: Some("c".into()),
            document_id: Some("d".into()),
            rule_id: Some("e".into()),
            run_id: Some("b".into()),
            workflow_id: Some("a".into()),
            start_from: Some(START - 8 * 3_600_000),
            start_to: Some(START + 16 * 3_600_000),
        }
    );
    let point = narrowed("StartTime = '2026-01-31T08:00:00Z'");
    assert_eq!((point.start_from, point.start_to), (Some(START), Some(START)));
    let status = narrowed("ExecutionStatus = 'Failed' AND ExecutionStatus = 'Running'").status;
    assert_eq!(status, Some(vec![]));
    for text in [
        "",
        "WorkflowId = 'a' OR RunId = 'b'",
        "NOT WorkflowId = 'a'",
        "WorkflowId != 'a' AND RunId STARTS_WITH 'b'",
        "ExecutionStatus != 'Failed' AND ExecutionStatus NOT IN ('Running')",
        "StartTime != '2026-01-31' AND StartTime NOT BETWEEN '2026-01-31' AND '2026-02-01'",
        "CloseTime = '2026-01-31' AND InitiatedBy = 'a'",
    ] {
        assert_eq!(narrowed(text), Narrowed::default(), "{text}");
    }
}
