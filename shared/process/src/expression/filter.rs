//! Compiles and runs jq without limits; [`super::child`] runs in a limited process.

use std::num::NonZeroUsize;

use jaq_core::load::parse::Def;
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars};
use jaq_json::Val;
use lru::LruCache;
use serde::{Deserialize, Serialize};

use super::library::definitions;
use super::natives::{Kind, natives};
use super::syntax::{self, Names};
use super::value::Value;
use super::{json, rewrite};

/// Maximum number of cached expressions.
const MAX_KEPT: Option<NonZeroUsize> = NonZeroUsize::new(256);

#[derive(Serialize, Deserialize)]
pub(super) struct Source {
    pub source: String,
    pub variables: Vec<String>,
}

/// Cache of compiled expressions.
pub(super) struct Filters {
    kept: LruCache<(String, Vec<String>), Filter<Kind>>,
}

impl Default for Filters {
    fn default() -> Self {
        let most = MAX_KEPT.unwrap_or(NonZeroUsize::MIN);
        Self {
            kept: LruCache::new(most),
        }
    }
}

impl Filters {
    /// Returns the single result as JSON text. The error is a sentence about the expression.
    pub fn run(
        &mut self,
        source: &Source,
        secrets: &[String],
        variables: Vec<Val>,
        input: Val,
    ) -> Result<String, String> {
        let filter = self.compiled(source, secrets)?;
        single(results(filter, variables, input))
    }

    fn compiled(&mut self, source: &Source, secrets: &[String]) -> Result<&Filter<Kind>, String> {
        let key = (source.source.clone(), source.variables.clone());
        self.kept.try_get_or_insert(key, || {
            // The parent has parsed it too, but the child does not rely on that.
            let names = Names {
                variables: &source.variables,
                secrets,
            };
            syntax::parse(&source.source, names)?;
            let names: Vec<String> = source.variables.iter().map(|name| format!("${name}")).collect();
            compile(&source.source, &names)
        })
    }
}

fn single(mut results: impl Iterator<Item = Result<Val, String>>) -> Result<String, String> {
    let Some(result) = results.next() else {
        return Err("it gives no result, and a value is needed; end it with '// null'".to_owned());
    };
    let result = result?;
    if results.next().is_some() {
        return Err("it gives more than one result, and one is needed; put it in [ ]".to_owned());
    }
    json::written(&result)
}

/// Returns the results. The error of one is a sentence.
fn results(
    filter: &Filter<Kind>,
    variables: Vec<Val>,
    input: Val,
) -> impl Iterator<Item = Result<Val, String>> {
    let context = Ctx::<Kind>::new(&filter.lut, Vars::new(variables.into_iter().map(Value)));
    filter.id.run((context, Value(input))).map(|result| {
        result
            .map(|value| value.0)
            .map_err(|exception| match exception.get_err() {
                Ok(error) => match error.into_val() {
                    text if text.kind() == "string" => text.as_text().unwrap_or_default().into_owned(),
                    value => value.to_string(),
                },
                Err(_) => "it ends early".to_owned(),
            })
    })
}

/// Name of the definition whose body is the expression; no author can call it.
const EXPRESSION: &str = "_expression";

fn compile(source: &str, names: &[String]) -> Result<Filter<Kind>, String> {
    let unparsed = || "it does not parse".to_owned();
    let body = load::parse(source, |parser| parser.term()).ok_or_else(unparsed)?;
    // The loader parses what it loads, so a rewritten term comes as a definition.
    let expression = Def {
        name: EXPRESSION,
        args: Vec::new(),
        body: rewrite::term(body),
    };
    let arena = Arena::default();
    let file = File {
        code: EXPRESSION,
        path: (),
    };
    let mut prelude: Vec<Def<&str>> = definitions(&expression.body);
    prelude.push(expression);
    let modules = Loader::new(prelude).load(&arena, file).map_err(|_| unparsed())?;
    Compiler::default()
        .with_funs(natives())
        .with_global_vars(names.iter().map(String::as_str))
        .compile(modules)
        .map_err(|_| "it refers to an unknown name".to_owned())
}
