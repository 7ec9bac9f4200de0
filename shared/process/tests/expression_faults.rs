//! Tests which expressions are refused when a definition is checked.
#![cfg(test)]

use process::check;
use serde_json::json;

#[test]
fn expressions() {
    let long = format!("${{ {} }}", ".".repeat(20_000));
    let bypass = format!("${{ {} }}", "(\")\"+".repeat(300));
    for (source, part) in [
        ("${ .a + }", "expected term at line 1, column"),
        ("${ (.a }", "the end of what begins with ("),
        ("${ .a } and ${ .b }", "does not parse"),
        (
            "${ frob }",
            "calls 'frob' at line 1, column 2, which does not exist",
        ),
        ("${ map(.; .) }", "calls 'map/2'"),
        ("${ $nope }", "'$nope' at line 1, column 2"),
        ("${ now }", "the time changes"),
        ("${ def f: now; f }", "refused"),
        ("${ \"\\(now)\" }", "refused"),
        ("${ {a: [now]} }", "refused"),
        ("${ localtime }", "time zone"),
        ("${ strflocaltime(\"%c\") }", "time zone"),
        ("${ env.HOME }", "no environment"),
        ("${ $ENV.HOME }", "no environment"),
        ("${ [inputs] }", "one input"),
        ("${ input }", "one input"),
        ("${ debug }", "prints nothing"),
        ("${ debug(.) }", "prints nothing"),
        ("${ stderr }", "prints nothing"),
        ("${ halt }", "cannot end"),
        ("${ halt_error }", "cannot end"),
        ("${ import \"a\" as a; . }", "does not parse"),
        ("${ break $x }", "label '$x'"),
        ("${ reduce .[] as $x (0) }", "reduce/1"),
        ("${ @nope \"\\(.)\" }", "@nope"),
        ("${ _setpath(.; 1) }", "'_setpath/2'"),
        (bypass.as_str(), "deeper than 200"),
        (long.as_str(), "20002 bytes; at most 16384"),
    ] {
        let text = json!({
            "document": { "dsl": "1.0.0", "namespace": "n", "name": "n", "version": "1.0.0" },
            "do": [{ "a": { "set": { "v": source } } }],
        });
        let found = check(&text).map(|_| ()).expect_err(source);
        assert_eq!(found[0].pointer, "/do/0/a/set/v");
        assert!(found[0].message.contains(part), "{source}: {}", found[0].message);
    }
}

#[test]
fn expressions_that_are_taken() {
    for source in [
        "def f($x; g): $x | g; f(1; . + 1)",
        ". as {a: $x, $y, (\"z\"): [$z]} | $x + $y + $z",
        "label $out | foreach .[] as $i (0; . + $i; if . > 3 then ., break $out else empty end)",
        "try error(\"x\") catch . // @base64 \"\\(.a)\" | {a, \"b\": 1, $input, (\"c\"): 2}",
        "reduce range(3) as $i ([]; . + [$i]) | .[1:] | ..|numbers",
        "$task.startedAt | fromdate | todate | strptime(\"%Y\")?",
        "[.[] | select(.a == \"x\")] | sort_by(.b) | group_by(.c) | map(length) | add",
        "$secrets as $s | 1",
    ] {
        let text = json!({
            "document": { "dsl": "1.0.0", "namespace": "n", "name": "n", "version": "1.0.0" },
            "do": [{ "a": { "set": { "v": format!("${{ {source} }}") } } }],
        });
        let found = check(&text);
        assert_eq!(found.is_err(), source.contains("$secrets"), "{source}: {found:?}");
    }
}

/// The parser recurses; each of these has the maximum depth of a text.
#[test]
fn expressions_that_nest_deep_do_not_overflow() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("-", ""),
        ("{a:", "}"),
        (".[", "]"),
        ("try ", ""),
        (".|", ""),
        (". as $x|", ""),
        ("if ", " then . end"),
        ("def f: ", "; f"),
        ("\"\\(", ")\""),
        ("reduce ", " as $x (.;.)"),
        ("label $x|", ""),
        (".a[.", "]"),
        ("f(", ")"),
    ] {
        for is_closed in [true, false] {
            let count = 16_000 / (open.len() + close.len());
            let close = if is_closed {
                close.repeat(count)
            } else {
                String::new()
            };
            let source = format!("${{ {}.{close} }}", open.repeat(count));
            let text = json!({
                "document": { "dsl": "1.0.0", "namespace": "n", "name": "n", "version": "1.0.0" },
                "do": [{ "a": { "set": { "v": source } } }],
            });
            if let Err(found) = check(&text) {
                assert_eq!(found[0].pointer, "/do/0/a/set/v", "{open}: {:?}", found[0]);
            }
        }
    }
}
