//! Tests CSV files: which are accepted, and the errors of the others.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::stores::artifact;
use tests::{Answer, Store};

/// Creates a store with one table of the three columns that most files here have.
async fn started() -> Store {
    let store = Store::start().await;
    store
        .table("t", &["id BIGINT", "name STRING", "amount DECIMAL(12,2)"])
        .await;
    store
}

async fn rows(store: &Store) -> Value {
    store.rows("SELECT id, name, amount FROM t ORDER BY id").await
}

/// Imports a file as the table's only rows.
async fn replace(store: &Store, uri: &str, bytes: &[u8]) -> Answer {
    store.post("/import", &replacement(store, uri, bytes)).await
}

/// Stores a file. Returns the request that replaces the rows of 't' by it.
fn replacement(store: &Store, uri: &str, bytes: &[u8]) -> Value {
    store.put_artifact(uri, bytes);
    let mut body = artifact("t", uri);
    body["mode"] = "replace".into();
    body["tables"]["t"]["format"] = "csv".into();
    body
}

#[tokio::test]
async fn files_as_people_and_programs_write_them() {
    let store = started().await;
    let two = json!([[1, "a", "1.50"], [2, "b", "2.00"]]);
    for (what, file, expected) in [
        ("LF", "id,name,amount\n1,a,1.5\n2,b,2\n", two.clone()),
        (
            "no end of line at the end",
            "id,name,amount\n1,a,1.5\n2,b,2",
            two.clone(),
        ),
        ("CRLF", "id,name,amount\r\n1,a,1.5\r\n2,b,2\r\n", two.clone()),
        (
            "byte order mark",
            "\u{feff}id,name,amount\n1,a,1.5\n2,b,2\n",
            two.clone(),
        ),
        (
            "byte order mark and quotes",
            "\u{feff}\"id\",\"name\",\"amount\"\n1,a,1.5\n2,b,2\n",
            two.clone(),
        ),
        (
            "all quoted",
            "\"id\",\"name\",\"amount\"\n\"1\",\"a\",\"1.5\"\n\"2\",\"b\",\"2\"\n",
            two.clone(),
        ),
        (
            "another order and case",
            "AMOUNT,Id,NAME\n1.5,1,a\n2,2,b\n",
            two.clone(),
        ),
        ("names between spaces", "id , name, amount\n1,a,1.5\n2,b,2\n", two),
        (
            "quotes, commas and line breaks",
            "id,name,amount\n1,\"say \"\"hi\"\", then\nleave\",1\n2,\"a\r\nb\",2\n",
            json!([[1, "say \"hi\", then\nleave", "1.00"], [2, "a\r\nb", "2.00"]]),
        ),
        (
            "JSON in a text",
            "id,name,amount\n1,\"{\"\"at\"\": [1.5, \"\"x\"\"]}\",1\n",
            json!([[1, "{\"at\": [1.5, \"x\"]}", "1.00"]]),
        ),
        (
            "nothing and the empty text",
            "id,name,amount\n1,,\n2,\"\",2\n3,NULL,3\n",
            json!([[1, null, null], [2, "", "2.00"], [3, "NULL", "3.00"]]),
        ),
        (
            "a column that is left out",
            "name,id\na,1\nb,2\n",
            json!([[1, "a", null], [2, "b", null]]),
        ),
        (
            "other scripts",
            "id,name,amount\n1,Größe 日本 \u{1F600},1\n2,\u{202E}é,2\n",
            json!([[1, "Größe 日本 \u{1F600}", "1.00"], [2, "\u{202E}é", "2.00"]]),
        ),
        (
            "spaces are text",
            "id,name,amount\n1, a ,1\n",
            json!([[1, " a ", "1.00"]]),
        ),
        ("a header row alone", "id,name,amount\n", json!([])),
        ("a header row alone, without its end", "id,name,amount", json!([])),
        (
            "SQL in a text",
            "id,name,amount\n1,'; DROP TABLE t; --,1\n2,=1+1,2\n",
            json!([[1, "'; DROP TABLE t; --", "1.00"], [2, "=1+1", "2.00"]]),
        ),
    ] {
        let answer = replace(&store, "out/file.csv", file.as_bytes()).await;
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
        assert_eq!(rows(&store).await, expected, "{what}");
        let count = expected.as_array().unwrap().len();
        assert_eq!(answer.body["rows_imported"], json!({ "t": count }), "{what}");
    }
}

