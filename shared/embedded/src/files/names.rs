//! Maps keys of objects to file names.
//!
//! Each segment of a key is a folder, and the last one a file, so that `log/acme/demo/2026-11-24/x.parquet`
//! is the path of its own object. Two keys never share a file, and no key leaves the folder:
//!
//! | of a key | in a path |
//! |---|---|
//! | lower-case letter, digit, one of `-_.+=@,~:` | itself |
//! | any other character, and a dot at the beginning of a name | `%` and two hex digits for each byte |
//! | empty segment | `%` |
//! | segment beyond 200 bytes | pieces, each a folder; `%+` ends those before the last |
//! | last segment with one of [`ENDINGS`] | itself |
//! | last segment without one | itself and `.object` |
//! | any other segment that ends like a file | itself with `%2E` for its last dot |
//!
//! Capital letters are escaped because some file systems ignore case. Files and folders end differently
//! because
//! objects `a` and `a/b` may both exist.

use std::fmt::Write as _;
use std::path::PathBuf;

/// File extensions that are kept: those of the service's own objects.
const ENDINGS: [&str; 6] = [".csv", ".duckdb", ".json", ".jsonl", ".parquet", ".zip"];

/// Extension of the other files.
const OTHER: &str = ".object";

/// End of a piece that is continued in the next name.
const CONTINUED: &str = "%+";

/// Name of an empty segment.
const EMPTY: &str = "%";

/// Maximum length of a piece, in bytes: with the additions, a name stays below the 255 bytes of common file
/// systems.
const MAX_PIECE_BYTES: usize = 200;

/// Returns the path of an object in the folder of its bucket.
pub fn file(key: &str) -> PathBuf {
    let (folders, name) = key.rsplit_once('/').map_or(("", key), |(before, name)| {
        (key.get(..=before.len()).unwrap_or_default(), name)
    });
    let mut path = folder(folders);
    let (before, mut last) = pieces(name);
    let is_whole = before.is_empty();
    path.extend(before);
    if !is_whole || !ends_as_a_file_of_ours(&last) {
        last.push_str(OTHER);
    }
    path.push(last);
    path
}

/// Returns the path of the folder of all keys that start with `prefix`, which is empty or ends in a slash.
pub fn folder(prefix: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for segment in prefix.split_terminator('/') {
        let (before, mut last) = pieces(segment);
        path.extend(before);
        if (ends_as_a_file_of_ours(&last) || last.ends_with(OTHER))
            && let Some((stem, ending)) = last.rsplit_once('.')
        {
            last = format!("{stem}%2E{ending}");
        }
        path.push(last);
    }
    path
}

/// Returns the part of a key that a folder's name stands for: a segment and a slash, or a piece of a long
/// segment. None for a name that no key has.
pub fn key_of_folder(name: &str) -> Option<String> {
    match name.strip_suffix(CONTINUED) {
        Some(piece) => read(piece),
        None => read(name).map(|segment| segment + "/"),
    }
}

/// Returns the part of a key that a file's name stands for. None for a name that no key has.
pub fn key_of_file(name: &str) -> Option<String> {
    match name.strip_suffix(OTHER) {
        Some(segment) => read(segment),
        None if ends_as_a_file_of_ours(name) => read(name),
        None => None,
    }
}

/// Returns a name for something other than a key, such as a bucket.
pub fn plain(text: &str) -> PathBuf {
    folder(&text.replace('/', "%2F"))
}

