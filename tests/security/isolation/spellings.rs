//! Tests every kind of id in every spelling that might pass a check wrongly, or reach into another key.

use super::rows::{Row, read};

const KINDS: &str = include_str!("../data/isolation-kinds.txt");
const SPELLINGS: &str = include_str!("../data/isolation-spellings.txt");

/// Returns each spelling for every fourth kind, so that each kind gets every fourth spelling; the callers
/// alternate.
pub fn rows() -> Vec<Row> {
    let lines = |text: &'static str| {
        text.lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
    };
    let mut rows = Vec::new();
    for (line, spelling) in lines(SPELLINGS).enumerate() {
        let (spelling, status) = spelling.rsplit_once(" | ").expect("a spelling and a status");
        for (number, kind) in lines(KINDS).enumerate().skip(line % 4).step_by(4) {
            let (kind, name) = kind.rsplit_once(" | ").expect("a request and a name");
            let (operation, request) = kind.split_once(" | ").expect("an operation and a request");
            let caller = ["P", "A"][(line / 4 + number / 4) % 2];
            let id = spelling.trim();
            let id = id
                .replace("ID", &format!("${name}"))
                .replace("OWN", &format!("@{name}"));
            let request = request.replace("{}", &id);
            let row = format!("{operation} | {caller} | {request} | {status}");
            rows.push(read("spellings", line + 1, &row));
        }
    }
    rows
}
