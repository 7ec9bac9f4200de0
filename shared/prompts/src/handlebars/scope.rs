//! Holds the data of a running program: its context and the outer ones, the `@` variables, and block
//! parameters.

use std::rc::Rc;

use super::tree::{Path, Program, Source};
use crate::error::RenderError;
use crate::output::Output;
use crate::value::Item;

/// Contexts, the innermost first.
pub struct Contexts<'a> {
    pub context: Item<'a>,
    pub outer: Option<Rc<Contexts<'a>>>,
}

/// Block parameters of a program, and of the programs around it.
pub struct Params<'a> {
    /// `None` where the program gets no values.
    pub values: Option<Vec<Item<'a>>>,
    pub outer: Option<Rc<Params<'a>>>,
}

/// `@` variables.
#[derive(Clone)]
pub struct Frame<'a> {
    pub root: Item<'a>,
    pub key: Item<'a>,
    pub index: Item<'a>,
    pub first: Item<'a>,
    pub last: Item<'a>,
    /// Target of `{{> @partial-block}}`.
    pub partial_block: Option<Rc<PartialBlock<'a>>>,
    /// Frame for `@../`.
    pub outer: Option<Rc<Frame<'a>>>,
}

/// Block passed to a partial.
pub struct PartialBlock<'a> {
    pub closure: Closure<'a>,
    /// Partial block at the place where this block was written.
    pub outer: Option<Rc<PartialBlock<'a>>>,
}

/// Inline partials by name; an entry without a program hides an outer one.
pub type Inlines<'a> = Vec<(String, Option<Rc<Closure<'a>>>)>;

/// A program with the scope in which it was written.
#[derive(Clone)]
pub struct Closure<'a> {
    pub program: &'a Program,
    pub contexts: Option<Rc<Contexts<'a>>>,
    pub frame: Rc<Frame<'a>>,
    pub params: Option<Rc<Params<'a>>>,
    /// Inline partials that the program declares.
    pub inlines: Inlines<'a>,
}

/// Scope in which a program runs.
#[derive(Clone)]
pub struct Scope<'a> {
    pub context: Item<'a>,
    pub contexts: Option<Rc<Contexts<'a>>>,
    pub frame: Rc<Frame<'a>>,
    pub params: Option<Rc<Params<'a>>>,
}

impl<'a> Frame<'a> {
    pub fn root(root: Item<'a>) -> Self {
        Self {
            root,
            key: Item::Undefined,
            index: Item::Undefined,
            first: Item::Undefined,
            last: Item::Undefined,
            partial_block: None,
            outer: None,
        }
    }

    /// Creates a frame inside another, which inherits its variables.
    pub fn within(outer: &Rc<Self>) -> Self {
        Self {
            outer: Some(Rc::clone(outer)),
            ..Self::clone(outer)
        }
    }

    fn variable(&self, name: &str) -> Item<'a> {
        match name {
            "root" => self.root.clone(),
            "key" => self.key.clone(),
            "index" => self.index.clone(),
            "first" => self.first.clone(),
            "last" => self.last.clone(),
            _ => Item::Undefined,
        }
    }
}

impl<'a> Scope<'a> {
    /// Returns the context of helpers: `null` and `undefined` become an object without properties.
    pub fn this(&self) -> Item<'a> {
        match self.context.is_nullish() {
            true => Item::Empty,
            false => self.context.clone(),
        }
    }

    /// Returns the value at a path; `undefined` where there is none.
    pub fn value(&self, path: &'a Path, output: &mut Output) -> Result<Item<'a>, RenderError> {
        output.spend(1)?;
        let mut parts = path.parts.iter();
        let is_data = matches!(path.source, Source::Data(_));
        let mut value = match path.source {
            Source::Context(up) => self.context_above(up, output)?,
            Source::Data(up) => {
                output.spend(up)?;
                let name = parts.next().map_or("", String::as_str);
                let mut frame = Some(&self.frame);
                for _ in 0..up {
                    frame = frame.and_then(|frame| frame.outer.as_ref());
                }
                frame.map_or(Item::Undefined, |frame| frame.variable(name))
            }
            Source::Param(up, place) => {
                output.spend(up)?;
                parts.next();
                let mut params = self.params.as_ref();
                for _ in 0..up {
                    params = params.and_then(|params| params.outer.as_ref());
                }
                // An inline partial is declared before its block runs, so that the block's parameters have no
                // values in it.
                let Some(values) = params.and_then(|params| params.values.as_ref()) else {
                    let reason = format!(
                        "the block parameter '{}' has no value in an inline partial",
                        path.original
                    );
                    return Err(RenderError::template(path.place, reason));
                };
                values.get(place).cloned().unwrap_or(Item::Undefined)
            }
        };
        for part in parts {
            let ends = if is_data {
                !value.is_true()
            } else {
                value.is_nullish()
            };
            if ends {
                break;
            }
            value = value.property(part, output)?;
        }
        Ok(value)
    }

    fn context_above(&self, up: usize, output: &mut Output) -> Result<Item<'a>, RenderError> {
        if up == 0 {
            return Ok(self.context.clone());
        }
        output.spend(up)?;
        let mut contexts = self.contexts.as_ref();
        for _ in 0..up {
            contexts = contexts.and_then(|contexts| contexts.outer.as_ref());
        }
        Ok(contexts.map_or(Item::Undefined, |contexts| contexts.context.clone()))
    }
}
