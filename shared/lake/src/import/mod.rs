//! Converts the rows of input files to segments: formats, conversion, keys, faults.

pub(crate) mod compression;
pub(crate) mod conversion;
pub(crate) mod fault_search;
pub(crate) mod faults;
pub(crate) mod file_format;
pub(crate) mod footer_edit;
pub(crate) mod functions;
pub(crate) mod int96;
pub(crate) mod key;
pub(crate) mod nested;
pub(crate) mod overlap;
pub(crate) mod parquet_element;
pub(crate) mod parquet_footer;
pub(crate) mod parquet_source;
pub(crate) mod plain;
pub(crate) mod reason;
pub(crate) mod records;
pub(crate) mod rounding;
pub(crate) mod rows;
pub(crate) mod segment_file;
pub(crate) mod signature;
pub(crate) mod source;
pub(crate) mod staging;
pub(crate) mod type_change;
pub(crate) mod wide_decimals;
