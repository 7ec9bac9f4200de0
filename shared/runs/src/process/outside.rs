//! Announces tasks that act outside (calls, events and other processes). In a supervised run they wait for an
//! approval first.

use process::flow::Kind;
use serde_json::json;
use workflow::Context;

use super::execution::Process;
use super::fault::Fault;
use super::frame::View;
use super::workflow_type::APPROVE;

/// Type of the update that announces a task which acts outside.
const PROGRESS: &str = "PROGRESS";
/// Type of the update that requests an approval.
const APPROVAL: &str = "APPROVAL";

/// Waits for the approval in a supervised run, and announces the task.
pub(super) async fn permitted(process: &Process, view: &View<'_>, action: &str) -> Result<(), Fault> {
    let context = &view.frame.context;
    if process.is_supervised {
        tell(
            context,
            APPROVAL,
            view,
            &format!("waits for an approval: {action}"),
        );
        approved(process, view).await?;
    }
    tell(context, PROGRESS, view, action);
    Ok(())
}

fn tell(context: &Context, kind: &str, view: &View<'_>, text: &str) {
    let name = view.task.map_or("", |task| task.name.as_str());
    let details = json!({ "task": view.pointer });
    context.publish(kind, &format!("The task '{name}' {text}."), details);
}

/// Waits for an approval that names this task or no task.
async fn approved(process: &Process, view: &View<'_>) -> Result<(), Fault> {
    let context = &view.frame.context;
    let mut reader = process.approvals.exclusive_reader();
    process.shown.waits_for(view.frame.number, Some(APPROVE));
    let decision = loop {
        let next = process.approvals.next(context, &mut reader).await;
        let (place, decision) =
            next.map_err(|failure| Fault::from_failure(&failure, context, view.pointer))?;
        let task = decision.field("task").and_then(|task| task.as_text());
        if task.is_none_or(|task| task == view.pointer) {
            process.approvals.take(place);
            break decision;
        }
    };
    process.shown.waits_for(view.frame.number, None);
    if decision.field("approved").and_then(|approved| approved.as_bool()) != Some(false) {
        return Ok(());
    }
    let reason = decision.field("reason").and_then(|reason| reason.as_text());
    let detail = match reason {
        Some(reason) => format!("The task was not approved: {reason}"),
        None => "The task was not approved.".to_owned(),
    };
    Err(Fault::error(Kind::Authorization, detail, view.pointer))
}
