//! Implements `for`: runs its tasks for each item of a list; the output of a round is the input of the next.

use process::Data;
use process::definition::Loop;
use process::flow::Kind;

use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::{Done, Worked};

pub(super) async fn run(process: &Process, view: &View<'_>, each: &Loop, input: Data) -> Worked {
    let found = process.evaluate(view, &input, &[&each.items]).await?;
    let Some(items) = found.first().and_then(Data::items) else {
        let detail = format!(
            "The expression '{}' gives no list to repeat for.",
            each.items.source().trim()
        );
        return Err(Fault::error(Kind::Expression, detail, view.pointer));
    };
    let mut value = input;
    for (index, item) in items.into_iter().enumerate() {
        process.count(view.pointer)?;
        let round = [
            (each.each.as_str(), item),
            (&each.at, Data::from(serde_json::json!(index))),
        ];
        let frame = view.frame.with(round);
        if let Some(condition) = &each.condition
            && !process.holds(&view.in_frame(&frame), &value, condition).await?
        {
            break;
        }
        match process.run_list(frame, &each.tasks, value).await? {
            Done::Output(output) => value = output,
            end @ Done::End(_) => return Ok(end.into()),
        }
    }
    Ok(value.into())
}
