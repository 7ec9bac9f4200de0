//! Parses server-sent events as chat endpoints use them: extracts the data of each event from chunks of
//! bytes.

/// Splits bytes into events. Buffers all bytes since the last whole event, so the caller must limit the
/// input.
#[derive(Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// Whether the last byte was a carriage return, whose line feed may follow.
    after_return: bool,
    has_begun: bool,
}

impl Events {
    /// Returns the data of the events that `bytes` complete. An unterminated event is never returned, as the
    /// standard requires.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut complete = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    complete.extend(self.end_line());
                }
                byte => {
                    self.after_return = false;
                    self.line.push(byte);
                }
            }
        }
        complete
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let had_data = std::mem::take(&mut self.has_data);
            let data = std::mem::take(&mut self.data);
            return had_data.then_some(data);
        }
        let value = match line.strip_prefix(b"data") {
            Some(b"") => b"".as_slice(),
            Some([b':', value @ ..]) => value.strip_prefix(b" ").unwrap_or(value),
            // A comment, another field, or a field whose name only starts with `data`.
            _ => return None,
        };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &[u8] =
        "\u{feff}: hello\r\n\r\ndata: {\"a\":\"é語🦀\"}\r\n\r\nevent: x\ndata:1\ndata: 2\n\n\
        id: 7\rdata\r\rdatum: no\n\nretry: 3\ndata:  two spaces \n\ndata: [DONE]\n\ndata: half"
            .as_bytes();

    fn expected() -> Vec<Vec<u8>> {
        ["{\"a\":\"é語🦀\"}", "1\n2", "", " two spaces ", "[DONE]"]
            .map(|data| data.as_bytes().to_vec())
            .to_vec()
    }

    fn cut<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
        let mut events = Events::default();
        pieces.into_iter().flat_map(|piece| events.push(piece)).collect()
    }

    #[test]
    fn events_do_not_depend_on_where_the_bytes_are_cut() {
        assert_eq!(cut([STREAM]), expected());
        assert_eq!(cut(STREAM.chunks(1)), expected());
        for at in 0..=STREAM.len() {
            let (before, after) = STREAM.split_at(at);
            assert_eq!(cut([before, after]), expected(), "{at}");
        }
    }

    proptest! {
        /// The data of any events with any line ends arrives unchanged, wherever the bytes are cut.
        #[test]
        fn data_survives_any_cuts(
            sent in prop::collection::vec("[^\r\n]{0,40}", 0..8),
            end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            size in 1..50_usize,
        ) {
            let stream: String = sent.iter().map(|data| format!(": c{end}data: {data}{end}{end}")).collect();
            let received = cut(stream.as_bytes().chunks(size));
            let sent: Vec<Vec<u8>> = sent.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(received, sent);
        }

        #[test]
        fn any_bytes_are_the_same_events_however_they_are_cut(bytes: Vec<u8>, size in 1..9_usize) {
            prop_assert_eq!(cut(bytes.chunks(size)), cut([bytes.as_slice()]));
        }
    }
}
