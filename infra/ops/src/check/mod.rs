//! `ops check`: checks the invariants of the stored data.
//!
//! It reads everything and changes nothing. Data that is written during the check may look broken; a second
//! check a moment later shows whether it is.

mod dashboards;
mod entries;
mod events;
mod imports;
mod logs;
mod members;
mod processes;
mod prompts;
mod runs;
mod secrets;
mod stores;

use std::process::ExitCode;

use event_log::logs::Logs;
use platform::Result;
use platform::records::{Key, Table};
use serde_json::{Value, json};

use crate::output::Output;
use crate::target::Target;

/// Checks, prints the findings, and fails if there are any.
pub async fn run(target: &Target, output: Output) -> Result<ExitCode> {
    let records = everything(&target.records).await?;
    let audit = everything(&target.audit_table).await?;
    // Read the deliveries before the runs: a delivery that has ended by then has an ended run.
    let of_events = everything(&target.events).await?;
    let of_runs = everything(&target.runs).await?;
    let (mut findings, mut notices) = (Vec::new(), Vec::new());
    keys_begin_with_their_tenant(&records, &mut findings);
    keys_begin_with_their_tenant(&audit, &mut findings);
    keys_begin_with_their_tenant(&of_runs, &mut findings);
    keys_begin_with_their_tenant(&of_events, &mut findings);
    dashboards::dashboards_are_whole(&records, &mut findings);
    entries::counts_are_right(&records, &mut findings);
    imports::unfinished_ones_have_jobs(&records, &mut findings);
    members::both_records_agree(&records, &mut findings);
    processes::texts_are_there(&records, &mut findings);
    prompts::versions_are_dense(&records, &mut findings);
    prompts::interactions_use_present_ones(&records, &mut notices);
    secrets::secrets_are_bound(&records, &mut findings);
    stores::versions_are_whole(&records, &target.objects, &mut findings).await?;
    let runs =
        runs::histories_are_whole(&of_runs, &target.objects, target.clock.now(), &mut findings).await?;
    let now = target.clock.now();
    let events =
        events::deliveries_agree_with_their_runs(&of_events, &of_runs, &target.objects, now, &mut findings)
            .await?;
    let logs = Logs::new(target.events.clone(), target.audit_table.clone());
    let of_both = of_events.iter().chain(&audit);
    logs::files_agree_with_their_heads(of_both, &logs, &target.objects, now, &mut findings, &mut notices)
        .await?;
    let audit_records = audit.iter().filter(|(key, _)| key.pk.ends_with("#audit")).count();
    let mut lines = if findings.is_empty() {
        format!(
            "{} records, {audit_records} audit records, {runs} workflow runs and {events} events hold every invariant.",
            records.len()
        )
    } else {
        findings.join("\n")
    };
    for notice in &notices {
        lines.push('\n');
        lines.push_str(notice);
    }
    output.print(
        &json!({ "records": records.len(), "audit_records": audit_records, "runs": runs, "events": events, "findings": findings, "notices": notices }),
        &lines,
    )?;
    Ok(if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn everything(table: &Table) -> Result<Vec<(Key, Value)>> {
    let mut records = Vec::new();
    let mut start = None;
    loop {
        let (page, next) = table.scan(start).await?;
        records.extend(page);
        match next {
            Some(_) => start = next,
            None => return Ok(records),
        }
    }
}

fn keys_begin_with_their_tenant(records: &[(Key, Value)], findings: &mut Vec<String>) {
    for (key, _) in records {
        if key.pk.split('#').take(3).filter(|part| !part.is_empty()).count() < 3 {
            findings.push(format!(
                "The key {} / {} does not begin with account and project.",
                key.pk, key.sk
            ));
        }
    }
}
