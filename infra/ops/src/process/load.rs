//! `ops process load`: checks definitions and stores them.

use std::path::PathBuf;

use events::template::warnings;
use platform::error::Fault;
use platform::records::audit::AuditAction;
use platform::{Error, Result};
use process::Definition;
use process::records::processes::{Process, Processes, digest};
use serde_json::{Map, Value, json};

use crate::input::read;
use crate::output::Output;
use crate::target::Target;

pub async fn run(processes: &Processes, files: &[PathBuf], target: &Target, output: Output) -> Result<()> {
    let mut definitions = Vec::new();
    let mut faults = Vec::new();
    for file in files {
        let text = read(file)?;
        match process::check(&text) {
            Ok(definition) => definitions.push((text, definition)),
            Err(errors) => faults.extend(errors.into_iter().map(|fault| {
                Fault {
                    pointer: format!("{} {}", file.display(), fault.pointer)
                        .trim_end()
                        .to_owned(),
                    message: fault.message,
                }
            })),
        }
    }
    if !faults.is_empty() {
        let count = faults.len();
        return Err(Error::invalid(format!(
            "No process is stored, because of {count} {}:",
            if count == 1 { "fault" } else { "faults" }
        ))
        .with_faults(faults));
    }
    let mut loaded = Vec::new();
    let mut lines = Vec::new();
    for (text, definition) in definitions {
        let document: Map<String, Value> =
            serde_json::from_str(definition.source.get()).map_err(Error::internal)?;
        let warnings = warnings::of_definition("definition", &document);
        let process = process_of(&text, definition, target);
        processes
            .insert_text(&target.tenant, Some(&target.objects), &text)
            .await?;
        let is_new = processes.insert(&target.tenant, &process).await?;
        if is_new {
            target
                .audit(AuditAction::Create, "process", &process.to_string())
                .await?;
        }
        lines.push(match is_new {
            true => format!("{process} is stored."),
            false => format!("{process} is stored already."),
        });
        lines.extend(warnings.iter().map(|warning| format!("Warning: {warning}")));
        loaded.push(json!({ "process": process, "is_new": is_new, "warnings": warnings }));
    }
    output.print(&loaded, &lines.join("\n"))
}

fn process_of(text: &str, definition: Definition, target: &Target) -> Process {
    let document = definition.document;
    Process {
        namespace: document.namespace,
        name: document.name,
        version: document.version,
        digest: digest(text),
        bytes: text.len() as u64,
        title: document.title,
        created_at: target.clock.now(),
    }
}
