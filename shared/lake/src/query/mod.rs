//! Produces the results of statements: expansion of PIVOTs, values, and the formats of an answer.

pub(crate) mod answer;
pub(crate) mod calendar;
pub(crate) mod cells;
pub(crate) mod json_text;
pub(crate) mod meaning;
pub(crate) mod pivots;
pub(crate) mod preparation;
pub(crate) mod target;
pub(crate) mod times;
pub(crate) mod type_name;
pub(crate) mod typed_parameters;
pub(crate) mod values;
