//! Defines the answers and faults of the stand-in.

use bytes::Bytes;
use models::{StopReason, Usage};
use serde_json::Value;

/// An answer, or a fault.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) kind: Kind,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) ending: Ending,
    /// Sends the body in pieces of this many bytes instead of event by event.
    pub(super) piece_bytes: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Says(Says),
    Fails {
        status: u16,
        code: String,
        sentence: String,
    },
    Body {
        status: u16,
        content_type: &'static str,
        body: Bytes,
    },
    Drops,
    Hangs,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Says {
    pub(super) text: String,
    /// Whether the text is the structured output, which Bedrock sends as a tool call.
    pub(super) is_output: bool,
    pub(super) calls: Vec<Called>,
    pub(super) stop: Option<Stop>,
    pub(super) usage: Usage,
    /// Error that ends a stream after the text.
    pub(super) fault: Option<(String, String)>,
}

#[derive(Clone, Debug)]
pub(super) struct Called {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

#[derive(Clone, Debug)]
pub(super) enum Stop {
    For(StopReason),
    Word(String),
}

/// End of the body; the number is the count of bytes sent before.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    Whole,
    Ends(usize),
    Breaks(usize),
    Hangs(usize),
}

impl Reply {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            headers: Vec::new(),
            ending: Ending::Whole,
            piece_bytes: None,
        }
    }

    /// Answers with this text; in a stream, word by word.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Kind::Says(Says {
            text: text.into(),
            usage: Usage {
                input_tokens: 10,
                output_tokens: 5,
                cached_tokens: None,
            },
            ..Says::default()
        }))
    }

    /// Answers with this structured output, in the way that the request asks for.
    pub fn output(value: &Value) -> Self {
        Self::text(value.to_string()).says(|says| says.is_output = true)
    }

    /// Adds a tool call after the text and earlier calls.
    #[must_use]
    pub fn calling(self, id: &str, name: &str, arguments: &Value) -> Self {
        self.calling_with(id, name, &arguments.to_string())
    }

    /// Adds a tool call with arguments that may be invalid JSON.
    #[must_use]
    pub fn calling_with(self, id: &str, name: &str, arguments: &str) -> Self {
        let called = Called {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        self.says(|says| says.calls.push(called))
    }

    /// Sets the stop reason, instead of the one that follows from the answer.
    #[must_use]
    pub fn stopping(self, reason: StopReason) -> Self {
        self.says(|says| says.stop = Some(Stop::For(reason)))
    }

    /// Sets the stop reason to a word of the wire format.
    #[must_use]
    pub fn stopping_with(self, word: &str) -> Self {
        self.says(|says| says.stop = Some(Stop::Word(word.to_owned())))
    }

    /// Sets the token counts. Default: 10 and 5.
    #[must_use]
    pub fn costing(self, usage: Usage) -> Self {
        self.says(|says| says.usage = usage)
    }

    /// Ends a stream with this error, after the text.
    #[must_use]
    pub fn then_failing(self, code: &str, sentence: &str) -> Self {
        self.says(|says| says.fault = Some((code.to_owned(), sentence.to_owned())))
    }

    fn says(mut self, change: impl FnOnce(&mut Says)) -> Self {
        if let Kind::Says(says) = &mut self.kind {
            change(says);
        }
        self
    }

    /// Fails the request, in the form of the provider.
    pub fn failing(status: u16, code: &str, sentence: &str) -> Self {
        Self::new(Kind::Fails {
            status,
            code: code.to_owned(),
            sentence: sentence.to_owned(),
        })
    }

    /// Sends this body unchanged.
    pub fn body(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(Kind::Body {
            status,
            content_type,
            body: body.into(),
        })
    }

    /// Closes the connection before any answer.
    pub fn dropping() -> Self {
        Self::new(Kind::Drops)
    }

    /// Never answers.
    pub fn hanging() -> Self {
        Self::new(Kind::Hangs)
    }

    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Ends the body properly after this many bytes.
    #[must_use]
    pub fn ending_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Ends(bytes);
        self
    }

    /// Breaks the connection after this many bytes of the body.
    #[must_use]
    pub fn breaking_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Breaks(bytes);
        self
    }

    /// Sends nothing more after this many bytes of the body.
    #[must_use]
    pub fn hanging_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Hangs(bytes);
        self
    }

    /// Sends the body in pieces of this many bytes, independent of event boundaries.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.piece_bytes = Some(bytes.max(1));
        self
    }
}

/// Head and body of a response; the body in pieces.
pub(super) struct Encoded {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) pieces: Vec<Bytes>,
}
