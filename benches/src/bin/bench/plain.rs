//! Runs plain DuckDB of the same version, as its Python package: the comparison for queries.
//!
//! The package is installed once, into a virtual environment beside the build; `requirements.txt`
//! pins it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::{Result, programs, say};

const SCRIPT: &str = include_str!("plain.py");
const REQUIREMENTS: &str = include_str!("../../../requirements.txt");

/// Python process with DuckDB; it is killed when this is dropped.
pub struct PlainDuckDb {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// Time and rows of a query in plain DuckDB.
pub struct Timed {
    /// Milliseconds inside the process.
    pub ms: f64,
    pub rows: u64,
}

impl PlainDuckDb {
    /// Starts the process, with the statements that make the tables.
    pub fn start(setup: &[String], threads: u32) -> Result<Self> {
        let mut plain = Self::spawn()?;
        plain.ask(&json!({ "setup": setup, "threads": threads }))?;
        Ok(plain)
    }

    /// Writes the tables of TPC-H as Parquet files into a folder.
    pub fn make_tpch(folder: &Path, scale: f64) -> Result<()> {
        let result = Self::spawn()?.ask(&json!({ "tpch": folder, "scale": scale }));
        result.map(drop)
    }

    fn spawn() -> Result<Self> {
        let mut child = programs::command(&python()?)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("Python's input is no pipe")?;
        let stdout = child.stdout.take().ok_or("Python's output is no pipe")?;
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        })
    }

    /// Runs a statement over a new connection, or over the connection that stays open.
    pub fn query(&mut self, sql: &str, new_connection: bool) -> Result<Timed> {
        let answer = self.ask(&json!({ "sql": sql, "new": new_connection }))?;
        let ms = answer.get("ms").and_then(Value::as_f64);
        let rows = answer.get("rows").and_then(Value::as_u64);
        Ok(Timed {
            ms: ms.ok_or("plain DuckDB gave no time")?,
            rows: rows.ok_or("plain DuckDB gave no rows")?,
        })
    }

    fn ask(&mut self, question: &Value) -> Result<Value> {
        writeln!(self.stdin, "{question}")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for PlainDuckDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the environment's Python; installs the pinned packages if they changed.
fn python() -> Result<PathBuf> {
    let build = programs::folder()?;
    let environment = build.parent().unwrap_or(Path::new(".")).join("bench-python");
    let python = environment.join("bin/python");
    let installed = environment.join("requirements.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|text| text == REQUIREMENTS) {
        return Ok(python);
    }
    say(&format!(
        "installing DuckDB for Python into {}",
        environment.display()
    ));
    programs::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&environment),
    )?;
    let requirements = environment.join("wanted.txt");
    std::fs::write(&requirements, REQUIREMENTS)?;
    programs::run(
        Command::new(&python)
            .args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r"])
            .arg(&requirements),
    )?;
    std::fs::rename(requirements, installed)?;
    Ok(python)
}
