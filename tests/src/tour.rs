//! Runs the commands of `docs/tour.md` and of the README, and compares their output with the pages.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

use crate::environment;
use crate::guide::run;
use crate::program::binary;

pub const PAGE: &str = "../docs/tour.md";
pub const README: &str = "../README.md";
/// Printed between the outputs of two blocks of commands.
const END: &str = "@@ end of a block";

/// True if the test writes the page instead of comparing it.
pub fn is_to_be_written() -> bool {
    environment::variable("TOUR_WRITE").is_some()
}

/// One block of commands, and the block of output below it.
#[derive(Debug)]
pub struct Step {
    pub commands: String,
    pub output: String,
}

/// Returns the steps of the page. Blocks in `sh` are for other terminals and are no steps.
pub fn steps(page: &str) -> Vec<Step> {
    let blocks: Vec<_> = page.split("\n```").collect();
    let mut steps: Vec<Step> = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        if let Some(commands) = block.strip_prefix("bash\n") {
            // The text between two blocks starts with the newline after the closing fence.
            let next = blocks
                .get(index + 2)
                .and_then(|next| next.split_once('\n').or(Some((next, ""))))
                .filter(|(language, _)| ["text", "json"].contains(language));
            steps.push(Step {
                commands: commands.to_owned(),
                output: next.map_or(String::new(), |(_, output)| output.to_owned()),
            });
        }
    }
    steps
}

/// Place of a run of the tour.
pub struct Place<'a> {
    pub data_dir: &'a Path,
    /// Holds the files that the tour writes to `/tmp`.
    pub folder: &'a Path,
    /// Port of the receiver, which the page has at 4000.
    pub receiver_port: u16,
}

/// Runs the steps in one shell, which starts with `millrace` as a function: it runs the program under test.
/// Every `sleep` takes `patience` times as long.
pub fn outputs(steps: &[Step], place: &Place<'_>, patience: u32) -> Vec<String> {
    let mut script = format!(
        r#"exec 2>&1
export NO_PROXY='*'
sleep() {{ command sleep $(($1 * {patience})); }}
export DATA_DIR='{data}'
millrace() {{
  local port=
  case "$1 $2" in 'ops receiver') port='--port {port}' ;; esac
  '{program}' "$@" $port
}}
"#,
        program = binary("millrace").display(),
        data = place.data_dir.display(),
        port = place.receiver_port,
    );
    for step in steps {
        let commands = step
            .commands
            .replace("/tmp/", &format!("{}/", place.folder.display()))
            .replace(":4000", &format!(":{}", place.receiver_port));
        script.push_str(&format!("{commands}\necho '{END}'\n"));
    }
    let mut bash = Command::new("bash");
    bash.current_dir("..").arg("-c").arg(script);
    let printed = run(&mut bash, "");
    let printed = printed.replace(&format!(":{}", place.receiver_port), ":4000");
    let mut outputs: Vec<_> = printed
        .split(&format!("{END}\n"))
        .map(|output| output.trim_end().to_owned())
        .collect();
    outputs.pop();
    outputs
}

/// Replaces ids, times, durations, keys and counts of records, and sorts the lines: processes in the
/// background print when they are ready.
pub fn comparable(output: &str) -> String {
    static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (
                r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
                "<id>",
            ),
            (r"\d{4}-\d\d-\d\d(T[0-9:.]+Z)?", "<time>"),
            (
                r#""(timestamp|duration_ms|execution_time_ms|execution_duration)": ?[0-9.]+"#,
                r#""$1":<number>"#,
            ),
            (r"sk-\S+", "<key>"),
            (r#"(attempts?"?): ?\d+"#, "$1: <number>"),
            (r"\d+ (records|audit records|workflow runs|events)", "<count> $1"),
        ]
        .map(|(pattern, name)| (Regex::new(pattern).expect("a pattern"), name))
        .to_vec()
    });
    let mut output = output.to_owned();
    for (pattern, name) in VARYING.iter() {
        output = pattern.replace_all(&output, *name).into_owned();
    }
    let mut lines: Vec<_> = output.lines().map(str::trim_end).collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Returns the page with these outputs.
pub fn with_outputs(page: &str, steps: &[Step], outputs: &[String]) -> String {
    let key = Regex::new(r"(sk-.{8})\S+").expect("a pattern");
    let mut page = page.to_owned();
    for (step, output) in steps.iter().zip(outputs) {
        let separator = if step.output.is_empty() { "" } else { "\n" };
        let old = format!(
            "\n```bash\n{}\n```\n\n```text\n{}{separator}```",
            step.commands, step.output
        );
        let output = key.replace_all(output, "$1…");
        let new = format!("\n```bash\n{}\n```\n\n```text\n{output}\n```", step.commands);
        page = page.replacen(&old, &new, 1);
    }
    page
}
