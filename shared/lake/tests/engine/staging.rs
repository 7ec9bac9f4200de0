//! Tests imports: accepted and refused input, and the messages.

use serde_json::{Value, json};

use crate::fixture::{Store, limits, table};

fn people() -> Store {
    let columns = json!([
        { "name": "id", "type": "BIGINT", "primary_key": true },
        { "name": "name", "type": "STRING" },
        { "name": "score", "type": "DECIMAL(6,2)" },
        { "name": "born", "type": "DATE" },
        { "name": "seen", "type": "TIMESTAMP" },
        { "name": "ok", "type": "BOOLEAN", "default": "true" },
        { "name": "note", "type": "JSON" }
    ]);
    Store::new(limits(), vec![table("people", columns)])
}

async fn imported(csv: impl AsRef<[u8]>, select: &str) -> Value {
    let mut store = people();
    store.import(0, csv).await.unwrap();
    store
        .rows(&format!("select {select} from people order by id"))
        .await
}

async fn refused(csv: impl AsRef<[u8]>) -> (u16, String, String) {
    let store = people();
    let error = store.stage_csv(0, csv).await.unwrap_err();
    assert!(!store.directory.path().join("segment-0.parquet").exists());
    (
        error.status(),
        error.message().to_owned(),
        error.details().unwrap_or("").to_owned(),
    )
}

#[tokio::test]
async fn a_header_maps_columns_in_any_order_and_case() {
    let csv = "Name,ID,seen\nada,1,2024-01-01T10:00:00+02:00\n\"\",2,2024-01-01 10:00:00.5\n,3,\n";
    assert_eq!(
        imported(csv, "id, name, ok, seen, born").await,
        json!([
            [1, "ada", true, "2024-01-01T08:00:00.000Z", null],
            [2, "", true, "2024-01-01T10:00:00.500Z", null],
            [3, null, true, null, null]
        ])
    );
}

#[tokio::test]
async fn byte_order_mark_crlf_and_line_breaks_in_quotes_are_fine() {
    let csv = "\u{feff}\"id\",\"na\"\"me\"\r\n";
    assert_eq!(refused(csv).await.0, 422);
    let csv = "\u{feff}id,\"name\",note\r\n1,\"a\r\nb, \"\"c\"\"\",\"{\"\"x\"\": [1]}\"\r\n2,z,\r\n";
    assert_eq!(
        imported(csv, "id, name, note").await,
        json!([[1, "a\r\nb, \"c\"", {"x": [1]}], [2, "z", null]])
    );
    assert_eq!(
        imported("id,name\n1,no newline at the end", "name").await,
        json!([["no newline at the end"]])
    );
}

#[tokio::test]
async fn compression_is_known_by_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let connection = duckdb::Connection::open_in_memory().unwrap();
    for compression in ["gzip", "zstd"] {
        let path = directory.path().join(compression);
        let copy = format!(
            "COPY (SELECT 7 AS id, 'zip' AS name) TO '{}' (FORMAT csv, HEADER, COMPRESSION {compression})",
            path.display()
        );
        connection.execute_batch(&copy).unwrap();
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(imported(&bytes, "id, name").await, json!([[7, "zip"]]));
        for cut in [bytes.len() / 2, bytes.len() - 1] {
            let (status, message, _) = refused(&bytes[..cut]).await;
            assert!(
                status == 422 && message.contains("cut off or damaged"),
                "{compression}: {message}"
            );
        }
    }
}

