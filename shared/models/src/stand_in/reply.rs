//! Answers and faults of the stand-in.

use bytes::Bytes;
use serde_json::Value;

use crate::answer::{StopReason, Usage};

/// An answer, or a fault.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) kind: Kind,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) ending: Ending,
    /// Sends the body in pieces of so many bytes rather than event by event.
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

/// What the model says.
#[derive(Clone, Debug, Default)]
pub(super) struct Says {
    pub(super) text: String,
    /// Whether the text is the structured output, which Bedrock answers as the call of a tool.
    pub(super) is_output: bool,
    pub(super) calls: Vec<Called>,
    pub(super) stop: Option<Stop>,
    pub(super) usage: Usage,
    /// An error that ends a stream, after the text.
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

/// How the body ends; the number is that of the bytes that are sent.
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

    /// The model says this text; in a stream, word by word.
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

    /// The model answers with this structured output, in the way that the request asks for.
    pub fn output(value: &Value) -> Self {
        Self::text(value.to_string()).says(|says| says.is_output = true)
    }

    /// The model calls a tool, after its text and earlier calls.
    #[must_use]
    pub fn calling(self, id: &str, name: &str, arguments: &Value) -> Self {
        self.calling_with(id, name, &arguments.to_string())
    }

    /// The same with arguments that need not be JSON.
    #[must_use]
    pub fn calling_with(self, id: &str, name: &str, arguments: &str) -> Self {
        let called = Called {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        self.says(|says| says.calls.push(called))
    }

    /// The model stops for this reason, rather than for the one that follows from what it says.
    #[must_use]
    pub fn stopping(self, reason: StopReason) -> Self {
        self.says(|says| says.stop = Some(Stop::For(reason)))
    }

    /// The model stops for a reason in a word of the wire format.
    #[must_use]
    pub fn stopping_with(self, word: &str) -> Self {
        self.says(|says| says.stop = Some(Stop::Word(word.to_owned())))
    }

    /// The tokens that are told; 10 and 5 otherwise.
    #[must_use]
    pub fn costing(self, usage: Usage) -> Self {
        self.says(|says| says.usage = usage)
    }

    /// A stream ends with this error, after the text.
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

    /// The request fails, in the form of the provider.
    pub fn failing(status: u16, code: &str, sentence: &str) -> Self {
        Self::new(Kind::Fails {
            status,
            code: code.to_owned(),
            sentence: sentence.to_owned(),
        })
    }

    /// A body as it is.
    pub fn body(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(Kind::Body {
            status,
            content_type,
            body: body.into(),
        })
    }

    /// The connection is closed before any answer.
    pub fn dropping() -> Self {
        Self::new(Kind::Drops)
    }

    /// No answer ever comes.
    pub fn hanging() -> Self {
        Self::new(Kind::Hangs)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The body ends properly after so many bytes.
    #[must_use]
    pub fn ending_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Ends(bytes);
        self
    }

    /// The connection breaks off after so many bytes of the body.
    #[must_use]
    pub fn breaking_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Breaks(bytes);
        self
    }

    /// Nothing more comes after so many bytes of the body.
    #[must_use]
    pub fn hanging_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Hangs(bytes);
        self
    }

    /// The body comes in pieces of so many bytes, wherever that cuts it.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.piece_bytes = Some(bytes.max(1));
        self
    }
}
