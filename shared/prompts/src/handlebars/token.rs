//! Defines the tokens of a template.

use crate::error::Place;

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Content(String),
    Comment,
    OpenCall,
    CloseCall,
    OpenRawBlock,
    CloseRawBlock,
    /// `{{{{/name}}}}`.
    EndRawBlock(String),
    OpenPartial,
    OpenPartialBlock,
    OpenBlock {
        is_decorator: bool,
    },
    OpenEndBlock,
    Inverse,
    OpenInverse,
    OpenInverseChain,
    OpenUnescaped,
    Open {
        is_decorator: bool,
    },
    Equals,
    /// As written, with its brackets.
    Id(String),
    Separator(char),
    CloseUnescaped,
    Close,
    Text(String),
    Data,
    Bool(bool),
    Undefined,
    Null,
    Number(f64),
    OpenBlockParams,
    CloseBlockParams,
    End,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    /// Whether a tilde follows the opening braces, or precedes the closing ones.
    pub open_tilde: bool,
    pub close_tilde: bool,
    pub place: Place,
}
