//! Evaluates expressions as earlier versions did, with the library's own values and definitions.
//!
//! A run is replayed with the results that it had, so it keeps the language with which it began. No new run
//! uses this.

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars};
use jaq_json::Val;

pub(super) type Filter = jaq_core::Filter<JustLut<Val>>;

pub(super) fn compile(source: &str, names: &[String]) -> Result<Filter, String> {
    let arena = Arena::default();
    let file = File {
        code: source,
        path: (),
    };
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let modules = Loader::new(definitions).load(&arena, file);
    let modules = modules.map_err(|_| "it does not parse".to_owned())?;
    Compiler::default()
        .with_funs(jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs()))
        .with_global_vars(names.iter().map(String::as_str))
        .compile(modules)
        .map_err(|_| "it refers to an unknown name".to_owned())
}

/// Returns the results. The error of one is a sentence.
pub(super) fn results(
    filter: &Filter,
    variables: Vec<Val>,
    input: Val,
) -> impl Iterator<Item = Result<Val, String>> {
    let context = Ctx::<JustLut<Val>>::new(&filter.lut, Vars::new(variables));
    filter.id.run((context, input)).map(|result| {
        result.map_err(|exception| {
            let error = exception.get_err();
            error.map_or_else(|_| "it ends early".to_owned(), |error| error.to_string())
        })
    })
}
