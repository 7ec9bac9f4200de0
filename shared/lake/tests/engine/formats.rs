//! Tests imports of JSON and Parquet files: accepted and refused input, and the messages.

use std::io::Write as _;
use std::path::PathBuf;

use duckdb::Connection;
use lake::FileFormat;
use platform::Error;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{Store, limits, table};

/// Makes a store with one table that has a column of every type, named after it.
pub(crate) fn every_type() -> Store {
    let types = [
        ("string", "STRING"),
        ("integer", "INTEGER"),
        ("bigint", "BIGINT"),
        ("float", "FLOAT"),
        ("double", "DOUBLE"),
        ("decimal", "DECIMAL(20,4)"),
        ("boolean", "BOOLEAN"),
        ("date", "DATE"),
        ("timestamp", "TIMESTAMP"),
        ("json", "JSON"),
    ];
    let columns: Value = types
        .iter()
        .map(|(name, kind)| json!({ "name": name, "type": kind }))
        .collect();
    Store::new(limits(), vec![table("t", columns)])
}

fn of_columns(columns: Value) -> Store {
    Store::new(limits(), vec![table("t", columns)])
}

pub(crate) async fn refused(store: &Store, format: FileFormat, bytes: impl AsRef<[u8]>) -> Error {
    let error = store.stage_bytes(0, format, bytes).await.unwrap_err();
    assert_eq!(error.status(), 422, "{error}");
    assert!(!store.directory.path().join("segment-0.parquet").exists());
    error
}

/// Writes the result of a DuckDB query to a Parquet file.
pub(crate) fn parquet(query: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.parquet");
    let connection = Connection::open_in_memory().unwrap();
    let copy = format!("COPY ({query}) TO '{}' (FORMAT parquet)", path.display());
    connection.execute_batch(&copy).unwrap();
    (folder, path)
}

#[tokio::test]
async fn json_is_read_as_an_array_and_as_lines() {
    let rows = json!([[1, "a"], [2, null], [3, "b\nc"]]);
    for text in [
        r#"[{"id":1,"s":"a"},{"ID":2,"S":null},{"s":"b\nc","id":3}]"#,
        "\u{feff} [ {\"id\":1,\"s\":\"a\"} ,\n{\"id\":2}, {\"s\":\"b\\nc\",\"id\":3} ]\n",
        "{\"id\":1,\"s\":\"a\"}\n{\"id\":2}\n{\"s\":\"b\\nc\",\"id\":3}",
        "\n{\"id\":1,\"s\":\"a\"}\r\n\r\n{\"id\":2}\r\n{\"s\":\"b\\nc\",\"id\":3}\r\n\n",
        "{\n  \"id\": 1,\n  \"s\": \"a\"\n}\n{\n  \"id\": 2\n}\n{ \"s\": \"b\\nc\", \"id\": 3 }",
    ] {
        for format in [FileFormat::Json, FileFormat::Ndjson] {
            let mut store =
                of_columns(json!([{ "name": "id", "type": "BIGINT" }, { "name": "s", "type": "STRING" }]));
            let staged = store.stage_bytes(0, format, text).await.unwrap();
            assert_eq!(staged.rows, 3, "{text}");
            store.keep(0, staged);
            assert_eq!(store.rows("select * from t order by id").await, rows, "{text}");
        }
    }
    let store = every_type();
    assert_eq!(
        store
            .stage_bytes(0, FileFormat::Json, " [ ] ")
            .await
            .unwrap()
            .rows,
        0
    );
}

