//! Implements `raise`: fails with an error that the definition describes.

use process::Data;
use process::definition::{ErrorTemplate, Template};
use process::flow::{Kind, ProcessError};

use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::Worked;

pub(super) async fn run(process: &Process, view: &View<'_>, error: &ErrorTemplate, input: Data) -> Worked {
    let mut fields = vec![
        ("type".to_owned(), error.kind.clone()),
        ("status".to_owned(), error.status.clone()),
    ];
    let optional = [
        ("title", &error.title),
        ("detail", &error.detail),
        ("instance", &error.instance),
    ];
    for (name, template) in optional {
        fields.extend(template.clone().map(|template| (name.to_owned(), template)));
    }
    let filled = process.fill(view, &input, &Template::Object(fields)).await?;
    Err(match ProcessError::raised(&filled, view.pointer) {
        Ok(error) => Fault::Error(Box::new(error)),
        Err(message) => Fault::error(Kind::Expression, message, view.pointer),
    })
}
