//! Parses a template by the reference's grammar (handlebars.js 4.7, `src/handlebars.yy`), by recursive
//! descent with a limited depth.

use super::expressions::{Arguments, PartialHead, Spec};
use super::lexer::tokens;
use super::path::Operand;
use super::token::{Kind, Token};
use super::tree::{Block, Content, Decorator, Node, Partial, PartialName, Program, Strip};
use super::whitespace;
use crate::error::{Place, RenderError};
use crate::limits::MAX_NESTING;

pub type Result<T> = std::result::Result<T, RenderError>;

/// Parses the template of a content.
pub fn parse(content: &str) -> Result<Program> {
    let mut parser = Parser {
        tokens: tokens(content)?,
        at: 0,
        scopes: Vec::new(),
        depth: 0,
    };
    let mut root = parser.program(Vec::new())?;
    if *parser.peek() != Kind::End {
        return parser.unexpected();
    }
    whitespace::control(&mut root);
    Ok(root)
}

pub struct Parser {
    pub tokens: Vec<Token>,
    pub at: usize,
    /// Block parameters of the open programs, the outermost first.
    pub scopes: Vec<Vec<String>>,
    /// Number of open blocks and calls.
    depth: usize,
}

/// Opening tag of a block.
struct Opened {
    spec: Spec,
    block_params: Vec<String>,
    strip: Strip,
    is_decorator: bool,
}

impl Parser {
    pub fn token(&self) -> Token {
        let last = || self.tokens.last().cloned();
        self.tokens.get(self.at).cloned().or_else(last).unwrap_or(Token {
            kind: Kind::End,
            open_tilde: false,
            close_tilde: false,
            place: Place::START,
        })
    }

    pub fn peek(&self) -> &Kind {
        self.tokens.get(self.at).map_or(&Kind::End, |token| &token.kind)
    }

    pub fn next(&mut self) -> Token {
        let token = self.token();
        self.at += 1;
        token
    }

    pub fn expect(&mut self, kind: &Kind) -> Result<Token> {
        match self.peek() == kind {
            true => Ok(self.next()),
            false => self.unexpected(),
        }
    }

    pub fn unexpected<T>(&self) -> Result<T> {
        let what = match self.peek() {
            Kind::End => {
                "the template ends within a block or a tag; expected '}}', or the end of the block, as in {{/if}}"
            }
            Kind::OpenEndBlock => {
                "a block is closed that is not open; expected text, a value or a block before it"
            }
            Kind::Inverse | Kind::OpenInverseChain => {
                "an 'else' stands outside a block, or behind another; expected it within one block, once"
            }
            Kind::Close | Kind::CloseUnescaped | Kind::CloseRawBlock => {
                "a tag ends before it is complete, or with other braces than it begins with; expected a name or a value, and as \
                 many braces as at the beginning"
            }
            _ => {
                "a tag holds what cannot stand there; expected a name, a value in quotes, 'name=value' behind all other values, \
                 or '}}'"
            }
        };
        Err(RenderError::template(self.token().place, what))
    }

    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let reason = format!("blocks and calls are nested more than {MAX_NESTING} deep");
            return Err(RenderError::template(self.token().place, reason));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Parses statements until a token that starts none.
    fn program(&mut self, block_params: Vec<String>) -> Result<Program> {
        self.scopes.push(block_params);
        let mut program = Program::default();
        while let Some(node) = self.statement()? {
            program.has_decorators |= matches!(node, Node::Decorator(_));
            program.body.push(node);
        }
        self.scopes.pop();
        Ok(program)
    }

    fn statement(&mut self) -> Result<Option<Node>> {
        Ok(Some(match self.peek() {
            Kind::Content(_) => Node::Content(self.content()),
            Kind::Comment => {
                let token = self.next();
                Node::Comment(strip(&token, &token))
            }
            Kind::Open { .. } | Kind::OpenUnescaped => self.mustache()?,
            Kind::OpenBlock { .. } => self.nested(Self::block)?,
            Kind::OpenInverse => self.nested(Self::inverse_block)?,
            Kind::OpenRawBlock => self.raw_block()?,
            Kind::OpenPartial => self.partial()?,
            Kind::OpenPartialBlock => self.nested(Self::partial_block)?,
            _ => return Ok(None),
        }))
    }

