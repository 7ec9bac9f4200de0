//! Implements `set`: the output is the filled template.

use process::Data;
use process::definition::Template;

use super::Worked;
use crate::process::frame::View;
use crate::process::interpreter::Process;

pub(super) async fn run(process: &Process, view: &View<'_>, template: &Template, input: Data) -> Worked {
    Ok(process.fill(view, &input, template).await?.into())
}
