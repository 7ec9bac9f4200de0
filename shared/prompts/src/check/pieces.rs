//! Cuts a Handlebars template into pieces that can be parsed separately.
//!
//! The parser computes line and column of each tag from the beginning of its text, so its time grows with the
//! square of the size. A template is a sequence of elements, and a cut between two elements changes neither.
//! One linear scan finds such positions without parsing the tags, so it can be wrong; see [`are_independent`]
//! for why that does no harm.

use super::SyntaxError;

/// Maximum nesting depth of blocks: the parser's time grows with its square.
const MAX_BLOCK_DEPTH: usize = 100;

const COMMENT: &str = "{{!";
const LONG_COMMENT_END: &str = "--}}";

/// Returns the text of a long comment, `{{!-- … --}}`, after its first dashes. The grammar allows white space
/// before these.
fn long_comment(tag: &str) -> Option<&str> {
    let inside = tag.strip_prefix(COMMENT)?;
    inside
        .trim_start_matches([' ', '\t', '\n', '\r'])
        .strip_prefix("--")
}

/// Cuts a template into pieces; only the last may be shorter than `least_bytes`. Fails where blocks nest too
/// deep.
pub fn cut(content: &str, least_bytes: usize) -> Result<Vec<&str>, SyntaxError> {
    let mut pieces = Vec::new();
    let mut scan = Scan {
        content,
        depth: 0,
        has_long_comments: true,
    };
    let (mut begin, mut at) = (0, 0);
    while let Some(end) = scan.next_tag(at)? {
        at = end;
        let after = content.as_bytes().get(end);
        // A third brace could belong to the tag.
        if scan.depth == 0 && end - begin >= least_bytes && after != Some(&b'}') {
            pieces.extend(content.get(begin..end));
            begin = end;
        }
    }
    pieces.extend(content.get(begin..).filter(|rest| !rest.is_empty()));
    Ok(pieces)
}

/// Returns whether pieces that are valid templates separately are also valid together.
///
/// The grammar reads from left to right, and parses an element of a piece in the same way in the whole. The
/// exception is a short comment, which can be the beginning of a long one that ends in a later piece.
pub fn are_independent(pieces: &[&str]) -> bool {
    pieces.iter().all(|piece| {
        let comments = piece
            .rmatch_indices(COMMENT)
            .filter_map(|(at, _)| long_comment(piece.get(at..)?));
        let last = comments.into_iter().next();
        last.is_none_or(|comment| comment.contains(LONG_COMMENT_END))
    })
}

struct Scan<'a> {
    content: &'a str,
    /// Nesting depth after the last tag.
    depth: usize,
    /// Whether a long comment may still end somewhere: the scan searches in vain for the end at most once.
    has_long_comments: bool,
}

impl Scan<'_> {
    /// Returns the end of the next tag from `at` on; None where there is none, or where tags and text can no
    /// longer be distinguished.
    fn next_tag(&mut self, at: usize) -> Result<Option<usize>, SyntaxError> {
        let mut from = at;
        let begin = loop {
            let Some(begin) = self.find("{{", from) else {
                return Ok(None);
            };
            if !self.is_escaped(begin) {
                break begin;
            }
            from = begin + 2;
        };
        let tag = self.content.get(begin..).unwrap_or_default();
        if tag.starts_with("{{{{") {
            return Ok(None);
        }
        if let Some(comment) = long_comment(tag)
            && self.has_long_comments
        {
            if let Some(end) = self.find(LONG_COMMENT_END, self.content.len() - comment.len()) {
                return Ok(Some(end + LONG_COMMENT_END.len()));
            }
            self.has_long_comments = false;
        }
        let Some(end) = self.find("}}", begin + 2) else {
            return Ok(None);
        };
        match tag
            .trim_start_matches(['{', '~', ' ', '\t', '\n', '\r'])
            .chars()
            .next()
        {
            Some('#') => self.depth += 1,
            Some('/') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.depth > MAX_BLOCK_DEPTH {
            let reason = format!("blocks are nested more than {MAX_BLOCK_DEPTH} deep");
            return Err(SyntaxError::at(self.content, begin, reason));
        }
        Ok(Some(end + 2))
    }

    /// Returns whether exactly one backslash precedes a position: it makes the braces text, while two keep
    /// the tag.
    fn is_escaped(&self, at: usize) -> bool {
        let before = self.content.get(..at).unwrap_or_default();
        before.ends_with('\\') && !before.ends_with("\\\\")
    }

    fn find(&self, what: &str, from: usize) -> Option<usize> {
        Some(from + self.content.get(from..)?.find(what)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_lie_between_elements() {
        assert_eq!(cut("", 1).unwrap(), Vec::<&str>::new());
        assert_eq!(cut("text", 1).unwrap(), ["text"]);
        assert_eq!(cut("a{{b}}c{{{d}}}e", 1).unwrap(), ["a{{b}}", "c{{{d}}}e"]);
        assert_eq!(
            cut("{{#if a}}{{b}}{{/if}}{{c}}", 1).unwrap(),
            ["{{#if a}}{{b}}{{/if}}", "{{c}}"]
        );
        assert_eq!(cut("{{!-- }} --}}{{a}}", 1).unwrap(), ["{{!-- }} --}}", "{{a}}"]);
        assert_eq!(cut("{{{{raw}}}}{{a}}{{{{/raw}}}}", 1).unwrap().len(), 1);
        assert_eq!(cut("{{a}}{{b}}", 6).unwrap(), ["{{a}}{{b}}"]);
    }

    #[test]
    fn a_short_comment_may_be_the_beginning_of_a_long_one() {
        assert!(are_independent(&["{{!-- a --}}", "{{! b }}"]));
        assert!(!are_independent(&["{{!-- a }}", "{{b}} --}}"]));
        // The first dashes do not end the comment.
        for begin in ["{{!--}}", "{{!---}}", "{{! --}}"] {
            assert!(!are_independent(&[begin, "{{b}} --}}"]), "{begin}");
            let whole = format!("{begin}{{{{#if a}}}} --}}}} {{{{b}}}}");
            assert_eq!(cut(&whole, 1).unwrap().len(), 2, "{begin}");
        }
    }
}