#[tokio::test]
async fn json_keeps_every_digit_and_tells_absent_from_null() {
    let columns = json!([
        { "name": "n", "type": "DECIMAL(38,10)", "default": "7" },
        { "name": "big", "type": "BIGINT" },
        { "name": "raw", "type": "JSON" },
        { "name": "nul", "type": "STRING" }
    ]);
    let mut store = of_columns(columns);
    let text = r#"{"n":1234567890123456789.0123456789,"big":9223372036854775807,"raw":{"a":[1.50,{"b":null}]}}
        {"n":null,"raw":null}
        {"raw":"text","big":-9223372036854775808,"nul":"a\u0000b"}"#;
    let staged = store.stage_bytes(0, FileFormat::Ndjson, text).await.unwrap();
    store.keep(0, staged);
    assert_eq!(
        store
            .rows("select n, big, raw::varchar, length(nul) from t")
            .await,
        json!([
            [
                "1234567890123456789.0123456789",
                "9223372036854775807",
                r#"{"a":[1.50,{"b":null}]}"#,
                null
            ],
            [null, null, null, null],
            ["7.0000000000", "-9223372036854775808", "\"text\"", 3]
        ])
    );
}

#[tokio::test]
async fn json_that_is_not_read_says_where_and_why() {
    let columns = json!([{ "name": "id", "type": "BIGINT" }, { "name": "j", "type": "JSON" }]);
    let store = of_columns(columns);
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let deep_value = format!("{{\"id\":1}}\n{{\"j\":{}}}", deep(1_000));
    let long = format!("{{\"id\":1}}\n{{\"j\":\"{}\"}}", "x".repeat(17 * 1_024 * 1_024));
    let blank = " ".repeat(17 * 1_024 * 1_024);
    let wide: String = (0..5_000).map(|n| format!("\"c{n}\":{n},")).collect();
    let wide = format!("{{{wide}\"id\":1}}");
    for (text, parts) in [
        (&b""[..], &["the file is empty"][..]),
        (b" \n ", &["the file is empty"]),
        (b"\xef\xbb\xbf", &["the file is empty"]),
        (b"\xff\xfe[\0]\0", &["UTF-16", "UTF-8"]),
        (b"\xfe\xff\0[\0]", &["UTF-16", "UTF-8"]),
        (b"id\n1\n", &["row 1", "not JSON in UTF-8"]),
        (b"{\"id\":1}\n{\"id\":2", &["row 2", "not JSON"]),
        (b"[{\"id\":1},{\"id\":2}", &["row 3", "not JSON"]),
        (b"[{\"id\":1}] x", &["row 2", "not JSON"]),
        (b"[{\"id\":1}][{\"id\":2}]", &["row 2", "not JSON"]),
        (b"[{\"id\":1},]", &["row 2", "not JSON"]),
        (b"{\"id\":1}\n{\"j\":\"Gr\xf6\xdfe\"}", &["row 2", "UTF-8"]),
        (b"{\"id\":NaN}", &["row 1", "not JSON"]),
        (b"{\"id\":1}\n7\n", &["row 2", "not an object"]),
        (b"[[1]]", &["row 1", "not an object"]),
        (b"[[1],{\"id\":1}]", &["row 1", "not an object"]),
        (b"{\"id\":1}\n{\"id\":\"x\"}", &["row 2", "'id'", "'x'", "BIGINT"]),
        (b"{\"id\":1,\"ID\":2}", &["row 1", "named twice"]),
        (b"{\"id\":{\"a\":1}}", &["row 1", "'id'", "BIGINT"]),
        (deep(1_000).as_bytes(), &["row 1", "not an object"]),
        (deep(100_000).as_bytes(), &["row 1", "not an object"]),
        (deep_value.as_bytes(), &["row 2", "'j'", "128 levels"]),
        (long.as_bytes(), &["row 2", "longer than 16 MB"]),
        (blank.as_bytes(), &["row 1", "longer than 16 MB"]),
        (&[0; 100], &["row 1", "not JSON"]),
        (wide.as_bytes(), &["row 1", "no column 'c0'"]),
        (b"PAR1xxxxPAR1", &["the file is Parquet", "not JSON"]),
        (b"<!DOCTYPE html>", &["HTML", "not JSON"]),
    ] {
        let shown = String::from_utf8_lossy(&text[..text.len().min(60)]);
        let error = refused(&store, FileFormat::Json, text).await;
        let text = format!("{} {}", error.message(), error.details().unwrap_or_default());
        for part in parts {
            assert!(text.contains(part), "{shown:?}: no {part:?} in {text}");
        }
        assert!(text.len() < 4_000, "{shown:?}: {text}");
    }
}