    fn content(&mut self) -> Content {
        let text = match self.next().kind {
            Kind::Content(text) => text,
            _ => String::new(),
        };
        Content {
            original: text.clone(),
            text,
            is_right_stripped: false,
            is_left_stripped: false,
        }
    }

    fn mustache(&mut self) -> Result<Node> {
        let open = self.next();
        let spec = self.spec()?;
        let end = match open.kind {
            Kind::OpenUnescaped => Kind::CloseUnescaped,
            _ => Kind::Close,
        };
        let close = self.expect(&end)?;
        let strip = strip(&open, &close);
        if open.kind == (Kind::Open { is_decorator: true }) {
            return Ok(Node::Decorator(Box::new(Decorator {
                name: spec.head.original(),
                params: spec.params,
                program: None,
                strip,
                close_strip: strip,
                place: spec.place,
            })));
        }
        Ok(Node::Mustache(self.resolve(spec), strip))
    }

    fn opened(&mut self) -> Result<Opened> {
        let open = self.next();
        let spec = self.spec()?;
        let mut block_params = Vec::new();
        if *self.peek() == Kind::OpenBlockParams {
            self.next();
            while let Kind::Id(name) = self.peek() {
                block_params.push(name.clone());
                self.next();
            }
            if block_params.is_empty() {
                return self.unexpected();
            }
            self.expect(&Kind::CloseBlockParams)?;
        }
        let close = self.expect(&Kind::Close)?;
        Ok(Opened {
            spec,
            block_params,
            strip: strip(&open, &close),
            is_decorator: open.kind == (Kind::OpenBlock { is_decorator: true }),
        })
    }

    /// Parses the closing tag, which must have the name of the opening one.
    fn closed(&mut self, head: &Operand, place: Place) -> Result<Strip> {
        let open = self.expect(&Kind::OpenEndBlock)?;
        let name = self.operand()?;
        let close = self.expect(&Kind::Close)?;
        if !name.is_same(head) {
            let (begin, end) = (head.original(), name.original());
            let reason = format!("the block '{begin}' is closed as '{end}'");
            return Err(RenderError::template(place, reason));
        }
        Ok(strip(&open, &close))
    }

    fn block(&mut self) -> Result<Node> {
        let opened = self.opened()?;
        let program = self.program(opened.block_params)?;
        if opened.is_decorator {
            if matches!(self.peek(), Kind::Inverse | Kind::OpenInverseChain) {
                return self.unexpected();
            }
            let close_strip = self.closed(&opened.spec.head, opened.spec.place)?;
            return Ok(Node::Decorator(Box::new(Decorator {
                name: opened.spec.head.original(),
                params: opened.spec.params,
                program: Some(program),
                strip: opened.strip,
                close_strip,
                place: opened.spec.place,
            })));
        }
        let mut inverse = self.inverse_chain()?;
        let close_strip = self.closed(&opened.spec.head, opened.spec.place)?;
        if let Some((inverse, _)) = &mut inverse {
            end_chain(inverse, close_strip);
        }
        Ok(self.finished(opened.spec, program, inverse, opened.strip, close_strip))
    }

    fn finished(
        &self,
        spec: Spec,
        program: Program,
        inverse: Option<(Program, Strip)>,
        open_strip: Strip,
        close_strip: Strip,
    ) -> Node {
        let (inverse, inverse_strip) = inverse.unzip();
        Node::Block(Box::new(Block {
            subject: self.subject(spec),
            program: Some(program),
            inverse,
            open_strip,
            inverse_strip: inverse_strip.unwrap_or_default(),
            close_strip,
        }))
    }

