//! The order in which data flows through a task.

use crate::data::Data;
use crate::definition::{Task, Template};

/// A step before or after the work of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage<'a> {
    /// Holds the raw input against `input.schema`.
    CheckInput(&'a Data),
    /// Makes the input of the raw input, by `input.from`.
    ShapeInput(&'a Template),
    /// Does the work: its input is the value so far, its output the next.
    Work,
    /// Makes the output of the raw output, by `output.as`.
    ShapeOutput(&'a Template),
    /// Holds the output against `output.schema`.
    CheckOutput(&'a Data),
    /// Makes the context of the output, by `export.as`. The output stays.
    Export(&'a Template),
    /// Holds the context against `export.schema`.
    CheckContext(&'a Data),
}

/// The steps of a task in their order. The input of each expression is the value that the step before left;
/// `$input` is the input from [`Stage::Work`] on, `$output` the output from [`Stage::Export`] on.
pub fn stages(task: &Task) -> Vec<Stage<'_>> {
    let mut stages = Vec::new();
    stages.extend(task.input.schema.as_ref().map(Stage::CheckInput));
    stages.extend(task.input.template.as_ref().map(Stage::ShapeInput));
    stages.push(Stage::Work);
    stages.extend(task.output.template.as_ref().map(Stage::ShapeOutput));
    stages.extend(task.output.schema.as_ref().map(Stage::CheckOutput));
    stages.extend(task.export.template.as_ref().map(Stage::Export));
    stages.extend(task.export.schema.as_ref().map(Stage::CheckContext));
    stages
}