#[tokio::test]
async fn bad_rows_of_json_are_listed_in_order() {
    let store = of_columns(json!([{ "name": "a", "type": "INTEGER" }]));
    let mut text = String::new();
    for n in 0..5_000 {
        text += &match n {
            3 => "{\"a\":\"x\"}\n".to_owned(),
            2_500 => "{\"b\":1,\"c\":2}\n".to_owned(),
            4_000 => "{\"a\":1.5}\n".to_owned(),
            n => format!("{{\"a\":{n}}}\n"),
        };
    }
    text += "{\"a\":";
    let error = refused(&store, FileFormat::Ndjson, &text).await;
    assert_eq!(
        error.details(),
        Some(
            "row 4: column 'a': 'x' is not an INTEGER; write it with digits alone, as 1234; row 2501: the table has no column 'b'; row 4001: column 'a': '1.5' is not an INTEGER; round it, or set 'rounding'; row 5001: it is not JSON in UTF-8 (EOF while parsing a \
             value at line 5001 column 5)."
        )
    );
    let many = refused(
        &store,
        FileFormat::Ndjson,
        "{\"b\":1,\"c\":1,\"d\":1}\n".repeat(50),
    )
    .await;
    assert_eq!(many.details().unwrap().split("; ").count(), 10);
}

#[tokio::test]
async fn compressed_json_is_read_whole_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let connection = Connection::open_in_memory().unwrap();
    for compression in ["gzip", "zstd"] {
        let copy = format!(
            "COPY (SELECT n AS id FROM range(100000) r(n)) TO '{}' (FORMAT json, COMPRESSION {compression})",
            path.display()
        );
        connection.execute_batch(&copy).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let store = of_columns(json!([{ "name": "id", "type": "BIGINT" }]));
        assert_eq!(
            store.stage_bytes(0, FileFormat::Json, &bytes).await.unwrap().rows,
            100_000
        );
        std::fs::remove_file(store.directory.path().join("segment-0.parquet")).unwrap();
        for cut in [4, bytes.len() / 2, bytes.len() - 1] {
            let error = refused(&store, FileFormat::Json, &bytes[..cut]).await;
            let expected = format!("the {compression} file is cut off or damaged");
            assert!(error.message().contains(&expected), "{cut}: {error}");
        }
        // A checksum is optional in a zstd file, and DuckDB writes none.
        if compression == "gzip" {
            let mut damaged = bytes.clone();
            let checksum = damaged.len() - 6;
            damaged[checksum] ^= 0x55;
            refused(&store, FileFormat::Json, &damaged).await;
        }
    }
}

/// Makes a gzip file that decompresses to 10 GB of one byte, from one repeated member.
fn bomb(start: &[u8], filling: &[u8]) -> Vec<u8> {
    let member = |bytes: &[u8], times: usize| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        for _ in 0..times {
            encoder.write_all(bytes).unwrap();
        }
        encoder.finish().unwrap()
    };
    let chunk = filling.repeat(1_024 * 1_024 / filling.len());
    let mut bomb = member(start, 1);
    bomb.extend(member(&chunk, 8).repeat(1_280));
    bomb
}

#[tokio::test]
async fn a_file_that_decompresses_to_ten_gigabytes_is_refused() {
    let store = of_columns(json!([{ "name": "a", "type": "STRING" }]));
    for (format, start, filling, part) in [
        (FileFormat::Csv, &b"a\n"[..], &b"\0"[..], "300 times its size"),
        (FileFormat::Csv, b"a\n", b"1\n", "300 times its size"),
        (FileFormat::Ndjson, b"", b"\0", "not JSON"),
        (FileFormat::Ndjson, b"", b" ", "longer than 16 MB"),
        (FileFormat::Ndjson, b"{\"a\":\"", b"x", "longer than 16 MB"),
        (FileFormat::Parquet, b"PAR1", b"\0", "not Parquet"),
    ] {
        let error = refused(&store, format, bomb(start, filling)).await;
        assert!(error.message().contains(part), "{format:?}: {error}");
    }
}

