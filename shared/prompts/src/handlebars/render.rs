//! Runs a template over data. Writes everything in order to one output, which counts the steps.

use std::rc::Rc;

use serde_json::Value;

use super::scope::{Closure, Contexts, Frame, Params, Scope};
use super::tree::{Block, Expression, Node, Program, Subject};
use crate::error::RenderError;
use crate::limits::MAX_ACTIVE_BLOCKS;
use crate::output::Output;
use crate::value::Item;

/// Number of steps to run a block once: it creates a scope, which takes much longer than a piece of text.
const STEPS_OF_RUN: usize = 4;

pub fn render(program: &Program, data: &Value) -> Result<String, RenderError> {
    let context = Item::from(data);
    let frame = Rc::new(Frame::root(context.clone()));
    let mut renderer = Renderer {
        output: Output::new(),
        partials: None,
        active: 0,
    };
    // The inline partials of the whole template are declared before it has a context.
    let nowhere = Scope {
        context: Item::Undefined,
        contexts: None,
        frame,
        params: None,
    };
    let main = renderer.closure(program, &nowhere)?;
    renderer.run(&main, context, None, None)?;
    Ok(renderer.output.into_text())
}

/// Known inline partials, the latest first.
pub struct Known<'a> {
    pub name: String,
    pub closure: Option<Rc<Closure<'a>>>,
    pub before: Option<Rc<Known<'a>>>,
}

pub struct Renderer<'a> {
    pub output: Output,
    pub partials: Option<Rc<Known<'a>>>,
    /// Number of nested running programs; the first is the whole template.
    active: usize,
}

impl<'a> Renderer<'a> {
    /// Binds a program to its scope, with the inline partials that it declares.
    pub fn closure(&mut self, program: &'a Program, scope: &Scope<'a>) -> Result<Closure<'a>, RenderError> {
        let inlines = match program.has_decorators {
            true => self.declared(program, scope)?,
            false => Vec::new(),
        };
        Ok(Closure {
            program,
            contexts: scope.contexts.clone(),
            frame: Rc::clone(&scope.frame),
            params: scope.params.clone(),
            inlines,
        })
    }

    /// Runs a program with a context, in its own frame unless another is given.
    pub fn run(
        &mut self,
        closure: &Closure<'a>,
        context: Item<'a>,
        frame: Option<Rc<Frame<'a>>>,
        params: Option<Vec<Item<'a>>>,
    ) -> Result<(), RenderError> {
        self.output.spend(STEPS_OF_RUN)?;
        if self.active > MAX_ACTIVE_BLOCKS {
            return Err(RenderError::limit(format!(
                "it has more than {MAX_ACTIVE_BLOCKS} blocks and partials within one another; a partial may include itself without end"
            )));
        }
        self.active += 1;
        let is_same = match &closure.contexts {
            Some(contexts) => {
                let is_null = matches!((&context, &contexts.context), (Item::Empty, Item::Null));
                is_null || context.is_same(&contexts.context, &mut self.output)?
            }
            None => false,
        };
        let contexts = match is_same {
            true => closure.contexts.clone(),
            false => Some(Rc::new(Contexts {
                context: context.clone(),
                outer: closure.contexts.clone(),
            })),
        };
        let scope = Scope {
            context,
            contexts,
            frame: frame.unwrap_or_else(|| Rc::clone(&closure.frame)),
            params: Some(Rc::new(Params {
                values: params,
                outer: closure.params.clone(),
            })),
        };
        let partials = self.partials.clone();
        for (name, inline) in &closure.inlines {
            self.partials = Some(Rc::new(Known {
                name: name.clone(),
                closure: inline.clone(),
                before: self.partials.take(),
            }));
        }
        self.nodes(&closure.program.body, &scope)?;
        self.partials = partials;
        self.active -= 1;
        Ok(())
    }

    fn nodes(&mut self, nodes: &'a [Node], scope: &Scope<'a>) -> Result<(), RenderError> {
        for node in nodes {
            self.output.spend(1)?;
            match node {
                Node::Content(content) => self.output.push(&content.text)?,
                Node::Mustache(expression, _) => self.value(expression, scope)?.print(&mut self.output)?,
                Node::Block(block) => self.block(block, scope)?,
                Node::Partial(partial) => self.partial(partial, scope)?,
                Node::Comment(_) | Node::Decorator(_) => {}
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &'a Block, scope: &Scope<'a>) -> Result<(), RenderError> {
        let mut closure = |program: &'a Option<Program>| {
            let program = program.as_ref();
            program.map(|program| self.closure(program, scope)).transpose()
        };
        let (program, inverse) = (closure(&block.program)?, closure(&block.inverse)?);
        match &block.subject {
            Subject::Call(call) => {
                let value = self.call(call, scope, Some((program.as_ref(), inverse.as_ref())))?;
                value.print(&mut self.output)
            }
            Subject::Value(path) => {
                let value = scope.value(path, &mut self.output)?;
                self.section(&value, scope, program.as_ref(), inverse.as_ref())
            }
        }
    }

    /// Runs a block over a value: once per element of an array, else with the value as its context.
    fn section(
        &mut self,
        value: &Item<'a>,
        scope: &Scope<'a>,
        program: Option<&Closure<'a>>,
        inverse: Option<&Closure<'a>>,
    ) -> Result<(), RenderError> {
        match value {
            Item::Bool(true) => self.branch(program, scope.context.clone()),
            Item::Undefined | Item::Null | Item::Bool(false) | Item::Array([]) => {
                self.branch(inverse, scope.context.clone())
            }
            Item::Array(_) => self.each(value, scope, program, inverse),
            _ => match program {
                Some(program) => self.run(program, value.clone(), None, Some(Vec::new())),
                None => Ok(()),
            },
        }
    }

    /// Runs a branch of a block, if the block has it.
    pub fn branch(&mut self, branch: Option<&Closure<'a>>, context: Item<'a>) -> Result<(), RenderError> {
        match branch {
            Some(branch) => self.run(branch, context, None, None),
            None => Ok(()),
        }
    }

    pub fn value(&mut self, expression: &'a Expression, scope: &Scope<'a>) -> Result<Item<'a>, RenderError> {
        self.output.spend(1)?;
        match expression {
            Expression::Text(text) => Ok(Item::Text(text)),
            Expression::Number(number) => Ok(Item::Number(*number)),
            Expression::Bool(value) => Ok(Item::Bool(*value)),
            Expression::Undefined => Ok(Item::Undefined),
            Expression::Null => Ok(Item::Null),
            Expression::Path(path) => scope.value(path, &mut self.output),
            Expression::Call(call) => self.call(call, scope, None),
        }
    }
}
