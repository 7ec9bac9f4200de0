//! Defines the order of the steps through which data flows in a task.

use crate::data::Data;
use crate::definition::{Task, Template};

/// A step before or after the work of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage<'a> {
    /// Validates the raw input against `input.schema`.
    CheckInput(&'a Data),
    /// Transforms the raw input to the input, by `input.from`.
    ShapeInput(&'a Template),
    /// Does the work: its input is the value so far, its output the next value.
    Work,
    /// Transforms the raw output to the output, by `output.as`.
    ShapeOutput(&'a Template),
    /// Validates the output against `output.schema`.
    CheckOutput(&'a Data),
    /// Computes the context from the output, by `export.as`. The output is unchanged.
    Export(&'a Template),
    /// Validates the context against `export.schema`.
    CheckContext(&'a Data),
}

/// Returns the steps of a task in order. The input of each expression is the value from the previous step;
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
