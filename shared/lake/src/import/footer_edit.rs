//! Changes the footer of a Parquet file, so that DuckDB reads values as they are.
//!
//! A changed element of the schema has a field that Parquet does not know, which readers skip: a file that is
//! staged again is read as before.

use std::fs::OpenOptions;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;

/// Bytes after the footer: its length, and Parquet's last four.
const END_BYTES: u64 = 8;
const MAGIC: [u8; 4] = *b"PAR1";
/// Number of the field of a changed element.
pub(crate) const CHANGED: i16 = 96;
/// The field: the type of what is true, and the number.
const CHANGED_FIELD: [u8; 3] = [0x01, 0xc0, 0x01];
/// Fields of an element with their types: the physical type of bytes of a fixed length, and a length of 12.
const TWELVE_BYTES: [u8; 4] = [0x15, 0x0e, 0x15, 0x18];

/// Bytes of a footer that are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Positions from the start of the footer.
    pub(crate) range: Range<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl Edit {
    pub(crate) fn of_byte(at: usize, byte: u8) -> Self {
        Self {
            range: at..at + 1,
            bytes: vec![byte],
        }
    }

    /// Tells that an element is changed. It ends with the byte at `end`.
    pub(crate) fn marking(end: usize) -> Self {
        Self {
            range: end..end,
            bytes: CHANGED_FIELD.to_vec(),
        }
    }
}

/// Returns an element that DuckDB reads as 12 bytes.
pub(crate) fn twelve_bytes(name: &[u8], repetition: Option<u8>) -> Vec<u8> {
    let mut bytes = TWELVE_BYTES.to_vec();
    match repetition {
        // Numbers are doubled, because the lowest bit is their sign.
        Some(repetition) => bytes.extend([0x15, repetition << 1, 0x18]),
        None => bytes.push(0x28),
    }
    let mut length = name.len();
    while length > 0x7f {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(name);
    bytes.extend(CHANGED_FIELD);
    bytes.push(0);
    bytes
}

/// Writes a file's footer with edits, whose ranges do not overlap.
pub(crate) fn write(path: &Path, footer: &[u8], edits: &[Edit]) -> io::Result<()> {
    let mut edits: Vec<_> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.range.start);
    let mut changed = Vec::with_capacity(footer.len() + MAGIC.len());
    let mut from = 0;
    for edit in edits {
        let before = footer.get(from..edit.range.start);
        changed.extend(before.ok_or_else(|| io::Error::other("edits overlap"))?);
        changed.extend(&edit.bytes);
        from = edit.range.end;
    }
    changed.extend(footer.get(from..).unwrap_or_default());
    let length = u32::try_from(changed.len()).map_err(io::Error::other)?;
    changed.extend(length.to_le_bytes());
    changed.extend(MAGIC);
    let mut file = OpenOptions::new().write(true).open(path)?;
    let end = file.seek(SeekFrom::End(0))?;
    let begin = end.saturating_sub(footer.len() as u64 + END_BYTES);
    file.seek(SeekFrom::Start(begin))?;
    file.write_all(&changed)?;
    file.set_len(begin + changed.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footer_is_written_with_edits_of_any_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let footer = b"abcdef";
        let edit = |range: Range<usize>, bytes: &[u8]| Edit {
            range,
            bytes: bytes.to_vec(),
        };
        for (edits, expected) in [
            (
                vec![edit(4..4, b"new"), Edit::of_byte(0, b'A')],
                &b"Abcdnewef"[..],
            ),
            (vec![edit(1..5, b"")], b"af"),
            (vec![edit(6..6, b"g")], b"abcdefg"),
        ] {
            let whole = |footer: &[u8]| {
                let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
                [b"PAR1data", footer, &length, b"PAR1"].concat()
            };
            std::fs::write(&path, whole(footer)).unwrap();
            write(&path, footer, &edits).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole(expected));
        }
        let overlapping = [edit(0..3, b""), edit(2..4, b"")];
        assert!(write(&path, footer, &overlapping).is_err());
        assert!(write(&path, footer, &[edit(7..7, b"")]).is_err());
    }
}