#[tokio::test]
async fn gzip_is_known_by_its_first_bytes() {
    let store = started().await;
    let zipped = include_bytes!("../../data/rows.csv.gz");
    for uri in [
        "out/rows.csv.gz",
        "out/rows.csv",
        "out/rows",
        "out/deep/er/Rows.CSV.GZ",
    ] {
        replace(&store, uri, zipped).await.expect_status(200);
        assert_eq!(
            rows(&store).await,
            json!([[1, "a", "1.50"], [2, "b", "2.00"]]),
            "{uri}"
        );
    }
    // The name says gzip; the bytes are plain text.
    let plain = replace(&store, "out/plain.csv.gz", b"id,name\n3,c\n").await;
    plain.expect_status(200);
    assert_eq!(rows(&store).await, json!([[3, "c", null]]));
    for damaged in [&zipped[..zipped.len() - 9], &zipped[..12], &[0x1f, 0x8b]] {
        let refused = replace(&store, "out/cut.csv.gz", damaged).await;
        let refused = refused.expect_error(422, "unprocessable");
        assert!(refused.message().contains("'t'"), "{}", refused.message());
    }
    assert_eq!(rows(&store).await, json!([[3, "c", null]]));
}

/// DuckDB loses rows of such files: two thirds of the first file's.
#[tokio::test]
async fn every_row_of_a_gzip_file_of_many_parts_is_read() {
    let store = started().await;
    let part = |text: &str, extra: &[u8]| {
        let mut builder = flate2::GzBuilder::new();
        if !extra.is_empty() {
            builder = builder.extra(extra);
        }
        let mut encoder = builder.write(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let line = part("1,a,\n", &[]);
    let large = "1,a,\n".repeat(5_000);
    for (file, rows) in [
        (
            [part("id,name,amount\n", &[]), line.repeat(2_000)].concat(),
            2_000,
        ),
        (
            [part("id,name,amount\n", &[]), line.repeat(9_000)].concat(),
            9_000,
        ),
        (
            [part(&format!("id,name,amount\n{large}"), &[]), line.repeat(4_000)].concat(),
            9_000,
        ),
        (part("id,name,amount\n1,a,1\n", &[b'x'; 65_000]), 1),
        (
            part("id,name,amount\n1,a,1\n", b"")
                .iter()
                .enumerate()
                // FTEXT is the first flag in the fourth byte.
                .map(|(at, byte)| if at == 3 { byte | 1 } else { *byte })
                .collect(),
            1,
        ),
    ] {
        let answer = replace(&store, "out/parts.csv.gz", &file).await;
        assert_eq!(
            answer.expect_status(200).body["rows_imported"],
            json!({ "t": rows })
        );
        assert_eq!(store.rows("SELECT count(*) FROM t").await, json!([[rows]]));
    }
}

#[tokio::test]
async fn a_file_that_is_not_read_says_where_and_why() {
    let store = started().await;
    replace(&store, "out/kept.csv", b"id,name,amount\n7,kept,7\n")
        .await
        .expect_status(200);
    let huge = format!("id,name,amount\n1,{},1\n", "x".repeat(3_000_000));
    let mut wrong = Vec::new();
    for (what, file, parts) in [
        ("empty", &b""[..], &["empty"][..]),
        ("a mark alone", b"\xef\xbb\xbf", &["empty"]),
        ("an unknown column", b"id,colour\n1,red\n", &["'colour'"]),
        ("a column twice", b"id,ID\n1,1\n", &["twice"]),
        ("a nameless column", b"id,name,\n1,a,\n", &["column 3"]),
        ("no header row", b"1,a,1.5\n2,b,2\n", &["'1'"]),
        ("semicolons", b"id;name;amount\n1;a;1,5\n", &["';'", "comma"]),
        ("tabs", b"id\tname\tamount\n1\ta\t1\n", &["comma"]),
        (
            "too few fields",
            b"id,name,amount\n1,a,1\n2,b\n",
            &["row 2", "2 fields", "3"],
        ),
        (
            "too many fields",
            b"id,name,amount\n1,a,1\n2,b,2,c\n",
            &["row 2", "fields where the header row has 3"],
        ),
        ("an open quote", b"id,name,amount\n1,\"a,1\n2,b,2\n", &["quote"]),
        (
            "text after a quote",
            b"id,name,amount\n1,\"a\"b,1\n",
            &["row 1", "quote"],
        ),
        (
            "no number",
            b"id,name,amount\n1,a,1\nx,b,2\n",
            &["row 2", "'id'", "'x'"],
        ),
        (
            "decimal comma",
            b"id,name,amount\n1,a,\"1,5\"\n",
            &["row 1", "'amount'", "'1,5'"],
        ),
        (
            "a fraction",
            b"id,name,amount\n1.5,a,1\n",
            &["row 1", "'id'", "'1.5'"],
        ),
        (
            "Latin-1",
            b"id,name,amount\n1,a,1\n2,Gr\xf6\xdfe,2\n",
            &["row 2", "UTF-8"],
        ),
        ("Latin-1 header", b"id,name,Gr\xf6\xdfe\n1,a,1\n", &["UTF-8"]),
        ("UTF-16", b"\xff\xfei\0d\0\n\0" as &[u8], &["UTF-8"]),
        ("zeros", &[0; 100], &["'t'"]),
        (
            "line ends of the wrong order",
            b"id,name,amount\n\r1,a,1\n\r2,b,2\n\r",
            &["line ends"],
        ),
        ("a huge field", huge.as_bytes(), &["row 1", "longer than 2 MB"]),
        (
            "a workbook",
            b"PK\x03\x04\x14\0\x06\0\x08\0xl/workbook.xml",
            &["'t'"],
        ),
    ] {
        let refused = replace(&store, "out/bad.csv", file).await;
        let lacks = |part: &&&str| !refused.message().contains(**part);
        let missing: Vec<_> = ["'t'"].iter().chain(parts).filter(lacks).collect();
        if refused.status != 422 || !missing.is_empty() {
            wrong.push(format!("{what}: no {missing:?} in {}", refused.text()));
        }
        if refused.status >= 400 {
            refused.check_error();
            assert_eq!(rows(&store).await, json!([[7, "kept", "7.00"]]), "{what}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_line_break_in_a_text_does_not_shift_the_row_that_is_told() {
    let store = started().await;
    for (file, row) in [
        ("id,name,amount\n1,\"a\nb\nc\",1\nx,b,2\n", "row 2"),
        ("id,name,amount\n1,\"a\nb\nc\",1\n2,b\n", "row 2"),
        (
            "\"id\",\"name\",\"amount\"\r\n1,\"a\r\nb\",1\r\n2,b,2\r\n3,c\r\n",
            "row 3",
        ),
    ] {
        let refused = replace(&store, "out/bad.csv", file.as_bytes()).await;
        let refused = refused.expect_error(422, "unprocessable");
        assert!(refused.message().contains(row), "{file:?}: {}", refused.message());
    }
}

/// If the unreadable first line were skipped, the header row would become a row of data.
#[tokio::test]
async fn a_first_line_that_cannot_be_read_is_not_skipped() {
    let store = Store::start().await;
    store.table("texts", &["a STRING", "b STRING"]).await;
    for (what, file) in [
        ("Latin-1 above the header row", &b"Gr\xf6\xdfe,x\na,b\n1,2\n"[..]),
        ("a title above the header row", b"Report\na,b\n1,2\n"),
        ("a comment above the header row", b"# made today\na,b\n1,2\n"),
        ("an empty line above the header row", b"\na,b\n1,2\n"),
    ] {
        let answer = store.append_csv("texts", file).await;
        let rows = store.rows("SELECT a, b FROM texts").await;
        let is_refused = answer.status == 422 && rows == json!([]);
        let is_read = answer.status == 200 && rows == json!([["1", "2"]]);
        assert!(
            is_refused || (is_read && what.contains("empty line")),
            "{what}: {rows} {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn a_required_column_must_be_in_the_file() {
    let store = Store::start().await;
    let table = json!({ "tables": [{ "name": "t", "columns": [
        { "name": "id", "type": "BIGINT", "primary_key": true },
        { "name": "state", "type": "STRING", "nullable": false, "default": "'new'" },
        { "name": "note", "type": "STRING", "nullable": false }
    ] }] });
    store.post("/tables", &table).await.expect_status(201);
    let refused = store.append_csv("t", b"id,state\n1,a\n").await;
    let refused = refused.expect_error(422, "unprocessable");
    assert!(refused.message().contains("'note'"), "{}", refused.message());
    for (file, part) in [
        (&b"id,note\n1,a\n2,\n"[..], "'note'"),
        (b"id,note\n1,a\n,b\n", "'id'"),
        (b"id,note\n1,a\n1,b\n", "(id)"),
    ] {
        let refused = store.append_csv("t", file).await.expect_error(409, "conflict");
        assert!(refused.message().contains(part), "{}", refused.message());
    }
    store
        .append_csv("t", b"id,note\n1,a\n2,\"\"\n")
        .await
        .expect_status(200);
    assert_eq!(
        store.rows("SELECT * FROM t ORDER BY id").await,
        json!([[1, "new", "a"], [2, "new", ""]])
    );
}

#[tokio::test]
async fn a_hundred_thousand_rows_are_all_there_or_none() {
    let store = started().await;
    let mut file = "id,name,amount\r\n".to_owned();
    for id in 1..=100_000 {
        let amount = if id == 99_999 { "many" } else { "0.01" };
        let _ = write!(file, "{id},\"row {id}\",{amount}\r\n");
    }
    let body = replacement(&store, "out/large.csv", file.as_bytes());
    let refusal = store.import_refusal(&body).await;
    for part in ["'t'", "row 99999", "'amount'", "'many'"] {
        assert!(refusal.contains(part), "{refusal}");
    }
    assert_eq!(rows(&store).await, json!([]));

    let good = file.replace("many", "0.01");
    let body = replacement(&store, "out/large.csv", good.as_bytes());
    assert_eq!(store.finished_import(&body).await["rows_imported"]["t"], 100_000);
    let sums = store
        .rows("SELECT count(*), sum(id), sum(amount), count(DISTINCT name), max(name) FROM t")
        .await;
    assert_eq!(
        sums,
        json!([[100_000, 5_000_050_000_i64, "1000.00", 100_000, "row 99999"]])
    );
}