#[tokio::test]
async fn bad_values_are_listed_with_row_and_column() {
    let csv = "id,name,score,born\n1,\"two\nlines\",1.5,2024-01-02\n2,b,much,2024-01-02\nx,c,1,02.01.2024\n1.5,d,1,\n";
    let (status, message, details) = refused(csv).await;
    assert_eq!(status, 422);
    assert_eq!(
        message,
        "Table 'people', row 2: column 'score': 'much' is not a DECIMAL(6,2); write it with digits and a point alone, as 1234.5. 2 more rows are at fault. \
         Row 1 is the first row of data."
    );
    assert_eq!(
        details,
        "row 2: column 'score': 'much' is not a DECIMAL(6,2); write it with digits and a point alone, as 1234.5; row 3: column 'id': 'x' is not a BIGINT; write it with digits alone, as 1234; \
         row 4: column 'id': '1.5' is not a BIGINT; round it, or set 'rounding'."
    );
    let many: String = (0..50).map(|i| format!("x{i}\n")).collect();
    let (_, _, details) = refused(format!("id\n{many}")).await;
    assert_eq!(details.matches("row ").count(), 10);
    for csv in [
        "id,note\n1,{\n",
        "id,ok\n1,maybe\n",
        "id,seen\n1,yesterday\n",
        "id,score\n1,99999.00\n",
        "id\n1e-3\n",
    ] {
        let (status, message, _) = refused(csv).await;
        assert!(status == 422 && message.contains("row 1: column '"), "{message}");
    }
}

#[tokio::test]
async fn lossless_integers_are_taken() {
    assert_eq!(imported("id\n1.0\n2\n", "id").await, json!([[1], [2]]));
}

#[tokio::test]
async fn truth_is_taken_in_each_common_word() {
    let csv = "id,ok\n1,true\n2,yes\n3,T\n4,y\n5,1\n6,False\n7,no\n8,f\n9,N\n10,0\n";
    let rows = imported(csv, "ok").await;
    let expected: Vec<_> = (0..10).map(|row| json!([row < 5])).collect();
    assert_eq!(rows, json!(expected));
}

#[tokio::test]
async fn rows_of_the_wrong_shape_are_refused() {
    for (csv, expected) in [
        (
            &b"id,name\n1,a\n2\n3,c\n"[..],
            "row 2: 1 field where the header row has 2",
        ),
        (
            b"id,name\n1,a\n2,b,c,d\n",
            "row 2: 4 fields where the header row has 2",
        ),
        (
            b"id,name\n1,\"a\n",
            "row 1: the quote opened in row 1 is not closed; the rows after it were not read. Row 1",
        ),
        (
            b"id,name\n1,a\n2,\"b\n3,c\n4,\"d\"\n5\n",
            "row 2: the quote opened in row 2 is not closed; the rows after it were not read. Row 1",
        ),
        (
            b"id,name\nx,a\n2,b\n3,\"c\n4,d\n",
            "row 1: column 'id': 'x' is not a BIGINT; write it with digits alone, as 1234. One more row is at fault",
        ),
        (
            b"id,name\n1,a\n2,b,\n",
            "row 2: 3 fields where the header row has 2",
        ),
        (b"id\n1,\n", "row 1: 2 fields where the header row has 1"),
        (
            b"id,name\n1,\"a\"b\n",
            "row 1: text or a blank follows a closing quote",
        ),
        // Empty lines are not rows, for any kind of fault.
        (
            b"id,name\n1,a\n\n\nx,b\n",
            "row 2: column 'id': 'x' is not a BIGINT",
        ),
        (
            b"id,name\n1,a\n\n\n4,b,c\n",
            "row 2: 3 fields where the header row has 2",
        ),
        (b"id,name\n1,a\n\r\n\n4,\"b\n", "row 2: the quote opened in row 2"),
        (b"id,name\n1,\"a\n\nb\"\n\n4\n", "row 2: 1 field where"),
        (b"id,name\n1,a\n2,\xff\xfe\n", "row 2: the text is not UTF-8"),
        (b"", "the file is empty"),
        (b"\n", "the file is empty"),
        (b"id,,name\n1,2,3\n", "header row names '' (column 2)"),
        (
            b"id,nmae\n1,a\n",
            "header row names 'nmae' (column 2), which the table does not have; it has id, name",
        ),
        (b"id,ID\n1,2\n", "header row names 'ID' twice"),
        (b"id,\"name\n1,a\n", "never closed"),
        (b"name\na\n", "lacks the column 'id', which needs a value"),
        (b"\xff\xfei\0d\0\n\0", "UTF-16"),
    ] {
        let (status, message, _) = refused(csv).await;
        let shown = String::from_utf8_lossy(csv);
        assert_eq!(status, 422, "{shown:?}: {message}");
        assert!(message.contains(expected), "{shown:?}: {message}");
    }
}

