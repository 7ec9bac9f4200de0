//! Answers lists as arrays: complete, or page by page if the caller requests pages.
//!
//! An array has no place for the token of the next page, so the token is a header. It is the position of the
//! last entry of its page. So a page reads only its own entries, and entries that are created or deleted
//! meanwhile do not move other entries between pages. A token gives no access that its caller lacks, so it is
//! not signed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reply;
use super::sent_size::{MAX_SENT_BYTES, sent_bytes};
use super::text::check_resource_id;
use crate::error::{Error, Result};

const MAX_PAGE_SIZE: usize = 1_000;

/// Page of a list. Without both fields the answer is the complete list, or a 422 if that is too large to
/// send.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct PageQuery {
    /// Maximum number of entries on a page. A page also ends at 6.2 MB. Default: 1,000 with
    /// `next_page_token`, otherwise no pages.
    #[schemars(range(min = 1, max = MAX_PAGE_SIZE))]
    pub page_size: Option<usize>,
    /// Value of the header `x-next-page-token` of the previous page.
    pub next_page_token: Option<String>,
}

impl PageQuery {
    /// Whether a page is requested.
    pub fn is_given(&self) -> bool {
        self.page_size.is_some() || self.next_page_token.is_some()
    }

    /// Refuses pages that are requested together with a window of the list, which `limit` and `offset` give.
    pub fn without_window(self, has_window: bool) -> Result<Self> {
        if self.is_given() && has_window {
            return Err(Error::invalid(
                "The query parameters 'page_size' and 'next_page_token' do not go with 'limit' and 'offset'; use either pair.",
            ));
        }
        Ok(self)
    }

    /// Creates an empty page to fill. 400 for an invalid field.
    pub fn page<T>(self) -> Result<Page<T>> {
        self.page_or(None)
    }

    /// As [`page`](Self::page), for a list that is not complete without both fields: it has at most `limit`
    /// entries.
    pub fn page_or<T>(self, limit: Option<usize>) -> Result<Page<T>> {
        if self
            .page_size
            .is_some_and(|size| !(1..=MAX_PAGE_SIZE).contains(&size))
        {
            return Err(Error::invalid(format!(
                "The query parameter 'page_size' must be from 1 to {MAX_PAGE_SIZE}."
            )));
        }
        if let Some(token) = &self.next_page_token {
            check_resource_id("next_page_token", token)?;
        }
        let is_requested = self.is_given();
        let size = match is_requested {
            true => Some(self.page_size.unwrap_or(MAX_PAGE_SIZE)),
            false => limit,
        };
        Ok(Page {
            size,
            is_requested,
            after: self.next_page_token,
            entries: Vec::new(),
            sent_bytes: BRACKETS,
            last: None,
            next: None,
        })
    }
}

/// Size of an empty array, in bytes.
const BRACKETS: usize = 2;

/// A page, or a complete list, that is being filled.
#[derive(Debug)]
pub struct Page<T> {
    /// None for a complete list.
    size: Option<usize>,
    /// If false, the list is refused where it is too large to send.
    is_requested: bool,
    after: Option<String>,
    entries: Vec<T>,
    sent_bytes: usize,
    last: Option<String>,
    next: Option<String>,
}

impl<T: Serialize> Page<T> {
    /// Position after which the page starts; None for the start of the list.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// As [`after`](Self::after), for a list whose positions are numbers. 400 for another token.
    pub fn after_number(&self) -> Result<Option<u64>> {
        let number = |token: &String| {
            token.parse().map_err(|_| {
                Error::invalid(format!(
                    "The query parameter 'next_page_token' is '{token}', which is not a token of this list."
                ))
            })
        };
        self.after.as_ref().map(number).transpose()
    }

    /// Returns how many records to read at a time, so that a small page reads few.
    pub fn read_at_once(&self) -> usize {
        // One more shows whether there is a next page.
        self.size
            .map_or(MAX_PAGE_SIZE, |size| size + 1)
            .min(MAX_PAGE_SIZE)
    }

