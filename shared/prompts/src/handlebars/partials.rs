//! Implements inline partials: `{{#*inline "name"}}`, `{{> name}}` and `{{#> name}}`. There are no other
//! partials, so a template includes only parts of itself.

use std::rc::Rc;

use super::faults::{no_decorator, no_partial};
use super::render::{Known, Renderer};
use super::scope::{Closure, Frame, Inlines, PartialBlock, Scope};
use super::tree::{Node, Partial, PartialName, Program};
use crate::error::RenderError;
use crate::value::{Item, Merged};

pub const PARTIAL_BLOCK: &str = "@partial-block";

/// Target of a partial.
enum Included<'a> {
    Inline(Rc<Closure<'a>>),
    Block(Rc<PartialBlock<'a>>),
}

impl<'a> Renderer<'a> {
    /// Returns the inline partials that a program declares anywhere in its body.
    pub fn declared(&mut self, program: &'a Program, scope: &Scope<'a>) -> Result<Inlines<'a>, RenderError> {
        // Names are resolved where the program was written.
        let contexts = scope.contexts.as_ref();
        let scope = &Scope {
            context: contexts.map_or(Item::Undefined, |contexts| contexts.context.clone()),
            ..scope.clone()
        };
        let mut inlines = Vec::new();
        for node in &program.body {
            let Node::Decorator(decorator) = node else {
                continue;
            };
            if decorator.name != "inline" {
                return Err(no_decorator(decorator));
            }
            let name = match decorator.params.first() {
                Some(name) => self.value(name, scope)?,
                None => Item::Undefined,
            };
            let name = name.name(&mut self.output)?;
            let closure = match &decorator.program {
                Some(program) => Some(Rc::new(self.closure(program, scope)?)),
                None => None,
            };
            inlines.push((name, closure));
        }
        Ok(inlines)
    }

    pub fn partial(&mut self, partial: &'a Partial, scope: &Scope<'a>) -> Result<(), RenderError> {
        let name = match &partial.name {
            PartialName::Fixed(name) => name.clone(),
            PartialName::Computed(name) => match self.value(name, scope)? {
                name if name.is_true() => name.name(&mut self.output)?,
                _ => "undefined".to_owned(),
            },
        };
        let mut context = match &partial.context {
            Some(context) => self.value(context, scope)?,
            None => scope.context.clone(),
        };
        if !partial.hash.is_empty() {
            context = Item::Merged(Rc::new(Merged {
                base: context,
                own: self.hash(&partial.hash, scope)?,
            }));
        }
        let given = scope.frame.partial_block.clone();
        let mut included = self.found(&name)?.map(Included::Inline);
        if included.is_none() && name == PARTIAL_BLOCK && matches!(partial.name, PartialName::Fixed(_)) {
            included = given.clone().map(Included::Block);
        }
        let mut frame = Rc::clone(&scope.frame);
        if let Some(program) = &partial.program {
            let block = Rc::new(PartialBlock {
                closure: self.closure(program, scope)?,
                outer: given,
            });
            frame = Rc::new(Frame {
                partial_block: Some(Rc::clone(&block)),
                ..Frame::within(&frame)
            });
            included = included.or(Some(Included::Block(block)));
        }
        let begin = self.output.len();
        match included {
            Some(Included::Inline(closure)) => self.run(&closure, context, Some(frame), Some(Vec::new()))?,
            Some(Included::Block(block)) => {
                let frame = Frame {
                    partial_block: block.outer.clone(),
                    ..Frame::within(&frame)
                };
                self.run(&block.closure, context, Some(Rc::new(frame)), Some(Vec::new()))?;
            }
            None => {
                return Err(no_partial(partial, &name));
            }
        }
        self.indent(begin, &partial.indent)
    }

    fn found(&mut self, name: &str) -> Result<Option<Rc<Closure<'a>>>, RenderError> {
        let mut known: Option<&Rc<Known<'a>>> = self.partials.as_ref();
        while let Some(partial) = known {
            self.output.spend(1)?;
            if partial.name == name {
                return Ok(partial.closure.clone());
            }
            known = partial.before.as_ref();
        }
        Ok(None)
    }

    /// Inserts white space before each line of the output since `begin`.
    fn indent(&mut self, begin: usize, indent: &str) -> Result<(), RenderError> {
        if indent.is_empty() {
            return Ok(());
        }
        let text = self.output.take_from(begin);
        for line in text.split_inclusive('\n') {
            self.output.push(indent)?;
            self.output.push(line)?;
        }
        Ok(())
    }
}
