//! Walks over the days of a listing, from the newest to the oldest, until a page is complete.

use super::days::Days;

/// Number of records in the first stretch of a filtered listing; each further stretch has four times as many.
const FIRST_STRETCH: u64 = 100_000;

/// Remaining part of a listing.
#[derive(Debug)]
pub(super) struct Walk {
    days: Days,
    is_filtered: bool,
    stretch: u64,
    /// Number of matches to skip.
    pub offset: u64,
    /// Number of matches that the page still lacks.
    pub missing: u64,
}

/// Days that are read together, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub first: String,
    pub last: String,
}

impl Walk {
    pub fn new(days: Days, is_filtered: bool, offset: u64, missing: u64) -> Self {
        Self {
            days,
            is_filtered,
            stretch: FIRST_STRETCH,
            offset,
            missing,
        }
    }

    /// Returns the next days to read; None where the page is complete or no day is left.
    pub fn next(&mut self) -> Option<Stretch> {
        if self.missing == 0 {
            return None;
        }
        self.skip_whole_days();
        let (last, newest) = self.days.pop_last()?;
        let (mut first, mut records) = (last.clone(), newest.records);
        let enough = if self.is_filtered {
            self.stretch
        } else {
            self.offset.saturating_add(self.missing)
        };
        while records < enough {
            let Some(entry) = self.days.last_entry() else {
                break;
            };
            // The page may begin before this day, which is then skipped without being read.
            if !self.is_filtered && !entry.get().is_estimate && records <= self.offset {
                break;
            }
            let (day, found) = entry.remove_entry();
            records += found.records;
            first = day;
        }
        if self.is_filtered {
            self.stretch = self.stretch.saturating_mul(4);
        }
        Some(Stretch { first, last })
    }

    fn skip_whole_days(&mut self) {
        while let Some(entry) = self.days.last_entry() {
            let day = *entry.get();
            if self.is_filtered || day.is_estimate || day.records > self.offset {
                return;
            }
            self.offset -= day.records;
            entry.remove();
        }
    }

    /// Reports that the stretch had this many matches, all before the page.
    pub fn skipped(&mut self, matches: u64) {
        self.offset = self.offset.saturating_sub(matches);
    }

    /// Reports that this many matches of the stretch are on the page.
    pub fn taken(&mut self, matches: u64) {
        self.offset = 0;
        self.missing = self.missing.saturating_sub(matches);
    }
}

#[cfg(test)]
mod tests {
    use super::super::days::Day;
    use super::*;

    /// Days from the newest to the oldest; a negative number is an estimate.
    fn walk(days: &[i64], is_filtered: bool, offset: u64, missing: u64) -> Walk {
        let days = days.iter().rev().enumerate().map(|(index, records)| {
            let day = Day {
                records: records.unsigned_abs(),
                is_estimate: *records < 0,
            };
            (format!("2026-01-{:02}", index + 1), day)
        });
        Walk::new(days.collect(), is_filtered, offset, missing)
    }

    fn stretch(first: u32, last: u32) -> Option<Stretch> {
        let day = |day| format!("2026-01-{day:02}");
        Some(Stretch {
            first: day(first),
            last: day(last),
        })
    }

    #[test]
    fn whole_days_are_skipped_by_their_numbers() {
        let mut walk = walk(&[10, 10, 10, 10], false, 25, 3);
        assert_eq!(walk.next(), stretch(2, 2));
        assert_eq!(walk.offset, 5);
        walk.taken(3);
        assert_eq!(walk.next(), None);
    }

    #[test]
    fn days_are_read_together_until_the_page_is_complete() {
        let mut walk = walk(&[10, 2, 2, 10], false, 9, 4);
        assert_eq!(walk.next(), stretch(2, 4));
        walk.taken(4);
        assert_eq!(walk.next(), None);
    }

    #[test]
    fn a_day_with_a_tail_is_counted_before_others_are_skipped() {
        let mut deep = walk(&[-5, 10, 10, 10], false, 22, 3);
        assert_eq!(deep.next(), stretch(4, 4));
        deep.skipped(4);
        // The page has two records of one day and one of the day before.
        assert_eq!(deep.next(), stretch(1, 2));
        assert_eq!(deep.offset, 8);
        let mut newest = walk(&[-5, 10, 10, 10], false, 0, 8);
        assert_eq!(newest.next(), stretch(3, 4));
        // Fewer than estimated.
        newest.taken(7);
        assert_eq!(newest.next(), stretch(2, 2));
    }

    #[test]
    fn a_filter_reads_more_and_more_days() {
        let mut walk = walk(&[60_000; 14], true, 0, 51);
        assert_eq!(walk.next(), stretch(13, 14));
        walk.skipped(0);
        assert_eq!(walk.next(), stretch(6, 12));
        assert_eq!(walk.next(), stretch(1, 5));
        assert_eq!(walk.next(), None);
    }

    #[test]
    fn no_days_are_no_page() {
        assert_eq!(walk(&[], false, 0, 51).next(), None);
        assert_eq!(walk(&[10, 10], false, 20, 51).next(), None);
    }
}
