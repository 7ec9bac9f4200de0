//! Parses the inside of a tag: names, literals, calls and their arguments. Distinguishes helpers from values,
//! and resolves block parameters, as the reference's compiler does.

use super::parser::{Parser, Result};
use super::path::{Operand, PathText, is_scoped};
use super::token::Kind;
use super::tree::{Call, Expression, Helper, Path, Source, Subject};
use crate::error::{Place, RenderError};

/// Arguments of a helper: values, and values by name.
pub type Arguments = (Vec<Expression>, Vec<(String, Expression)>);
/// Name of a partial, or the call that computes it.
pub type PartialHead = std::result::Result<Operand, Expression>;

/// Content of a tag between the braces.
pub struct Spec {
    pub head: Operand,
    pub params: Vec<Expression>,
    pub hash: Vec<(String, Expression)>,
    pub place: Place,
}

impl Parser {
    pub fn partial_spec(&mut self) -> Result<(PartialHead, Arguments)> {
        let name = match self.peek() {
            Kind::OpenCall => Err(self.nested(Self::call)?),
            _ => Ok(self.operand()?),
        };
        Ok((name, self.arguments()?))
    }

    pub fn spec(&mut self) -> Result<Spec> {
        let place = self.token().place;
        let head = self.operand()?;
        let (params, hash) = self.arguments()?;
        Ok(Spec {
            head,
            params,
            hash,
            place,
        })
    }

    fn arguments(&mut self) -> Result<Arguments> {
        let (mut params, mut hash) = (Vec::new(), Vec::new());
        loop {
            let is_pair = matches!(self.peek(), Kind::Id(_))
                && matches!(self.tokens.get(self.at + 1), Some(token) if token.kind == Kind::Equals);
            if is_pair && let Kind::Id(name) = self.next().kind {
                self.next();
                let value = self.param()?;
                hash.push((PathText::part(&name), value));
            } else if hash.is_empty() && self.begins_param() {
                params.push(self.param()?);
            } else {
                return Ok((params, hash));
            }
        }
    }

    fn begins_param(&self) -> bool {
        matches!(
            self.peek(),
            Kind::OpenCall
                | Kind::Id(_)
                | Kind::Data
                | Kind::Text(_)
                | Kind::Number(_)
                | Kind::Bool(_)
                | Kind::Undefined
                | Kind::Null
        )
    }

    fn param(&mut self) -> Result<Expression> {
        if *self.peek() == Kind::OpenCall {
            return self.nested(Self::call);
        }
        Ok(match self.operand()? {
            Operand::Text(text) => Expression::Text(text),
            Operand::Number(number) => Expression::Number(number),
            Operand::Bool(value) => Expression::Bool(value),
            Operand::Undefined => Expression::Undefined,
            Operand::Null => Expression::Null,
            Operand::Path(path) => Expression::Path(self.path(path)),
        })
    }

    /// Parses `(helper param)`: always a call, unless it names a block parameter.
    fn call(&mut self) -> Result<Expression> {
        self.expect(&Kind::OpenCall)?;
        let spec = self.spec()?;
        self.expect(&Kind::CloseCall)?;
        let path = spec.head.into_path(spec.place);
        Ok(match path.is_simple() && self.block_param(&path).is_some() {
            true => Expression::Path(self.path(path)),
            false => Expression::Call(Box::new(self.called(path, spec.params, spec.hash, spec.place))),
        })
    }

    pub fn operand(&mut self) -> Result<Operand> {
        let token = self.token();
        let literal = match token.kind {
            Kind::Text(text) => Operand::Text(text),
            Kind::Number(number) => Operand::Number(number),
            Kind::Bool(value) => Operand::Bool(value),
            Kind::Undefined => Operand::Undefined,
            Kind::Null => Operand::Null,
            Kind::Data => {
                self.next();
                return self.segments(true, token.place);
            }
            Kind::Id(_) => return self.segments(false, token.place),
            _ => return self.unexpected(),
        };
        self.next();
        Ok(literal)
    }

    fn segments(&mut self, is_data: bool, place: Place) -> Result<Operand> {
        let mut path = PathText::new(is_data, place);
        let mut separator = None;
        loop {
            let Kind::Id(name) = self.peek() else {
                return self.unexpected();
            };
            if !path.push(separator, name) {
                let reason = format!("the path '{}' goes up or to itself behind a name", path.original);
                return Err(RenderError::template(place, reason));
            }
            self.next();
            let Kind::Separator(character) = *self.peek() else {
                return Ok(Operand::Path(path));
            };
            self.next();
            separator = Some(character);
        }
    }

    fn block_param(&self, path: &PathText) -> Option<(usize, usize)> {
        let name = path.parts.first()?;
        if path.depth > 0 || is_scoped(&path.original) {
            return None;
        }
        let places = self
            .scopes
            .iter()
            .rev()
            .map(|params| params.iter().position(|param| param == name));
        places
            .enumerate()
            .find_map(|(up, place)| place.map(|place| (up, place)))
    }

    fn path(&self, path: PathText) -> Path {
        let source = match self.block_param(&path) {
            Some((up, place)) => Source::Param(up, place),
            // The reference takes an empty name as the context itself.
            None if path.parts.first().is_none_or(String::is_empty) => Source::Context(path.depth),
            None if path.is_data => Source::Data(path.depth),
            None => Source::Context(path.depth),
        };
        let is_context =
            path.parts.first().is_none_or(String::is_empty) && !matches!(source, Source::Param(..));
        Path {
            source,
            parts: if is_context { Vec::new() } else { path.parts },
            original: path.original,
            place: path.place,
        }
    }

    /// Resolves a tag to a call or a value.
    pub fn resolve(&self, spec: Spec) -> Expression {
        match self.subject(spec) {
            Subject::Call(call) => Expression::Call(Box::new(call)),
            Subject::Value(path) => Expression::Path(path),
        }
    }

    pub fn subject(&self, spec: Spec) -> Subject {
        let path = spec.head.into_path(spec.place);
        let is_simple = path.is_simple();
        let is_param = is_simple && self.block_param(&path).is_some();
        let has_arguments = !spec.params.is_empty() || !spec.hash.is_empty();
        let is_known = path.parts.first().is_some_and(|name| known(name).is_some());
        match !is_param && (has_arguments || (is_simple && is_known)) {
            true => Subject::Call(self.called(path, spec.params, spec.hash, spec.place)),
            false => Subject::Value(self.path(path)),
        }
    }

    fn called(
        &self,
        path: PathText,
        params: Vec<Expression>,
        hash: Vec<(String, Expression)>,
        place: Place,
    ) -> Call {
        let known = path.parts.first().and_then(|name| known(name));
        Call {
            helper: known.unwrap_or_else(|| Helper::Unknown(self.path(path))),
            params,
            hash,
            place,
        }
    }
}

fn known(name: &str) -> Option<Helper> {
    Some(match name {
        "each" => Helper::Each,
        "if" => Helper::If,
        "log" => Helper::Log,
        "lookup" => Helper::Lookup,
        "unless" => Helper::Unless,
        "with" => Helper::With,
        "helperMissing" | "blockHelperMissing" => Helper::Reserved(name.to_owned()),
        _ => return None,
    })
}
