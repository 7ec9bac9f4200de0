//! Counts the levels of a type by its name in DuckDB.

/// Types whose parentheses hold other types; those of DECIMAL hold numbers.
const HOLDERS: [&str; 3] = ["STRUCT", "MAP", "UNION"];

/// Returns the levels of lists, structs, maps and unions: 0 for `INTEGER`, 2 for `STRUCT(a INTEGER[])`.
pub(crate) fn levels(type_name: &str) -> usize {
    // The deepest type of each open parenthesis, and whether that counts as a level.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let (mut levels, mut deepest) = (0, 0);
    let mut word = String::new();
    let mut quote = None;
    for letter in type_name.chars() {
        // A quote in quotes is doubled, which closes and opens them again.
        if quote.is_some() {
            if quote == Some(letter) {
                quote = None;
            }
            continue;
        }
        match letter {
            '"' | '\'' => quote = Some(letter),
            '(' => {
                open.push((deepest, HOLDERS.contains(&word.as_str())));
                (levels, deepest) = (0, 0);
            }
            ')' => {
                let (outer, is_level) = open.pop().unwrap_or_default();
                levels = levels.max(deepest) + usize::from(is_level);
                deepest = outer;
            }
            ',' => {
                deepest = deepest.max(levels);
                levels = 0;
            }
            ']' => levels += 1,
            _ => {}
        }
        match letter.is_ascii_alphabetic() {
            true => word.push(letter),
            false => word.clear(),
        }
    }
    levels.max(deepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_types_and_not_of_names() {
        for (type_name, expected) in [
            ("INTEGER", 0),
            ("DECIMAL(18,4)", 0),
            ("ENUM('a[]', 'STRUCT(')", 0),
            ("TIMESTAMP WITH TIME ZONE", 0),
            ("DECIMAL(18,4)[]", 1),
            ("INTEGER[3][]", 2),
            ("STRUCT(a INTEGER, b DECIMAL(18,4)[])", 2),
            ("STRUCT(a INTEGER[], b INTEGER)", 2),
            ("STRUCT(a INTEGER[], b INTEGER)[]", 3),
            ("MAP(VARCHAR, STRUCT(a MAP(VARCHAR, INTEGER[])))", 4),
            ("STRUCT(\"a(b[]\"\"[]\" INTEGER, \"STRUCT(\" INTEGER)", 1),
            ("UNION(a STRUCT(b INTEGER), c INTEGER)", 2),
        ] {
            assert_eq!(levels(type_name), expected, "{type_name}");
        }
    }
}