/// A file that DuckDB cannot read at all, for each of three reasons.
#[tokio::test]
async fn faults_of_values_and_of_shape_come_in_one_answer() {
    let (_, _, details) = refused(b"id,name\nx,a\n2\n3,\xff\n4,d,\n\n5.5,e\n6,\"f\n7,g\n").await;
    for part in [
        "row 1: column 'id': 'x' is not a BIGINT",
        "; row 2: 1 field where the header row has 2",
        "; row 3: the text is not UTF-8",
        "; row 4: 3 fields where the header row has 2",
        "; row 5: column 'id': '5.5' is not a BIGINT",
        "; row 6: the quote opened in row 6 is not closed; the rows after it were not read.",
    ] {
        assert!(details.contains(part), "no {part:?} in {details}");
    }
}

#[tokio::test]
async fn line_ends_are_the_same_in_all_rows() {
    for (csv, row) in [
        ("id,name\n1,a\r\n2,b\r\n", 1),
        ("id,name\r\n1,a\r\n2,b\n3,c\r\n", 2),
        ("id,name\n1,a\n2,b\rc\n", 2),
        ("id,name\n1,\"a\"\r2,b\n", 1),
    ] {
        let (status, message, _) = refused(csv).await;
        assert_eq!(status, 422, "{csv:?}: {message}");
        let expected = format!("row {row}: the line ends must be LF or CRLF");
        assert!(message.contains(&expected), "{csv:?}: {message}");
    }
}

#[tokio::test]
async fn a_header_without_rows_gives_no_segment() {
    let store = people();
    for csv in ["id,name", "id,name\n", "id,name\r\n"] {
        let staged = store.stage_csv(0, csv).await.unwrap();
        assert_eq!((staged.rows, staged.segment), (0, None));
    }
    assert!(!store.directory.path().join("segment-0.parquet").exists());
}

#[tokio::test]
async fn a_missing_value_is_a_conflict() {
    let (status, message, _) = refused("id,name\n1,a\n,b\n").await;
    assert_eq!(status, 409);
    assert!(
        message.starts_with("Table 'people', row 2: the column 'id' needs a value"),
        "{message}"
    );
}

#[tokio::test]
async fn a_segment_says_what_it_holds() {
    let store = people();
    let staged = store
        .stage_csv(0, "id,name,score\n5,a,1\n-7,,2.5\n")
        .await
        .unwrap();
    let (segment, path) = staged.segment.unwrap();
    assert_eq!(
        (segment.rows, segment.bytes),
        (2, std::fs::metadata(&path).unwrap().len())
    );
    assert_eq!(segment.sha256.len(), 64);
    let id = &segment.columns[&1];
    assert_eq!(
        (id.min.as_deref(), id.max.as_deref(), id.null_count),
        (Some("-7"), Some("5"), Some(0))
    );
    assert_eq!(segment.columns[&2].null_count, Some(1));
    assert_eq!(segment.columns[&4].null_count, Some(2));
}

#[tokio::test]
async fn rows_of_a_request_keep_their_digits() {
    let columns = json!([
        { "name": "n", "type": "DECIMAL(38,10)" }, { "name": "b", "type": "BIGINT", "default": "7" },
        { "name": "u", "type": "STRING", "default": "uuid()" }, { "name": "seen", "type": "TIMESTAMP", "default": "current_timestamp" }
    ]);
    let mut store = Store::new(limits(), vec![table("t", columns)]);
    let rows =
        r#"[{"n":1234567890123456789.0123456789,"B":9223372036854775807},{"n":"2","b":null},{"u":"x"}]"#;
    let staged = store.stage_rows(0, rows).await.unwrap();
    store.keep(0, staged);
    assert_eq!(
        store.rows("select n, b, length(u), seen from t").await,
        json!([
            [
                "1234567890123456789.0123456789",
                "9223372036854775807",
                36,
                "2026-01-02T03:04:05.000Z"
            ],
            ["2.0000000000", null, 36, "2026-01-02T03:04:05.000Z"],
            [null, 7, 1, "2026-01-02T03:04:05.000Z"]
        ])
    );
    assert_eq!(store.stage_rows(0, "[]").await.unwrap().rows, 0);
}