#[tokio::test]
async fn parquet_of_every_type_is_read() {
    let (_folder, path) = parquet(
        "SELECT 'a' AS \"STRING\", 7::INTEGER AS integer, 8::BIGINT AS bigint, 0.5::FLOAT AS float, 0.1::DOUBLE AS double, \
         1.25::DECIMAL(6,2) AS decimal, true AS boolean, DATE '2024-05-01' AS date, TIMESTAMP '2024-05-01 10:00:00.5' AS timestamp, \
         '{\"a\": 1}'::JSON AS json UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
    );
    let mut store = every_type();
    let staged = store.stage_file(0, FileFormat::Parquet, &path).await.unwrap();
    store.keep(0, staged);
    assert_eq!(
        store.rows("select * from t").await,
        json!([
            ["a", 7, 8, 0.5, 0.1, "1.2500", true, "2024-05-01", "2024-05-01T10:00:00.500Z", { "a": 1 }],
            [null, null, null, null, null, null, null, null, null, null]
        ])
    );
}

#[tokio::test]
async fn other_types_of_parquet_are_taken_where_the_values_fit() {
    for (column, value, expected) in [
        ("integer", "200::UTINYINT", json!(200)),
        ("integer", "7.0::DOUBLE", json!(7)),
        ("integer", "7::HUGEINT", json!(7)),
        ("integer", "7.00::DECIMAL(9,2)", json!(7)),
        ("bigint", "4000000000::UINTEGER", json!(4_000_000_000_u64)),
        ("bigint", "7::UBIGINT", json!(7)),
        ("double", "7::BIGINT", json!(7.0)),
        ("double", "1.5::DECIMAL(4,2)", json!(1.5)),
        ("float", "0.5::DOUBLE", json!(0.5)),
        ("decimal", "0.1::DOUBLE", json!("0.1000")),
        ("decimal", "12::BIGINT", json!("12.0000")),
        ("date", "TIMESTAMP '2024-05-01'", json!("2024-05-01")),
        ("date", "TIMESTAMP_NS '2024-05-01 00:00:00'", json!("2024-05-01")),
        (
            "timestamp",
            "DATE '2024-05-01'",
            json!("2024-05-01T00:00:00.000Z"),
        ),
        (
            "timestamp",
            "TIMESTAMPTZ '2024-05-01 12:00:00+02'",
            json!("2024-05-01T10:00:00.000Z"),
        ),
        (
            "timestamp",
            "TIMESTAMP_NS '2024-05-01 10:00:00'",
            json!("2024-05-01T10:00:00.000Z"),
        ),
        (
            "timestamp",
            "TIMESTAMP_MS '2024-05-01 10:00:00'",
            json!("2024-05-01T10:00:00.000Z"),
        ),
        ("string", "'a'::ENUM('a', 'b')", json!("a")),
        ("string", "'a'::BLOB", json!("a")),
        ("string", "1.50::DECIMAL(4,2)", json!("1.50")),
        ("string", "NULL::DATE", json!(null)),
        ("date", "'2024-05-01'", json!("2024-05-01")),
        ("integer", "'12'", json!(12)),
        ("integer", "NULL::DATE", json!(null)),
        (
            "string",
            "uuid '00000000-0000-0000-0000-000000000001'",
            json!("00000000-0000-0000-0000-000000000001"),
        ),
        (
            "json",
            "{'a': [1, NULL], 'b': {'c': 'd'}}",
            json!({ "a": [1, null], "b": { "c": "d" } }),
        ),
        ("json", "[1, 2]", json!([1, 2])),
        ("json", "'[1, 2]'", json!([1, 2])),
        ("json", "1.5", json!(1.5)),
    ] {
        let (_folder, path) = parquet(&format!("SELECT {value} AS {column}"));
        let mut store = every_type();
        match store.stage_file(0, FileFormat::Parquet, &path).await {
            Ok(staged) => store.keep(0, staged),
            Err(error) => panic!("{value} into {column}: {error}"),
        }
        let read = store.rows(&format!("select {column} from t")).await;
        assert_eq!(read, json!([[expected]]), "{value} into {column}");
    }
}

