//! Provides TPC-H: its tables, their rows, its 22 queries and the answers for scale factor 0.01.
//!
//! All of it comes from DuckDB's extension `tpch` (MIT licence): the queries of the specification with its
//! validation parameters, and the rows of its `dbgen`.

use serde_json::{Value, json};

use crate::stores::columns;

macro_rules! queries {
    ($($number:literal)*) => {
        [$((
            include_str!(concat!("../data/tpch/q", $number, ".sql")),
            include_str!(concat!("../data/tpch/q", $number, ".csv")),
        )),*]
    };
}

macro_rules! files {
    ($($table:literal)*) => {
        [$(($table, include_bytes!(concat!("../data/tpch/", $table, ".parquet")).as_slice())),*]
    };
}

/// The queries in order, each with its answer for scale factor 0.01: lines of values separated by bars, after
/// a line with the names of the columns.
pub const QUERIES: [(&str, &str); 22] = queries![
    "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22"
];

const FILES: [(&str, &[u8]); 8] =
    files!["region" "nation" "supplier" "customer" "part" "partsupp" "orders" "lineitem"];

/// Names of the tables and their columns, in the form of [`columns`].
pub const TABLES: [(&str, &[&str]); 8] = [
    (
        "region",
        &["r_regionkey INTEGER", "r_name STRING", "r_comment STRING"],
    ),
    (
        "nation",
        &[
            "n_nationkey INTEGER",
            "n_name STRING",
            "n_regionkey INTEGER",
            "n_comment STRING",
        ],
    ),
    (
        "supplier",
        &[
            "s_suppkey BIGINT",
            "s_name STRING",
            "s_address STRING",
            "s_nationkey INTEGER",
            "s_phone STRING",
            "s_acctbal DECIMAL(15,2)",
            "s_comment STRING",
        ],
    ),
    (
        "customer",
        &[
            "c_custkey BIGINT",
            "c_name STRING",
            "c_address STRING",
            "c_nationkey INTEGER",
            "c_phone STRING",
            "c_acctbal DECIMAL(15,2)",
            "c_mktsegment STRING",
            "c_comment STRING",
        ],
    ),
    (
        "part",
        &[
            "p_partkey BIGINT",
            "p_name STRING",
            "p_mfgr STRING",
            "p_brand STRING",
            "p_type STRING",
            "p_size INTEGER",
            "p_container STRING",
            "p_retailprice DECIMAL(15,2)",
            "p_comment STRING",
        ],
    ),
    (
        "partsupp",
        &[
            "ps_partkey BIGINT",
            "ps_suppkey BIGINT",
            "ps_availqty BIGINT",
            "ps_supplycost DECIMAL(15,2)",
            "ps_comment STRING",
        ],
    ),
    (
        "orders",
        &[
            "o_orderkey BIGINT",
            "o_custkey BIGINT",
            "o_orderstatus STRING",
            "o_totalprice DECIMAL(15,2)",
            "o_orderdate DATE",
            "o_orderpriority STRING",
            "o_clerk STRING",
            "o_shippriority INTEGER",
            "o_comment STRING",
        ],
    ),
    (
        "lineitem",
        &[
            "l_orderkey BIGINT",
            "l_partkey BIGINT",
            "l_suppkey BIGINT",
            "l_linenumber BIGINT",
            "l_quantity DECIMAL(15,2)",
            "l_extendedprice DECIMAL(15,2)",
            "l_discount DECIMAL(15,2)",
            "l_tax DECIMAL(15,2)",
            "l_returnflag STRING",
            "l_linestatus STRING",
            "l_shipdate DATE",
            "l_commitdate DATE",
            "l_receiptdate DATE",
            "l_shipinstruct STRING",
            "l_shipmode STRING",
            "l_comment STRING",
        ],
    ),
];

/// Returns the body that creates all tables.
pub fn definitions() -> Value {
    let tables = TABLES.map(|(name, definitions)| json!({ "name": name, "columns": columns(definitions) }));
    json!({ "tables": tables })
}

/// Returns the rows of a table for scale factor 0.01, as a Parquet file.
pub fn parquet(table: &str) -> &'static [u8] {
    let file = FILES.iter().find(|(name, _)| *name == table);
    file.expect("a table of TPC-H").1
}
