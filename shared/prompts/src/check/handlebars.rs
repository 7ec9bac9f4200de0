//! Finds parts of a Handlebars template that no data could render. They are errors of the renderer where they
//! run; that they are in a block that may never run does not make them right.

use std::collections::HashSet;

use crate::error::RenderError;
use crate::handlebars::PARTIAL_BLOCK;
use crate::handlebars::faults::{
    BLOCK_HELPER, LOOKUP_ARGUMENTS, ONE_VALUE, no_decorator, no_helper, no_partial, reserved_helper,
};
use crate::handlebars::tree::{
    Block, Call, Decorator, Expression, Helper, Node, Partial, PartialName, Program, Subject,
};

type Result = std::result::Result<(), RenderError>;

pub fn check(program: &Program) -> Result {
    let mut partials = Partials::default();
    partials.collect(program);
    Check { partials }.program(program)
}

/// Partials that a template declares anywhere in it.
#[derive(Default)]
struct Partials<'a> {
    names: HashSet<&'a str>,
    /// Whether a name depends on the data.
    has_computed: bool,
    /// Whether there is a partial with a block, so that `@partial-block` may be something.
    has_blocks: bool,
}

impl<'a> Partials<'a> {
    fn collect(&mut self, program: &'a Program) {
        for node in &program.body {
            match node {
                Node::Decorator(decorator) => {
                    match decorator.params.first() {
                        Some(Expression::Text(name)) => {
                            self.names.insert(name);
                        }
                        _ => self.has_computed = true,
                    }
                    decorator.program.iter().for_each(|program| self.collect(program));
                }
                Node::Partial(partial) => {
                    self.has_blocks |= partial.program.is_some();
                    partial.program.iter().for_each(|program| self.collect(program));
                }
                Node::Block(block) => {
                    let branches = [&block.program, &block.inverse];
                    branches
                        .into_iter()
                        .flatten()
                        .for_each(|program| self.collect(program));
                }
                Node::Content(_) | Node::Comment(_) | Node::Mustache(..) => {}
            }
        }
    }
}

struct Check<'a> {
    partials: Partials<'a>,
}

impl Check<'_> {
    fn program(&self, program: &Program) -> Result {
        for node in &program.body {
            match node {
                Node::Content(_) | Node::Comment(_) => {}
                Node::Mustache(expression, _) => self.expression(expression)?,
                Node::Block(block) => self.block(block)?,
                Node::Partial(partial) => self.partial(partial)?,
                Node::Decorator(decorator) => self.decorator(decorator)?,
            }
        }
        Ok(())
    }

    fn block(&self, block: &Block) -> Result {
        if let Subject::Call(call) = &block.subject {
            self.call(call, true)?;
        }
        for branch in [&block.program, &block.inverse].into_iter().flatten() {
            self.program(branch)?;
        }
        Ok(())
    }

    fn decorator(&self, decorator: &Decorator) -> Result {
        if decorator.name != "inline" {
            return Err(no_decorator(decorator));
        }
        for param in &decorator.params {
            self.expression(param)?;
        }
        decorator
            .program
            .as_ref()
            .map_or(Ok(()), |program| self.program(program))
    }

    fn partial(&self, partial: &Partial) -> Result {
        match &partial.name {
            PartialName::Computed(name) => self.expression(name)?,
            PartialName::Fixed(name) => {
                let is_known = match name == PARTIAL_BLOCK {
                    true => self.partials.has_blocks,
                    false => self.partials.has_computed || self.partials.names.contains(name.as_str()),
                };
                // The block of a partial stands for one that is missing.
                if !is_known && partial.program.is_none() {
                    return Err(no_partial(partial, name));
                }
            }
        }
        if let Some(context) = &partial.context {
            self.expression(context)?;
        }
        for (_, value) in &partial.hash {
            self.expression(value)?;
        }
        partial
            .program
            .as_ref()
            .map_or(Ok(()), |program| self.program(program))
    }

    fn expression(&self, expression: &Expression) -> Result {
        match expression {
            Expression::Call(call) => self.call(call, false),
            _ => Ok(()),
        }
    }

    fn call(&self, call: &Call, is_block: bool) -> Result {
        for param in &call.params {
            self.expression(param)?;
        }
        for (_, value) in &call.hash {
            self.expression(value)?;
        }
        let fault = |reason: &str| Err(RenderError::template(call.place, reason));
        match &call.helper {
            // Without arguments it may be a value of the data that is missing, which is empty.
            Helper::Unknown(path) if !call.params.is_empty() => Err(no_helper(call, path)),
            Helper::Unknown(_) | Helper::Log => Ok(()),
            Helper::Reserved(name) => Err(reserved_helper(call, name)),
            Helper::Lookup if call.params.len() != 2 => fault(LOOKUP_ARGUMENTS),
            Helper::Lookup => Ok(()),
            Helper::Each | Helper::If | Helper::Unless | Helper::With if !is_block => fault(BLOCK_HELPER),
            Helper::Each | Helper::If | Helper::Unless | Helper::With if call.params.len() != 1 => {
                fault(ONE_VALUE)
            }
            Helper::Each | Helper::If | Helper::Unless | Helper::With => Ok(()),
        }
    }
}
