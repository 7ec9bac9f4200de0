//! Tests files of plain values, which DuckDB converts while it reads.

use serde_json::json;

use crate::fixture::{Store, limits, table};

/// A file in which a blank stands before a value is converted on the other path.
#[tokio::test]
async fn plain_values_are_converted_as_others_are() {
    let types = [
        "INTEGER",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL(9,2)",
        "DATE",
        "TIMESTAMP",
    ];
    for (kind, values) in types.into_iter().zip([
        &["0", "-0", "007", "-2147483648", "2147483647", "2147483648", "-"][..],
        &["999999999999999999", "-999999999999999999", "1234567890123456789"],
        &[
            "0.1",
            "16777217",
            "3.4028235",
            "-0.0",
            "1234567890123456789012345678.5",
        ],
        &[
            "0.1",
            "-2.2250738585072014",
            "9007199254740993",
            "123456789012345678901234567890",
        ],
        &[
            "1.005",
            "-1.005",
            "2.675",
            "9999999.994",
            "9999999.995",
            "12345678901.5",
        ],
        &[
            "0001-01-01",
            "2024-02-29",
            "2023-02-29",
            "9999-12-31",
            "0000-01-01",
            "2024-13-01",
        ],
        &[
            "1969-12-31 23:59:59.999999",
            "2024-05-01T10:00:00Z",
            "2024-05-01T10:00:00.5",
            "2024-05-01T24:00:00",
            "2024-05-01 10:60:00",
        ],
    ]) {
        let columns = json!([{ "name": "v", "type": kind }, { "name": "t", "type": "STRING" }]);
        for value in values {
            let mut outcomes = Vec::new();
            for text in [value.to_string(), format!("\"{value}\""), format!(" {value}")] {
                let mut store = Store::new(limits(), vec![table("t", columns.clone())]);
                outcomes.push(match store.import(0, format!("v,t\n{text},a\n,b\n")).await {
                    Ok(rows) => {
                        let read = store
                            .query("SELECT v::VARCHAR, t FROM t ORDER BY t")
                            .await
                            .unwrap();
                        format!("{rows} {}", read["rows"])
                    }
                    Err(error) => format!("{} {}", error.status(), error.message().replace("' ", "'")),
                });
            }
            assert_eq!(outcomes[0], outcomes[1], "{kind} {value}");
            assert_eq!(outcomes[0], outcomes[2], "{kind} {value}");
        }
    }
}
