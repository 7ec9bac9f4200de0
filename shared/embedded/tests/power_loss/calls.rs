//! Parses the output of `strace`: the calls that change files, and the answers that the writer printed.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Traced calls. No other call writes files.
pub const TRACED: &str = "trace=openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,rename,renameat,\
                          renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,ftruncate,truncate,fallocate,sendfile,\
                          copy_file_range";

/// Effect of a call, with paths below the writer's data.
#[derive(Debug)]
pub enum Call {
    /// Creates a missing file.
    Create {
        path: PathBuf,
    },
    /// Appends where `at` is None.
    Write {
        path: PathBuf,
        at: Option<u64>,
        bytes: Vec<u8>,
    },
    Truncate {
        path: PathBuf,
        length: u64,
    },
    Sync {
        path: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
        is_rename: bool,
    },
    Remove {
        path: PathBuf,
    },
    MakeFolder {
        path: PathBuf,
    },
    /// A line that the writer printed.
    Answer(String),
}

/// A call, with the lines of the trace where it starts and ends. It may not end.
#[derive(Debug)]
pub struct Traced {
    pub call: Call,
    pub began: usize,
    pub ended: Option<usize>,
}

/// Returns the calls on files below `data`, and on the output file, that succeeded or did not end.
pub fn read(trace: &Path, data: &Path, output: &Path) -> Vec<Traced> {
    let text = fs::read_to_string(trace).unwrap();
    let mut calls = Vec::new();
    // By process: the line where its call started, and the text of that line.
    let mut unfinished: HashMap<&str, (usize, String)> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let (process, rest) = line.split_once(' ').unwrap();
        let rest = rest.trim_start();
        if let Some(beginning) = rest.strip_suffix(" <unfinished ...>") {
            unfinished.insert(process, (number, beginning.to_owned()));
            continue;
        }
        let (began, whole) = match rest.strip_prefix("<... ") {
            Some(resumed) => {
                let (began, beginning) = unfinished.remove(process).unwrap();
                let (_, end) = resumed.split_once(" resumed>").unwrap();
                (began, beginning + end)
            }
            None => (number, rest.to_owned()),
        };
        add(&mut calls, &whole, (began, Some(number)), data, output);
    }
    for (began, beginning) in unfinished.into_values() {
        add(
            &mut calls,
            &format!("{beginning}) = 0"),
            (began, None),
            data,
            output,
        );
    }
    calls.sort_by_key(|call| call.began);
    calls
}

fn add(
    calls: &mut Vec<Traced>,
    text: &str,
    (began, ended): (usize, Option<usize>),
    data: &Path,
    output: &Path,
) {
    let Some((call, result)) = text.rsplit_once(" = ") else {
        return;
    };
    let Some((name, arguments)) = call
        .trim_end()
        .strip_suffix(')')
        .and_then(|call| call.split_once('('))
    else {
        return;
    };
    if result.starts_with('-') || result.starts_with('?') {
        return;
    }
    let parts: Vec<_> = arguments.split(", ").collect();
    let below = |path: PathBuf| path.strip_prefix(data).ok().map(Path::to_owned);
    let fd = || below(opened(parts[0]));
    // Relative paths are relative to the writer's folder.
    let named = |part: &str| below(data.join(path(quoted(part))));
    let number = |part: &str| part.parse().unwrap();
    let call = match name {
        "write" if opened(parts[0]) == output => {
            let text = String::from_utf8(quoted(parts[1])).unwrap_or_default();
            text.strip_prefix("answer ")
                .map(|text| Call::Answer(text.trim_end().to_owned()))
        }
        "openat" if parts[2].contains("O_CREAT") => {
            assert!(!parts[2].contains("O_TRUNC"), "{text}");
            named(parts[1]).map(|path| Call::Create { path })
        }
        "write" | "pwrite64" => fd().map(|path| {
            let bytes = quoted(parts[1]);
            assert!(
                ended.is_none() || bytes.len().to_string() == result,
                "a short write: {name}, {result}"
            );
            let at = parts.get(3).map(|at| number(at));
            Call::Write { path, at, bytes }
        }),
        "ftruncate" => fd().map(|path| Call::Truncate {
            path,
            length: number(parts[1]),
        }),
        "fsync" | "fdatasync" => fd().map(|path| Call::Sync { path }),
        "rename" | "link" => named(parts[0]).zip(named(parts[1])).map(|(from, to)| Call::Link {
            from,
            to,
            is_rename: name == "rename",
        }),
        "linkat" | "renameat" => named(parts[1]).zip(named(parts[3])).map(|(from, to)| Call::Link {
            from,
            to,
            is_rename: name == "renameat",
        }),
        "unlink" | "rmdir" => named(parts[0]).map(|path| Call::Remove { path }),
        "unlinkat" => named(parts[1]).map(|path| Call::Remove { path }),
        "mkdir" => named(parts[0]).map(|path| Call::MakeFolder { path }),
        "mkdirat" => named(parts[1]).map(|path| Call::MakeFolder { path }),
        "openat" => None,
        _ => {
            let touches = parts
                .iter()
                .any(|part| part.contains('<') && below(opened(part)).is_some());
            assert!(!touches, "a call that is not understood: {name}");
            None
        }
    };
    calls.extend(call.map(|call| Traced { call, began, ended }));
}

/// Parses the path of an open file: `3<\x2f…>`.
fn opened(part: &str) -> PathBuf {
    let inside = part
        .split_once('<')
        .map_or("", |(_, inside)| inside.trim_end_matches('>'));
    path(unescaped(inside))
}

fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8(bytes).unwrap_or_default())
}

fn quoted(part: &str) -> Vec<u8> {
    assert!(!part.ends_with("..."), "a text of the trace is cut");
    unescaped(part.trim_matches('"'))
}

fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.split("\\x").skip(1);
    bytes
        .map(|byte| u8::from_str_radix(&byte[..2], 16).unwrap())
        .collect()
}
