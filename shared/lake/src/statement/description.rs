//! Builds the statement that describes the columns of another.

use crate::statement::scanner::tokens;

/// Returns the statement that describes `sql`. DuckDB requires parentheses around another DESCRIBE.
pub(crate) fn description(sql: &str) -> String {
    let first = tokens(sql).into_iter().next();
    let describes = ["DESC", "DESCRIBE", "SHOW", "SUMMARIZE"];
    match first.is_some_and(|first| describes.iter().any(|word| first.is_word(word))) {
        true => format!("DESCRIBE (\n{}\n)", without_semicolons(sql)),
        false => format!("DESCRIBE {sql}"),
    }
}

/// Removes semicolons at the end of `sql`.
pub(crate) fn without_semicolons(sql: &str) -> &str {
    let tokens = tokens(sql);
    let semicolons = tokens.iter().rev().take_while(|token| token.is_symbol(';'));
    let end = semicolons.last().map_or(sql.len(), |first| first.at);
    sql.get(..end).unwrap_or(sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_before_its_semicolons() {
        for (sql, statement) in [
            ("select 1", "select 1"),
            ("select 1;", "select 1"),
            ("select 1 ; -- ;\n ;", "select 1 "),
            ("select ';'", "select ';'"),
            ("select 1 -- ;", "select 1 -- ;"),
        ] {
            assert_eq!(without_semicolons(sql), statement);
        }
    }
}
