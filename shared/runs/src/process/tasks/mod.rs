//! Implements the task types, one file each.

mod attempt;
mod emit;
mod fork;
mod function;
mod http;
mod listen;
mod openapi;
mod raise;
mod repeat;
mod run;
mod set;
mod switch;
mod wait;

use process::Data;
use process::definition::Work;

use super::execution::Process;
use super::frame::View;
use super::outcome::{Outcome, Running};

pub(super) fn work<'a>(
    process: &'a Process,
    view: &'a View<'a>,
    work: &'a Work,
    input: Data,
) -> Running<'a, Outcome> {
    match work {
        Work::Set(template) => Box::pin(set::run(process, view, template, input)),
        Work::Do(tasks) => {
            let list = process.run_list(view.frame.clone(), tasks, input);
            Box::pin(async move { Ok(list.await?.into()) })
        }
        Work::For(each) => Box::pin(repeat::run(process, view, each, input)),
        Work::Fork(fork) => Box::pin(fork::run(process, view, fork, input)),
        Work::Switch(cases) => Box::pin(switch::run(process, view, cases, input)),
        Work::Try(attempt) => Box::pin(attempt::run(process, view, attempt, input)),
        Work::Raise(error) => Box::pin(raise::run(process, view, error, input)),
        Work::Wait(span) => Box::pin(wait::run(process, view, span, input)),
        Work::Http(call) => Box::pin(http::run(process, view, call, input)),
        Work::OpenApi(call) => Box::pin(openapi::run(process, view, call, input)),
        Work::Function(call) => Box::pin(function::run(process, view, call, input)),
        Work::Emit(event) => Box::pin(emit::run(process, view, event, input)),
        Work::Listen(listen) => Box::pin(listen::run(process, view, listen, input)),
        Work::Run(run) => Box::pin(run::run(process, view, run, input)),
    }
}
