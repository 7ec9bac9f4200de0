//! Implements `set`: the output is the filled template.

use process::Data;
use process::definition::Template;

use crate::process::execution::Process;
use crate::process::frame::View;
use crate::process::outcome::Worked;

pub(super) async fn run(process: &Process, view: &View<'_>, template: &Template, input: Data) -> Worked {
    Ok(process.fill(view, &input, template).await?.into())
}
