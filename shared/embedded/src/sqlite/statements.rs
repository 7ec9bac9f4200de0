//! Defines the statements that read ranges. A test checks that each searches for its range and sorts nothing.

use platform::records::store::Order;

const TABLE_ASCENDING: &str = "SELECT sk, item FROM items \
    WHERE tbl = ?1 AND pk = ?2 AND sk >= ?3 AND sk < ?4 ORDER BY sk LIMIT ?5";
const TABLE_DESCENDING: &str = "SELECT sk, item FROM items \
    WHERE tbl = ?1 AND pk = ?2 AND sk >= ?3 AND sk < ?4 ORDER BY sk DESC LIMIT ?5";

const WHOLE_ASCENDING: &str = "SELECT e.isk, e.pk, e.sk, i.item FROM entries e \
    CROSS JOIN items i ON i.tbl = e.tbl AND i.pk = e.pk AND i.sk = e.sk \
    WHERE e.tbl = ?1 AND e.idx = ?2 AND e.ipk = ?3 AND (e.isk, e.pk, e.sk) > (?4, ?5, ?6) \
    AND (e.isk, e.pk, e.sk) < (?7, ?8, ?9) ORDER BY e.isk, e.pk, e.sk LIMIT ?10";
const WHOLE_DESCENDING: &str = "SELECT e.isk, e.pk, e.sk, i.item FROM entries e \
    CROSS JOIN items i ON i.tbl = e.tbl AND i.pk = e.pk AND i.sk = e.sk \
    WHERE e.tbl = ?1 AND e.idx = ?2 AND e.ipk = ?3 AND (e.isk, e.pk, e.sk) > (?4, ?5, ?6) \
    AND (e.isk, e.pk, e.sk) < (?7, ?8, ?9) ORDER BY e.isk DESC, e.pk DESC, e.sk DESC LIMIT ?10";
const CARRIED_ASCENDING: &str = "SELECT isk, pk, sk, carried FROM entries \
    WHERE tbl = ?1 AND idx = ?2 AND ipk = ?3 AND (isk, pk, sk) > (?4, ?5, ?6) \
    AND (isk, pk, sk) < (?7, ?8, ?9) ORDER BY isk, pk, sk LIMIT ?10";
const CARRIED_DESCENDING: &str = "SELECT isk, pk, sk, carried FROM entries \
    WHERE tbl = ?1 AND idx = ?2 AND ipk = ?3 AND (isk, pk, sk) > (?4, ?5, ?6) \
    AND (isk, pk, sk) < (?7, ?8, ?9) ORDER BY isk DESC, pk DESC, sk DESC LIMIT ?10";

pub(super) const FIND: &str = "SELECT item FROM items WHERE tbl = ?1 AND pk = ?2 AND sk = ?3";
pub(super) const COUNT_OF_TABLE: &str = "SELECT count(*) FROM items \
    WHERE tbl = ?1 AND pk = ?2 AND sk >= ?3 AND sk < ?4";
pub(super) const COUNT_OF_INDEX: &str = "SELECT count(*) FROM entries \
    WHERE tbl = ?1 AND idx = ?2 AND ipk = ?3 AND isk >= ?4 AND isk < ?5";
pub(super) const SCAN: &str = "SELECT pk, sk, item FROM items \
    WHERE tbl = ?1 AND (pk, sk) > (?2, ?3) ORDER BY pk, sk";
pub(super) const EXPIRING: &str = "SELECT tbl, pk, sk FROM items \
    WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2";

pub(super) const fn page_of_table(order: Order) -> &'static str {
    match order {
        Order::Ascending => TABLE_ASCENDING,
        Order::Descending => TABLE_DESCENDING,
    }
}

/// Reads whole items, or the attributes that the index carries.
pub(super) const fn page_of_index(is_whole: bool, order: Order) -> &'static str {
    match (is_whole, order) {
        (true, Order::Ascending) => WHOLE_ASCENDING,
        (true, Order::Descending) => WHOLE_DESCENDING,
        (false, Order::Ascending) => CARRIED_ASCENDING,
        (false, Order::Descending) => CARRIED_DESCENDING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::layout::SCHEMA;

    #[test]
    fn every_range_is_a_search_without_a_sort() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let check = |sql: &str, expected: &[&str]| {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let parameters = rusqlite::params_from_iter((0..statement.parameter_count()).map(|_| 1));
            let rows = statement
                .query_map(parameters, |row| row.get::<_, String>(3))
                .unwrap();
            let plan: Vec<String> = rows.map(rusqlite::Result::unwrap).collect();
            assert_eq!(plan, expected, "{sql}");
        };
        let items = "SEARCH items USING INDEX sqlite_autoindex_items_1 (tbl=? AND pk=? AND sk>? AND sk<?)";
        let entries = "SEARCH entries USING PRIMARY KEY \
                       (tbl=? AND idx=? AND ipk=? AND (isk,pk,sk)>(?,?,?) AND (isk,pk,sk)<(?,?,?))";
        let join = entries.replace("entries", "e");
        let item = "SEARCH i USING INDEX sqlite_autoindex_items_1 (tbl=? AND pk=? AND sk=?)";
        for order in [Order::Ascending, Order::Descending] {
            check(page_of_table(order), &[items]);
            check(page_of_index(false, order), &[entries]);
            check(page_of_index(true, order), &[&join, item]);
        }
        check(
            FIND,
            &["SEARCH items USING INDEX sqlite_autoindex_items_1 (tbl=? AND pk=? AND sk=?)"],
        );
        check(COUNT_OF_TABLE, &[&items.replace("USING", "USING COVERING")]);
        check(
            COUNT_OF_INDEX,
            &["SEARCH entries USING PRIMARY KEY (tbl=? AND idx=? AND ipk=? AND isk>? AND isk<?)"],
        );
        check(
            SCAN,
            &["SEARCH items USING INDEX sqlite_autoindex_items_1 (tbl=? AND (pk,sk)>(?,?))"],
        );
        check(EXPIRING, &["SEARCH items USING INDEX expiring (expires_at<?)"]);
    }
}
