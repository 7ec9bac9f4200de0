//! Parses server-sent events, in bytes that are cut anywhere.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Field `event`: the type. None where the event has the default one, `message`.
    pub kind: Option<String>,
    pub data: Vec<u8>,
}

/// Splits bytes into events. Buffers all bytes since the last whole event, so the caller must limit the
/// input.
#[derive(Default)]
pub struct Events {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// Whether the last byte was a carriage return, whose line feed may follow.
    after_return: bool,
    has_begun: bool,
}

impl Events {
    /// Returns the events that `bytes` complete, without those that have no data. An unterminated event is
    /// never returned, as the standard requires.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
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

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let had_data = std::mem::take(&mut self.has_data);
            let event = std::mem::take(&mut self.event);
            return had_data.then_some(event);
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (field, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => {
                let kind = String::from_utf8_lossy(value).into_owned();
                self.event.kind = Some(kind).filter(|kind| !kind.is_empty());
            }
            // A comment, or another field.
            _ => {}
        }
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
        events(pieces).into_iter().map(|event| event.data).collect()
    }

    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
        let mut events = Events::default();
        pieces.into_iter().flat_map(|piece| events.push(piece)).collect()
    }

    #[test]
    fn kind_belongs_to_its_event_alone() {
        let stream = b"event: ping\ndata: 1\n\ndata: 2\nevent\n\nevent: lost\n\ndata: 3\n\n";
        let kinds: Vec<_> = events([stream.as_slice()])
            .into_iter()
            .map(|event| event.kind)
            .collect();
        assert_eq!(kinds, [Some("ping".to_owned()), None, None]);
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
