//! The commands of a checkout: a program is compiled only where the code is newer, and what is installed runs from the path.
#![cfg(test)]
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Stands in for cargo: notes how it was called, and makes the programs.
const CARGO: &str = r#"#!/bin/sh
echo "$@" >>"$CARGO_TARGET_DIR/calls"
for program in millrace ops; do
    printf '#!/bin/sh\necho "%s $@"\n' $program >"$CARGO_TARGET_DIR/debug/.new"
    chmod +x "$CARGO_TARGET_DIR/debug/.new"
    mv "$CARGO_TARGET_DIR/debug/.new" "$CARGO_TARGET_DIR/debug/$program"
done
"#;

struct Checkout {
    folder: TempDir,
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let checkout = Self { folder };
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for script in ["infra/local/program", "infra/local/install"] {
            checkout.write(script, &fs::read_to_string(ours.join(script)).unwrap());
        }
        checkout.write("bin/cargo", CARGO);
        for file in ["Cargo.toml", "Cargo.lock", "functions/a.rs", "shared/b.rs"] {
            checkout.write(file, "");
        }
        checkout.write("duckdb/libduckdb.so", "");
        fs::create_dir_all(checkout.path("target/debug")).unwrap();
        checkout
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let ran = Command::new(self.path(program))
            .args(arguments)
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        ran
    }

    /// Asks for the program `ops`: what was said about it, and how often cargo was called so far.
    fn ops(&self) -> (String, usize) {
        let ran = self.run("infra/local/program", &["ops"]);
        let path = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(Path::new(path.trim_end()), self.path("target/debug/ops"));
        let calls = fs::read_to_string(self.path("target/calls")).unwrap();
        (String::from_utf8(ran.stderr).unwrap(), calls.lines().count())
    }
}

#[test]
fn a_program_is_compiled_only_where_the_code_is_newer() {
    let checkout = Checkout::new();
    let first = "compiling ops, which takes some minutes the first time\n".to_owned();
    assert_eq!(checkout.ops(), (first, 1));
    assert_eq!(checkout.ops(), (String::new(), 1));
    let changed = "compiling ops, because the code has changed\n".to_owned();
    checkout.write("shared/b.rs", "fn b() {}");
    assert_eq!(checkout.ops(), (changed.clone(), 2));
    fs::remove_file(checkout.path("functions/a.rs")).unwrap();
    assert_eq!(checkout.ops(), (changed.clone(), 3));
    // Another clone with the same cache has compiled its own.
    checkout.write("target/debug/.other", "");
    fs::rename(
        checkout.path("target/debug/.other"),
        checkout.path("target/debug/ops"),
    )
    .unwrap();
    assert_eq!(checkout.ops(), (changed, 4));
    assert_eq!(checkout.ops(), (String::new(), 4));
}

#[test]
fn what_is_installed_runs_from_the_path() {
    let checkout = Checkout::new();
    let (prefix, duckdb) = (checkout.path("prefix"), checkout.path("duckdb"));
    let install = || {
        let arguments = [prefix.to_str().unwrap(), duckdb.to_str().unwrap()];
        String::from_utf8(checkout.run("infra/local/install", &arguments).stdout).unwrap()
    };
    let said = install();
    assert!(said.contains("is not on your PATH; add: export PATH="), "{said}");
    let run = |arguments: &[&str]| {
        let ran = checkout.run("prefix/bin/millrace", arguments);
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(run(&["--port", "3001"]), "millrace --installed --port 3001\n");
    assert_eq!(run(&["ops", "run", "list"]), "ops run list\n");
    assert!(prefix.join("lib/millrace/libduckdb.so").exists());
    let completion = fs::read_to_string(prefix.join("share/bash-completion/completions/millrace")).unwrap();
    assert_eq!(completion, "ops completion bash\n");
    install();
}