    /// Parses `{{else if …}}` and `{{else}}`, with the strip of the tag.
    fn inverse_chain(&mut self) -> Result<Option<(Program, Strip)>> {
        match self.peek() {
            Kind::Inverse => self.inverse().map(Some),
            Kind::OpenInverseChain => self.nested(|parser| {
                parser.scopes.push(Vec::new());
                let opened = parser.opened()?;
                let program = parser.program(opened.block_params)?;
                let mut inverse = parser.inverse_chain()?;
                let close_strip = inverse.as_ref().map(|(_, strip)| *strip).unwrap_or_default();
                if let Some((inverse, strip)) = &mut inverse {
                    end_chain(inverse, *strip);
                }
                let block = parser.finished(opened.spec, program, inverse, opened.strip, close_strip);
                parser.scopes.pop();
                let chained = Program {
                    body: vec![block],
                    has_decorators: false,
                    is_chained: true,
                };
                Ok(Some((chained, opened.strip)))
            }),
            _ => Ok(None),
        }
    }

    fn inverse(&mut self) -> Result<(Program, Strip)> {
        let tag = self.next();
        let program = self.program(Vec::new())?;
        Ok((program, strip(&tag, &tag)))
    }

    /// Parses `{{^name}}…{{/name}}`.
    fn inverse_block(&mut self) -> Result<Node> {
        let opened = self.opened()?;
        let inverse = self.program(opened.block_params)?;
        let program = match self.peek() {
            Kind::Inverse => Some(self.inverse()?),
            _ => None,
        };
        let close_strip = self.closed(&opened.spec.head, opened.spec.place)?;
        let (program, inverse_strip) = program.unzip();
        Ok(Node::Block(Box::new(Block {
            subject: self.subject(opened.spec),
            program,
            inverse: Some(inverse),
            open_strip: opened.strip,
            inverse_strip: inverse_strip.unwrap_or_default(),
            close_strip,
        })))
    }

    fn raw_block(&mut self) -> Result<Node> {
        self.next();
        let spec = self.spec()?;
        self.expect(&Kind::CloseRawBlock)?;
        let mut program = Program::default();
        while matches!(self.peek(), Kind::Content(_)) {
            program.body.push(Node::Content(self.content()));
        }
        let Kind::EndRawBlock(name) = self.peek() else {
            return self.unexpected();
        };
        if *name != spec.head.original() {
            let reason = format!("the raw block '{}' is closed as '{name}'", spec.head.original());
            return Err(RenderError::template(spec.place, reason));
        }
        self.next();
        Ok(self.finished(spec, program, None, Strip::default(), Strip::default()))
    }

    fn partial(&mut self) -> Result<Node> {
        let open = self.next();
        let (name, arguments) = self.partial_spec()?;
        let close = self.expect(&Kind::Close)?;
        let strip = strip(&open, &close);
        self.included(name, arguments, None, (strip, strip), open.place)
    }

    fn partial_block(&mut self) -> Result<Node> {
        let open = self.next();
        let (name, arguments) = self.partial_spec()?;
        let close = self.expect(&Kind::Close)?;
        let program = self.program(Vec::new())?;
        let Ok(head) = name else {
            let reason = "a partial with a block has a fixed name";
            return Err(RenderError::template(open.place, reason));
        };
        let close_strip = self.closed(&head, open.place)?;
        let strips = (strip(&open, &close), close_strip);
        self.included(Ok(head), arguments, Some(program), strips, open.place)
    }

    fn included(
        &self,
        name: PartialHead,
        (mut params, hash): Arguments,
        program: Option<Program>,
        (strip, close_strip): (Strip, Strip),
        place: Place,
    ) -> Result<Node> {
        if params.len() > 1 {
            return Err(RenderError::template(place, "a partial takes one context"));
        }
        Ok(Node::Partial(Box::new(Partial {
            name: match name {
                Ok(head) => PartialName::Fixed(head.original()),
                Err(call) => PartialName::Computed(call),
            },
            context: params.pop(),
            hash,
            program,
            indent: String::new(),
            strip,
            close_strip,
            place,
        })))
    }
}

/// Gives a chained block the closing tag of the whole.
fn end_chain(inverse: &mut Program, close: Strip) {
    if inverse.is_chained
        && let Some(Node::Block(block)) = inverse.body.first_mut()
    {
        block.close_strip = close;
    }
}

fn strip(open: &Token, close: &Token) -> Strip {
    Strip {
        open: open.open_tilde,
        close: close.close_tilde,
    }
}