#[tokio::test]
async fn bad_rows_of_a_request_are_named() {
    let store = people();
    for (rows, status, expected) in [
        (
            r#"[{"id":1},{"id":2,"nmae":"x"}]"#,
            422,
            "row 2: the table has no column 'nmae'",
        ),
        (
            r#"[{"id":1,"name":[5]}]"#,
            422,
            "row 1: column 'name': '[5]' is not a STRING; send a single value",
        ),
        (
            r#"[{"id":1},{"id":"x"}]"#,
            422,
            "row 2: column 'id': 'x' is not a BIGINT",
        ),
        (
            r#"[{"id":1.5}]"#,
            422,
            "row 1: column 'id': '1.5' is not a BIGINT",
        ),
        (
            r#"[{"id":true}]"#,
            422,
            "row 1: column 'id': 'true' is not a BIGINT",
        ),
        (r#"[{"id":1,"ok":"truth"}]"#, 422, "column 'ok'"),
        (r#"[{"id":1,"ID":2}]"#, 422, "named twice"),
        (r#"[{"id":1},7]"#, 422, "row 2: it is not an object"),
        (
            r#"[{"id":1},{"name":"x"}]"#,
            409,
            "row 2: the column 'id' needs a value",
        ),
    ] {
        let error = store.stage_rows(0, rows).await.unwrap_err();
        assert_eq!(error.status(), status, "{rows}: {error}");
        assert!(error.message().contains(expected), "{rows}: {error}");
    }
}

#[tokio::test]
async fn keys_occur_once() {
    let columns = json!([
        { "name": "a", "type": "BIGINT", "primary_key": true }, { "name": "b", "type": "STRING", "primary_key": true },
        { "name": "email", "type": "STRING", "unique": true }
    ]);
    let mut store = Store::new(limits(), vec![table("t", columns)]);
    store
        .import(0, "a,b,email\n1,x,\n1,y,\n2,x,e@x.org\n")
        .await
        .unwrap();
    let existing: Vec<_> = store.files.values().cloned().collect();
    for (csv, expected) in [
        ("a,b,email\n3,x,\n3,y,n@x.org\n", ""),
        (
            "a,b\n3,x\n4,y\n3,x\n",
            "3 the primary key (a, b) = ('3', 'x') occurs twice in the imported data, for the first time in row 1",
        ),
        (
            "a,b\n9,z\n2,x\n",
            "2 the primary key (a, b) = ('2', 'x') is already in the table",
        ),
        (
            "a,b,email\n5,x,q\n6,x,q\n",
            "2 the unique value (email) = ('q') occurs twice in the imported data, for the first time in row 1",
        ),
        (
            "a,b,email\n5,x,e@x.org\n",
            "1 the unique value (email) = ('e@x.org') is already in the table",
        ),
    ] {
        let (_, path) = store.stage_csv(0, csv).await.unwrap().segment.unwrap();
        let mut import = store.engine.begin_import("acme");
        let faults = import.check_keys(&store.tables[0], &path, existing.clone()).await;
        let found: Vec<_> = faults.unwrap().into_iter().map(|fault| fault.error).collect();
        let found: Vec<_> = found.iter().map(|e| format!("{} {}", e.row, e.reason)).collect();
        assert_eq!(found.join("\n"), expected, "{csv}");
    }
}

#[tokio::test]
async fn a_line_that_cannot_be_read_is_no_reason_to_take_the_next_for_the_header() {
    for csv in [
        &b"Gr\xf6\xdfe,x\nid,name\n1,a\n"[..],
        b"\"id\",\"na\nGr\xf6\xdfe\nme\"\n1,a\n",
        b"\xff\xfei\0d\0\n\x001\0\n\0",
    ] {
        let (status, message, _) = refused(csv).await;
        assert_eq!(status, 422, "{message}");
        assert!(message.contains("UTF-8"), "{csv:?} {message}");
    }
    let (status, message, _) = refused(format!("{}\nid,name\n1,a\n", "x".repeat(3_000_000))).await;
    assert_eq!(status, 422, "{message}");
    let (_, message, _) = refused(b"id,name\n1,a\n2,Gr\xf6\xdfe\n3,b\n").await;
    assert!(message.contains("row 2: the text is not UTF-8"), "{message}");
}

#[tokio::test]
async fn an_empty_line_above_the_header_is_refused() {
    let columns = json!([{ "name": "a", "type": "STRING" }, { "name": "b", "type": "STRING" }]);
    for csv in ["\na\n1\n", "\r\na,b\n1,2\n", "\n\na,b\n1,2\n"] {
        let store = Store::new(limits(), vec![table("t", columns.clone())]);
        let error = store.stage_csv(0, csv).await.unwrap_err();
        assert_eq!(error.status(), 422, "{csv:?} {error}");
        assert!(
            error.message().contains("the first line is empty"),
            "{csv:?} {error}"
        );
    }
}

#[tokio::test]
async fn other_separators_are_named() {
    for (csv, part) in [
        ("id;name\n1;a\n", "separated by commas, not by ';'"),
        ("id\tname\n1\ta\n", "separated by commas, not by tabs"),
        ("id|name\n1|a\n", "separated by commas, not by '|'"),
    ] {
        let (status, message, _) = refused(csv).await;
        assert_eq!(status, 422, "{message}");
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn what_a_type_cannot_hold_is_an_error() {
    let columns = json!([
        { "name": "f", "type": "FLOAT" },
        { "name": "d", "type": "DOUBLE" },
        { "name": "day", "type": "DATE" }
    ]);
    let digits = "9".repeat(400);
    for (csv, is_read) in [
        ("f\n1e39\n", false),
        ("f\n-1E39\n", false),
        ("d\n1e400\n", false),
        (&format!("d\n{digits}\n"), false),
        (&format!("f\n{digits}\n"), false),
        ("day\n2024-05-01T10:00:00Z\n", false),
        ("day\n2024-05-01 10:00:00\n", false),
        ("day\n2024-5-1 10\n", false),
        ("day\n2024-05-01x\n", false),
        ("day\n0044-03-15 (BC)\n", false),
        ("day\ninfinity\n", false),
        ("day\nepoch\n", false),
        ("f\n1_0\n", false),
        ("f\n1e38\n", true),
        ("f\n inf \n", true),
        ("f\nnan\n", true),
        ("d\n1e39\n-1e308\n-Infinity\n1e-400\n", true),
        ("day\n2024-05-01\n2024-5-1\n 2024/05/01 \n-0044-03-15\n", true),
    ] {
        let store = Store::new(limits(), vec![table("t", columns.clone())]);
        match store.stage_csv(0, csv).await {
            Ok(_) => assert!(is_read, "{csv}"),
            Err(error) => {
                assert!(!is_read, "{csv} {error}");
                assert_eq!(error.status(), 422, "{csv} {error}");
                assert!(error.message().contains("row 1: column"), "{csv} {error}");
            }
        }
    }
}

#[tokio::test]
async fn bad_rows_are_listed_in_order_whatever_is_wrong_with_them() {
    let columns = json!([{ "name": "a", "type": "INTEGER" }]);
    let store = Store::new(limits(), vec![table("t", columns)]);
    let rows = r#"[{"a":1},{"a":"x"},{"c":1},7,{"a":1,"A":2},{"a":1.5}]"#;
    let error = store.stage_rows(0, rows).await.unwrap_err();
    assert_eq!(
        error.details(),
        Some(
            "row 2: column 'a': 'x' is not an INTEGER; write it with digits alone, as 1234; row 3: the table has no column 'c'; row 4: it is not an object; \
             row 5: the column 'a' is named twice; row 6: column 'a': '1.5' is not an INTEGER; round it, or set 'rounding'."
        )
    );
}
