//! Names the functions that templates call. There are no others, and none has access to anything outside the
//! data.

/// Function of a value: `value.name(…)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    At,
    Concat,
    EndsWith,
    Every,
    Filter,
    Find,
    FindIndex,
    FlatMap,
    Includes,
    IndexOf,
    Join,
    Map,
    PadEnd,
    PadStart,
    Reduce,
    Repeat,
    Replace,
    ReplaceAll,
    Slice,
    Some,
    Split,
    StartsWith,
    Substring,
    ToFixed,
    ToLowerCase,
    ToString,
    ToUpperCase,
    Trim,
    TrimEnd,
    TrimStart,
}

/// Function of the language: `String(…)`, `Math.round(…)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Global {
    Abs,
    Boolean,
    Ceil,
    Entries,
    Floor,
    IsArray,
    Keys,
    Max,
    Min,
    Number,
    Round,
    String,
    Stringify,
    Trunc,
    Values,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug)]
pub struct Arity {
    pub least: usize,
    pub most: usize,
    /// Whether the first one is a function.
    pub takes_function: bool,
}

const fn values(least: usize, most: usize) -> Arity {
    Arity {
        least,
        most,
        takes_function: false,
    }
}

const FUNCTION: Arity = Arity {
    least: 1,
    most: 1,
    takes_function: true,
};

const METHODS: [(&str, Method, Arity); 30] = [
    ("at", Method::At, values(1, 1)),
    ("concat", Method::Concat, values(1, 8)),
    ("endsWith", Method::EndsWith, values(1, 1)),
    ("every", Method::Every, FUNCTION),
    ("filter", Method::Filter, FUNCTION),
    ("find", Method::Find, FUNCTION),
    ("findIndex", Method::FindIndex, FUNCTION),
    ("flatMap", Method::FlatMap, FUNCTION),
    ("includes", Method::Includes, values(1, 1)),
    ("indexOf", Method::IndexOf, values(1, 1)),
    ("join", Method::Join, values(0, 1)),
    ("map", Method::Map, FUNCTION),
    ("padEnd", Method::PadEnd, values(1, 2)),
    ("padStart", Method::PadStart, values(1, 2)),
    (
        "reduce",
        Method::Reduce,
        Arity {
            least: 1,
            most: 2,
            takes_function: true,
        },
    ),
    ("repeat", Method::Repeat, values(1, 1)),
    ("replace", Method::Replace, values(2, 2)),
    ("replaceAll", Method::ReplaceAll, values(2, 2)),
    ("slice", Method::Slice, values(0, 2)),
    ("some", Method::Some, FUNCTION),
    ("split", Method::Split, values(1, 1)),
    ("startsWith", Method::StartsWith, values(1, 1)),
    ("substring", Method::Substring, values(1, 2)),
    ("toFixed", Method::ToFixed, values(0, 1)),
    ("toLowerCase", Method::ToLowerCase, values(0, 0)),
    ("toString", Method::ToString, values(0, 0)),
    ("toUpperCase", Method::ToUpperCase, values(0, 0)),
    ("trim", Method::Trim, values(0, 0)),
    ("trimEnd", Method::TrimEnd, values(0, 0)),
    ("trimStart", Method::TrimStart, values(0, 0)),
];

const GLOBALS: [(&str, &str, Global, Arity); 15] = [
    ("", "Boolean", Global::Boolean, values(1, 1)),
    ("", "Number", Global::Number, values(1, 1)),
    ("", "String", Global::String, values(1, 1)),
    ("Array", "isArray", Global::IsArray, values(1, 1)),
    ("JSON", "stringify", Global::Stringify, values(1, 3)),
    ("Math", "abs", Global::Abs, values(1, 1)),
    ("Math", "ceil", Global::Ceil, values(1, 1)),
    ("Math", "floor", Global::Floor, values(1, 1)),
    ("Math", "max", Global::Max, values(1, 8)),
    ("Math", "min", Global::Min, values(1, 8)),
    ("Math", "round", Global::Round, values(1, 1)),
    ("Math", "trunc", Global::Trunc, values(1, 1)),
    ("Object", "entries", Global::Entries, values(1, 1)),
    ("Object", "keys", Global::Keys, values(1, 1)),
    ("Object", "values", Global::Values, values(1, 1)),
];

pub fn method(name: &str) -> Option<(Method, Arity)> {
    let entry = METHODS.iter().find(|(known, ..)| *known == name)?;
    Some((entry.1, entry.2))
}

/// Finds a function of an object of the language, such as `Math`; of none for `String` and its like.
pub fn global(object: &str, name: &str) -> Option<(Global, Arity)> {
    let entry = GLOBALS
        .iter()
        .find(|(of, known, ..)| *of == object && *known == name)?;
    Some((entry.2, entry.3))
}

/// Returns whether functions are called on this object of the language.
pub fn is_global_object(name: &str) -> bool {
    GLOBALS.iter().any(|(of, ..)| *of == name && !of.is_empty())
}

impl Method {
    /// Returns the name as it is written.
    pub fn name(self) -> &'static str {
        let entry = METHODS.iter().find(|(_, method, _)| *method == self);
        entry.map_or("", |(name, ..)| name)
    }
}

/// Lists all functions, for messages.
pub fn listed() -> String {
    let methods = METHODS.iter().map(|(name, ..)| (*name).to_owned());
    let globals = GLOBALS.iter().map(|(of, name, ..)| match *of {
        "" => (*name).to_owned(),
        of => format!("{of}.{name}"),
    });
    methods.chain(globals).collect::<Vec<_>>().join(", ")
}