fn ends_as_a_file_of_ours(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Splits a segment into its leading pieces and the last one.
fn pieces(segment: &str) -> (Vec<String>, String) {
    let (mut before, mut piece) = (Vec::new(), String::new());
    if segment.is_empty() {
        piece.push_str(EMPTY);
    }
    for character in segment.chars() {
        let mut bytes = [0; 4];
        let text = character.encode_utf8(&mut bytes);
        if piece.len() + 3 * text.len() > MAX_PIECE_BYTES {
            before.push(std::mem::take(&mut piece) + CONTINUED);
        }
        if is_plain(character) && !(character == '.' && piece.is_empty()) {
            piece.push(character);
        } else {
            for byte in text.bytes() {
                let _ = write!(piece, "%{byte:02X}");
            }
        }
    }
    (before, piece)
}

fn is_plain(character: char) -> bool {
    character.is_ascii_lowercase() || character.is_ascii_digit() || "-_.+=@,~:".contains(character)
}

fn read(piece: &str) -> Option<String> {
    if piece == EMPTY {
        return Some(String::new());
    }
    let mut parts = piece.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (escaped, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(escaped, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Component;

    use proptest::prelude::*;

    use super::*;

    fn key(path: &std::path::Path) -> Option<String> {
        let names: Vec<_> = path.iter().map(|name| name.to_str().unwrap()).collect();
        let (last, folders) = names.split_last().unwrap();
        let mut key = String::new();
        for name in folders {
            key += &key_of_folder(name)?;
        }
        Some(key + &key_of_file(last)?)
    }

    #[test]
    fn an_ordinary_key_is_its_own_path() {
        for plain in [
            "log/acme/demo/2026-11-24/events/0197f3c2-8a41-7d0e-9b1c-5e2f6a7d8c90.parquet",
            "stores/acme.example/user:ada@x/s/manifests/v.json",
            "artifacts/acme/demo/out/sales_2024.csv",
        ] {
            assert_eq!(file(plain), PathBuf::from(plain));
        }
    }

    #[test]
    fn other_keys_are_escaped() {
        for (odd, path) in [
            ("content/a/text", "content/a/text.object"),
            ("a b.csv", "a%20b.csv"),
            ("Ü", "%C3%9C.object"),
            ("A/a", "%41/a.object"),
            ("../..", "%2E./%2E..object"),
            (".", "%2E.object"),
            ("a//", "a/%/%.object"),
            ("a.json/b.json", "a%2Ejson/b.json"),
            ("a.object/b", "a%2Eobject/b.object"),
            (".json", "%2Ejson.object"),
            ("%41", "%2541.object"),
            ("\0", "%00.object"),
        ] {
            assert_eq!(file(odd), PathBuf::from(path));
        }
    }

    #[test]
    fn names_of_another_origin_are_no_keys() {
        for name in [
            "README.txt",
            "text",
            "a%.json",
            "a%4.json",
            "a%ZZ.json",
            "%FF.json",
        ] {
            assert_eq!(key_of_file(name), None, "{name}");
        }
    }

    fn odd_key() -> impl Strategy<Value = String> {
        let segment = prop_oneof![
            Just(String::new()),
            Just(".".to_owned()),
            Just("..".to_owned()),
            "[a-z]{1,3}",
            "[ab.%+]{1,6}",
            "[a-zA-Z. %+]{0,12}(\\.json|\\.object|\\.parquet)?",
            "\\PC{0,8}",
            "[a.Z]{190,420}",
            ("[ab]{190,205}", "(\\.json|\\.object|\\.\\.|\\.)").prop_map(|(long, end)| long + &end),
        ];
        prop::collection::vec(segment, 1..5)
            .prop_map(|segments| segments.join("/"))
            .prop_filter("S3 takes no empty key", |key| !key.is_empty())
    }

    proptest! {
        #[test]
        fn a_path_stands_for_one_key_alone(odd in odd_key()) {
            let path = file(&odd);
            prop_assert_eq!(key(&path), Some(odd));
            for part in path.components() {
                prop_assert!(matches!(part, Component::Normal(name) if name.len() <= 255), "{:?}", path);
            }
        }

        #[test]
        fn no_file_is_the_folder_of_another_key(one in odd_key(), other in odd_key()) {
            let below = file(&(one.clone() + "/" + &other));
            prop_assert!(!below.starts_with(file(&one)));
            prop_assert!(below.starts_with(folder(&(one + "/"))));
        }
    }
}
