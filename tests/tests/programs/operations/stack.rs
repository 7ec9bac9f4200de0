//! Runs commands of the runbook and of the guide against the stack in an emulator of AWS.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tests::binary;

pub const STACK: &str = "millrace";
pub const RUNBOOK: &str = "../docs/runbook.md";

/// Returns the blocks of commands between two headings of a page.
pub fn blocks(page: &str, from: &str, to: &str) -> Vec<String> {
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once(from).unwrap();
    let (section, _) = section.split_once(to).unwrap();
    let blocks = section.split("```bash\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

/// Runs commands in a folder, after the functions of the runbook. `millrace` is the program under test,
/// and the emulator needs shorter pauses than AWS. Returns what they print.
pub fn bash(commands: &str, token: &str, folder: &Path) -> String {
    let tools = blocks(RUNBOOK, "## Tools", "### The log").swap_remove(0);
    let tools = tools.replace("STACK=millrace-dev", &format!("STACK={STACK}"));
    let ops = binary("millrace");
    let script = format!(
        r#"exec 2>&1
{tools}
sleep() {{ command sleep 0.1; }}
millrace() {{ '{}' "$@"; }}
{commands}"#,
        ops.display(),
    );
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(script).current_dir(folder).env("TOKEN", token);
    // A program refuses a variable that it does not know.
    bash.env_remove("MILLRACE_BIN");
    let output = bash.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}");
    printed
}

pub fn aws(arguments: &str) -> Value {
    let mut aws = Command::new("aws");
    let output = aws.args(arguments.split(' ')).args(["--output", "json"]).output();
    let output = output.expect("the AWS CLI must be installed");
    assert!(output.status.success(), "{arguments}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

/// Returns the name of a resource of the template in AWS.
pub fn physical(logical: &str) -> String {
    let detail = aws(&format!(
        "cloudformation describe-stack-resource --stack-name {STACK} --logical-resource-id {logical}"
    ));
    let id = &detail["StackResourceDetail"]["PhysicalResourceId"];
    id.as_str().unwrap().to_owned()
}
