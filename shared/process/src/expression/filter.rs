//! Compiles and runs jq without limits; [`super::child`] runs in a limited process.

use std::num::NonZeroUsize;

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars};
use jaq_json::{Num, Val, read};
use lru::LruCache;

use super::child::Source;
use super::library::{Kind, definitions, natives};
use super::syntax::{self, Names};
use crate::limits::{MAX_DATA_LEVELS, MAX_OUTPUT_BYTES};

/// Maximum number of cached expressions.
const MAX_KEPT: Option<NonZeroUsize> = NonZeroUsize::new(256);

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
        let context = Ctx::<JustLut<Val>>::new(&filter.lut, Vars::new(variables));
        let mut results = filter.id.run((context, input));
        let result = match results.next() {
            None => return Err("it gives no result, and a value is needed; end it with '// null'".to_owned()),
            Some(Ok(result)) => result,
            Some(Err(exception)) => {
                let error = exception.get_err();
                return Err(error.map_or_else(|_| "it ends early".to_owned(), |error| error.to_string()));
            }
        };
        if results.next().is_some() {
            return Err("it gives more than one result, and one is needed; put it in [ ]".to_owned());
        }
        let mut out = String::new();
        write(&result, 0, &mut out)?;
        Ok(out)
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
            compile(&source.source, &source.variables)
        })
    }
}

fn compile(source: &str, names: &[String]) -> Result<Filter<Kind>, String> {
    let arena = Arena::default();
    let names: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
    let file = File {
        code: source,
        path: (),
    };
    let modules = Loader::new(definitions()).load(&arena, file);
    let modules = modules.map_err(|_| "it does not parse".to_owned())?;
    Compiler::default()
        .with_funs(natives())
        .with_global_vars(names.iter().map(String::as_str))
        .compile(modules)
        .map_err(|_| "it refers to an unknown name".to_owned())
}

pub(super) fn parsed(json: &str) -> Result<Val, String> {
    read::parse_single(json.as_bytes()).map_err(|error| format!("its data is not JSON: {error}"))
}

/// Writes a value as JSON. As in jq, NaN becomes null, and an infinite number the largest finite one.
fn write(value: &Val, level: usize, out: &mut String) -> Result<(), String> {
    if level > MAX_DATA_LEVELS {
        return Err(format!("its result nests deeper than {MAX_DATA_LEVELS} levels"));
    }
    match value {
        Val::Null => out.push_str("null"),
        Val::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Val::Num(number) => write_number(number, out),
        Val::TStr(bytes) => write_text(bytes, out)?,
        Val::BStr(_) => return Err("its result has bytes, which JSON lacks; use @base64".to_owned()),
        Val::Arr(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, level + 1, out)?;
            }
            out.push(']');
        }
        Val::Obj(fields) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                match name {
                    Val::TStr(bytes) => write_text(bytes, out)?,
                    _ => return Err("its result has a key that is no text; use tostring".to_owned()),
                }
                out.push(':');
                write(value, level + 1, out)?;
            }
            out.push('}');
        }
    }
    if out.len() > MAX_OUTPUT_BYTES {
        return Err(format!("its result is larger than {MAX_OUTPUT_BYTES} bytes"));
    }
    Ok(())
}

fn write_text(bytes: &[u8], out: &mut String) -> Result<(), String> {
    if bytes.len() > MAX_OUTPUT_BYTES {
        return Err(format!("its result is larger than {MAX_OUTPUT_BYTES} bytes"));
    }
    out.push_str(&crate::source::quoted(&String::from_utf8_lossy(bytes)));
    Ok(())
}

fn write_number(number: &Num, out: &mut String) {
    match number {
        Num::Int(number) => out.push_str(&number.to_string()),
        Num::BigInt(number) => out.push_str(&number.to_string()),
        Num::Float(number) => write_float(*number, out),
        // Input numbers are written unchanged. A number literal of the expression may not be valid JSON.
        Num::Dec(text) => match serde_json::from_str::<&serde_json::value::RawValue>(text) {
            Ok(_) => out.push_str(text),
            Err(_) => write_float(text.parse().unwrap_or(f64::NAN), out),
        },
    }
}

fn write_float(number: f64, out: &mut String) {
    /// Whole numbers below this are exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.is_nan() {
        out.push_str("null");
    } else if number.fract() == 0.0 && number.abs() < EXACT {
        out.push_str(&format!("{number:.0}"));
    } else {
        out.push_str(&serde_json::Value::from(number.clamp(f64::MIN, f64::MAX)).to_string());
    }
}
