//! Imports Parquet files whose footers would cost DuckDB the square of their columns or levels, or its stack.

use lake::FileFormat;
use polars_parquet_format::thrift::protocol::TCompactOutputProtocol;
use polars_parquet_format::{FieldRepetitionType, FileMetaData, SchemaElement, Type};
use serde_json::json;

use crate::fixture::{Store, limits, table};

/// Returns a file without rows, with these elements: name and number of children.
fn file(elements: Vec<(String, i32)>) -> Vec<u8> {
    let schema = elements.into_iter().map(|(name, children)| SchemaElement {
        type_: (children == 0).then_some(Type::INT32),
        type_length: None,
        repetition_type: Some(FieldRepetitionType::OPTIONAL),
        name,
        num_children: (children > 0).then_some(children),
        converted_type: None,
        scale: None,
        precision: None,
        field_id: None,
        logical_type: None,
    });
    let footer = FileMetaData {
        version: 1,
        schema: schema.collect(),
        num_rows: 0,
        row_groups: Vec::new(),
        key_value_metadata: None,
        created_by: None,
        column_orders: None,
        encryption_algorithm: None,
        footer_signing_key_metadata: None,
    };
    let mut file = b"PAR1".to_vec();
    let mut output = TCompactOutputProtocol::new(&mut file);
    footer.write_to_out_protocol(&mut output).unwrap();
    let length = u32::try_from(file.len() - 4).unwrap();
    file.extend(length.to_le_bytes());
    file.extend(b"PAR1");
    file
}

/// Returns a file with the integer column `n`, and a column `j` of groups in one another.
fn nested(groups: usize) -> Vec<u8> {
    let mut elements = vec![("root".to_owned(), 2), ("n".to_owned(), 0)];
    elements.extend((0..groups).map(|_| ("j".to_owned(), 1)));
    elements.push(("j".to_owned(), 0));
    file(elements)
}

fn flat(columns: i32) -> Vec<u8> {
    let mut elements = vec![("root".to_owned(), columns)];
    elements.extend((0..columns).map(|column| (format!("c{column}"), 0)));
    file(elements)
}

#[tokio::test]
async fn a_footer_that_costs_too_much_is_refused_before_its_types_are_built() {
    let columns = json!([{ "name": "n", "type": "INTEGER" }, { "name": "j", "type": "JSON" }]);
    let store = Store::new(limits(), vec![table("t", columns)]);
    let long = [
        b"PAR1",
        vec![0; 17 << 20].as_slice(),
        &(17_u32 << 20).to_le_bytes(),
        b"PAR1",
    ]
    .concat();
    // In place of the last byte, the end of the footer: the schema's field once more, as a list of nothing.
    let mut twice = flat(2);
    twice.truncate(twice.len() - 9);
    twice.extend([0x09, 0x04, 0x0c, 0x00]);
    let length = u32::try_from(twice.len() - 4).unwrap();
    twice.extend(length.to_le_bytes());
    twice.extend(b"PAR1");
    for (what, bytes, said) in [
        (
            "33 groups",
            nested(33),
            "column 'j' in the Parquet file nests more than 16 levels",
        ),
        (
            "5,000 groups",
            nested(5_000),
            "column 'j' in the Parquet file nests more than 16 levels",
        ),
        (
            "9,990 groups",
            nested(9_990),
            "column 'j' in the Parquet file nests more than 16 levels",
        ),
        // As many end DuckDB's process: its stack is too small.
        (
            "100,000 groups",
            nested(100_000),
            "has 100003 columns and parts of columns; at most 10000 can be read",
        ),
        (
            "50,000 columns",
            flat(50_000),
            "has 50001 columns and parts of columns",
        ),
        (
            "500,000 columns",
            flat(500_000),
            "has 500001 columns and parts of columns",
        ),
        (
            "a long footer",
            long,
            "has 17825792 bytes; at most 16777216 can be read",
        ),
        ("two schemas", twice, "the Parquet file is damaged"),
        // Within the limits, so that DuckDB tells the columns.
        ("17 groups", nested(17), "nests 17 levels"),
        (
            "9,999 columns",
            flat(9_999),
            "has a column 'c0', which the table does not have",
        ),
    ] {
        let error = store
            .stage_bytes(0, FileFormat::Parquet, bytes)
            .await
            .unwrap_err();
        assert_eq!(error.status(), 422, "{what}: {error}");
        assert!(error.message().contains(said), "{what}: {error}");
    }
    let staged = store.stage_bytes(0, FileFormat::Parquet, nested(16)).await;
    assert_eq!(staged.unwrap().rows, 0);
}
