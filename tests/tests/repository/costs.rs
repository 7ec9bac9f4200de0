//! Tests the arithmetic of the table of a million webhooks in `docs/deploy.md`. `COSTS_WRITE=1` writes its
//! dollars anew, after a change of an amount or a price.

use std::fs;

use tests::variable;

const GUIDE: &str = "../docs/deploy.md";
const HEADING: &str = "| A million delivered webhooks |";
const TOTAL: &str = "| **All in** |";

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap_or_else(|_| panic!("'{cell}' is no number"))
}

/// Returns a row with its amount times its price as dollars, and these in cents.
fn computed(row: &str) -> (String, f64) {
    let [what, origin, amount, price, _] = cells(row)[..] else {
        panic!("not a row of five cells: {row}");
    };
    let cents = (number(amount) * number(price) * 100.0).round();
    let dollars = cents / 100.0;
    (
        format!("| {what} | {origin} | {amount} | {price} | {dollars:.2} |"),
        cents,
    )
}

#[test]
fn dollars_of_a_million_webhooks_are_their_amounts_times_their_prices() {
    let guide = fs::read_to_string(GUIDE).unwrap();
    let mut lines: Vec<_> = guide.lines().map(str::to_owned).collect();
    let first = lines
        .iter()
        .position(|line| line.starts_with(HEADING))
        .expect(HEADING)
        + 2;
    let last = lines
        .iter()
        .position(|line| line.starts_with(TOTAL))
        .expect(TOTAL);
    assert!(last > first + 5);
    let mut cents = 0.0;
    for line in &mut lines[first..last] {
        let (row, of_row) = computed(line);
        *line = row;
        cents += of_row;
    }
    lines[last] = format!("{TOTAL} | | | **{:.2}** |", cents / 100.0);
    let expected = lines.join("\n") + "\n";
    if variable("COSTS_WRITE").is_some() {
        fs::write(GUIDE, &expected).unwrap();
    }
    let guide = fs::read_to_string(GUIDE).unwrap();
    for (line, expected) in guide.lines().zip(expected.lines()) {
        assert_eq!(line, expected, "run this test with COSTS_WRITE=1");
    }
}