#[tokio::test]
async fn parquet_that_does_not_fit_names_column_and_types() {
    for (query, parts) in [
        (
            "SELECT 'x' AS integer",
            &["row 1", "'integer'", "'x' is not an INTEGER"][..],
        ),
        (
            "SELECT DATE '2024-05-01' AS string",
            &["'string' is DATE", "STRING in the table"],
        ),
        ("SELECT 1 AS boolean", &["'boolean' is INTEGER"]),
        ("SELECT '2024-05-01T10:00' AS date", &["row 1", "'date'", "DATE"]),
        ("SELECT '\\xFF'::BLOB AS string", &["row 1", "'string'", "UTF-8"]),
        (
            "SELECT {'a': 1} AS bigint",
            &["'bigint' is STRUCT(a INTEGER)", "BIGINT in the table"],
        ),
        ("SELECT [1] AS string", &["'string' is INTEGER[]"]),
        (
            "SELECT MAP {'a': 1} AS double",
            &["'double' is MAP(VARCHAR, INTEGER)"],
        ),
        ("SELECT TIME '10:00' AS timestamp", &["'timestamp' is TIME"]),
        ("SELECT 1 AS colour", &["'colour'", "the table does not have"]),
        ("SELECT 1 AS integer, 2 AS \"INTEGER_\"", &["'INTEGER_'"]),
        ("SELECT 7.5::DOUBLE AS integer", &["row 1", "'integer'", "'7.5'"]),
        ("SELECT 3000000000::BIGINT AS integer", &["row 1", "'3000000000'"]),
        ("SELECT 1e300::DOUBLE AS float", &["row 1", "FLOAT"]),
        ("SELECT 'nan'::DOUBLE AS decimal", &["row 1", "DECIMAL"]),
        (
            "SELECT TIMESTAMP '2024-05-01 10:00:00' AS date",
            &["row 1", "DATE"],
        ),
        ("SELECT 'x' AS json", &["row 1", "JSON"]),
    ] {
        let (_folder, path) = parquet(query);
        let store = every_type();
        let error = store.stage_file(0, FileFormat::Parquet, &path).await.unwrap_err();
        assert_eq!(error.status(), 422, "{query}: {error}");
        for part in parts {
            assert!(error.message().contains(part), "{query}: no {part:?} in {error}");
        }
    }
    let columns: Vec<_> = (0..5_000).map(|n| format!("{n} AS c{n}")).collect();
    let (_folder, path) = parquet(&format!("SELECT {}", columns.join(", ")));
    let error = every_type()
        .stage_file(0, FileFormat::Parquet, &path)
        .await
        .unwrap_err();
    assert!(
        error.status() == 422 && error.message().contains("'c0'"),
        "{error}"
    );
    let store = of_columns(
        json!([{ "name": "id", "type": "BIGINT", "nullable": false }, { "name": "n", "type": "BIGINT" }]),
    );
    let (_folder, path) = parquet("SELECT 1 AS n");
    let error = store.stage_file(0, FileFormat::Parquet, &path).await.unwrap_err();
    assert!(
        error.status() == 422 && error.message().contains("lacks the column 'id'"),
        "{error}"
    );
    let (_folder, path) = parquet("SELECT CASE WHEN n = 3 THEN NULL ELSE n END AS id FROM range(10) r(n)");
    let error = store.stage_file(0, FileFormat::Parquet, &path).await.unwrap_err();
    assert!(
        error.status() == 409 && error.message().contains("row 4: the column 'id'"),
        "{error}"
    );
}
