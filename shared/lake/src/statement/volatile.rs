//! Lists functions and words whose result changes over the same data: randomness and the clock.

/// Functions of the allow-list that depend on randomness or the time. DuckDB's catalog marks only some of
/// them.
const FUNCTIONS: [&str; 16] = [
    "age",
    "current_date",
    "current_localtime",
    "current_localtimestamp",
    "error",
    "gen_random_uuid",
    "get_current_time",
    "get_current_timestamp",
    "now",
    "random",
    "reservoir_quantile",
    "today",
    "transaction_timestamp",
    "uuid",
    "uuidv4",
    "uuidv7",
];

/// Words that DuckDB reads as a function if no column has the name.
const WORDS: [&str; 5] = [
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
];

/// Returns whether the function's result may change over the same data.
pub(crate) fn is_volatile_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

/// Returns whether a column reference of this one name may mean the current time.
pub(crate) fn is_volatile_word(name: &str) -> bool {
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use duckdb::Connection;

    use super::*;

    fn functions(condition: &str) -> BTreeSet<String> {
        let connection = Connection::open_in_memory().unwrap();
        let sql = format!("SELECT DISTINCT function_name FROM duckdb_functions() WHERE {condition}");
        let mut statement = connection.prepare(&sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    }

    #[test]
    fn what_the_linked_library_calls_volatile_is_on_the_list() {
        let allowed: BTreeSet<&str> = include_str!("check/functions_allowed.txt").lines().collect();
        for name in functions("stability <> 'CONSISTENT'") {
            assert!(
                !allowed.contains(name.as_str()) || is_volatile_function(&name),
                "{name}"
            );
        }
        let all = functions("true");
        for name in FUNCTIONS {
            assert!(all.contains(name), "{name} is no function any more");
            assert!(
                allowed.contains(name),
                "{name} is not allowed, so it need not be here"
            );
        }
    }

    /// A new name that suggests the clock or randomness must be reviewed.
    #[test]
    fn no_other_function_has_a_name_of_time_or_chance() {
        let harmless = ["timezone"];
        for name in include_str!("check/functions_allowed.txt").lines() {
            let smells = [
                "now",
                "today",
                "current_",
                "random",
                "uuid",
                "local",
                "reservoir",
                "sleep",
                "seed",
            ]
            .iter()
            .any(|part| name.contains(part));
            assert!(
                !smells || is_volatile_function(name) || harmless.contains(&name) || is_of_given_uuid(name),
                "{name}"
            );
        }
    }

    fn is_of_given_uuid(name: &str) -> bool {
        name.starts_with("uuid_extract_")
    }
}