    /// Adds the next entry of the list, at `position`. False if the page is already full, after which it must
    /// not get another entry; 422 where the complete list is too large to send.
    pub fn take(&mut self, position: &str, entry: T) -> Result<bool> {
        let json = serde_json::to_vec(&entry).map_err(Error::internal)?;
        let comma = usize::from(!self.entries.is_empty());
        let with_entry = self.sent_bytes + comma + sent_bytes(&json);
        let is_full = self.size.is_some_and(|size| self.entries.len() >= size);
        if is_full || with_entry > MAX_SENT_BYTES {
            if !is_full && !self.is_requested {
                let less = match self.size {
                    Some(_) => ", or for less with 'limit'",
                    None => "",
                };
                return Err(Error::unprocessable(format!(
                    "The list takes more than the {MAX_SENT_BYTES} bytes that can be sent. Ask for it page by page, with \
                     'page_size' and 'next_page_token'{less}."
                )));
            }
            if self.entries.is_empty() {
                return Err(Error::unprocessable(format!(
                    "The entry '{position}' alone takes more than the {MAX_SENT_BYTES} bytes that can be sent; make it smaller."
                )));
            }
            self.next = self.last.take();
            return Ok(false);
        }
        self.sent_bytes = with_entry;
        self.last = Some(position.to_owned());
        self.entries.push(entry);
        Ok(true)
    }

    pub fn reply(self) -> Reply<Vec<T>> {
        Reply::ok(self.entries).next_page_token(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(page_size: Option<usize>) -> Page<String> {
        let next_page_token = None;
        PageQuery {
            page_size,
            next_page_token,
        }
        .page()
        .unwrap()
    }

    /// Returns how many entries fit on a page, and the token of the next page.
    fn fill(mut page: Page<String>, entry: &str, count: usize) -> Result<(usize, Option<String>)> {
        for number in 1..=count {
            if !page.take(&number.to_string(), entry.to_owned())? {
                break;
            }
        }
        let body = serde_json::to_vec(&page.entries).unwrap();
        assert_eq!(page.sent_bytes, sent_bytes(&body));
        assert!(page.sent_bytes <= MAX_SENT_BYTES);
        Ok((page.entries.len(), page.next))
    }

    #[test]
    fn a_page_ends_at_its_size_and_says_whether_there_are_more() {
        let next = |last: &str| Some(last.to_owned());
        assert_eq!(fill(page(Some(2)), "x", 3).unwrap(), (2, next("2")));
        assert_eq!(fill(page(Some(2)), "x", 2).unwrap(), (2, None));
        assert_eq!(fill(page(Some(2)), "x", 1).unwrap(), (1, None));
        assert_eq!(fill(page(Some(2)), "x", 0).unwrap(), (0, None));
        assert_eq!(fill(page(None), "x", 2_000).unwrap(), (2_000, None));
    }

    #[test]
    fn list_of_a_limit_names_its_next_page_and_is_refused_where_it_is_too_large() {
        let list = |limit| PageQuery::default().page_or::<String>(Some(limit)).unwrap();
        assert_eq!(fill(list(2), "x", 3).unwrap(), (2, Some("2".to_owned())));
        assert_eq!(fill(list(2), "x", 2).unwrap(), (2, None));
        let megabyte = "\u{1}".repeat(1_000_000 / 7);
        assert_eq!(fill(list(6), &megabyte, 9).unwrap(), (6, Some("6".to_owned())));
        let refused = fill(list(7), &megabyte, 9).unwrap_err();
        assert_eq!(refused.status(), 422);
        assert!(refused.to_string().contains("'limit'"));
        let size = Some(3);
        let page_of_three = PageQuery {
            page_size: size,
            next_page_token: None,
        };
        assert_eq!(page_of_three.page_or::<String>(Some(50)).unwrap().size, size);
    }

    #[test]
    fn a_page_ends_at_what_can_be_sent_and_a_complete_list_is_refused() {
        // The quotes of each text count twice, as do its escaped characters.
        let megabyte = "\u{1}".repeat(1_000_000 / 7);
        assert_eq!(fill(page(Some(10)), &megabyte, 6).unwrap(), (6, None));
        assert_eq!(
            fill(page(Some(10)), &megabyte, 7).unwrap(),
            (6, Some("6".to_owned()))
        );
        assert_eq!(fill(page(None), &megabyte, 6).unwrap(), (6, None));
        let refused = fill(page(None), &megabyte, 7).unwrap_err();
        assert_eq!(refused.status(), 422);
        assert!(refused.to_string().contains("'page_size' and 'next_page_token'"));
        let refused = fill(page(Some(10)), &megabyte.repeat(7), 1).unwrap_err();
        assert_eq!(refused.status(), 422);
    }
}
