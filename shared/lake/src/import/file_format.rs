//! Names the formats of files that imports read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    /// CSV (RFC 4180) in UTF-8 with a header row; plain, gzip or zstd. An unquoted empty field is null.
    Csv,
    /// JSON in UTF-8: an array of row objects, or one object after the other; plain, gzip or zstd.
    Json,
    /// Newline-delimited JSON, an object a line; plain, gzip or zstd.
    Ndjson,
    /// Parquet, read by column name in upper or lower case.
    Parquet,
}

const ENDINGS: [(&str, FileFormat); 5] = [
    (".csv", FileFormat::Csv),
    (".json", FileFormat::Json),
    (".ndjson", FileFormat::Ndjson),
    (".jsonl", FileFormat::Ndjson),
    (".parquet", FileFormat::Parquet),
];

impl FileFormat {
    /// Returns the format of a file name, ignoring case and a `.gz` or `.zst` at its end.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let plain = [".gz", ".zst"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending))
            .unwrap_or(&name);
        ENDINGS
            .iter()
            .find(|(ending, _)| plain.ends_with(ending))
            .map(|(_, format)| *format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        for (name, format) in [
            ("out/Rows.CSV.GZ", Some(FileFormat::Csv)),
            ("rows.json.zst", Some(FileFormat::Json)),
            ("rows.jsonl", Some(FileFormat::Ndjson)),
            ("rows.ndjson.gz", Some(FileFormat::Ndjson)),
            ("part-0.parquet", Some(FileFormat::Parquet)),
            ("rows", None),
            ("rows.gz", None),
            ("rows.csv.bak", None),
            ("", None),
        ] {
            assert_eq!(FileFormat::of_name(name), format, "{name}");
        }
    }
}
