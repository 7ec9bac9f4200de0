//! Tests the commands of a checkout: a program is compiled only if the code is newer, and an installed
//! program runs from the path.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Replaces cargo: records its calls, and makes the programs. Like cargo, it does not touch a program that
/// would be equal.
const CARGO: &str = r#"#!/bin/sh
echo "$@" >>"$CARGO_TARGET_DIR/calls"
for program in millrace ops; do
    printf '#!/bin/sh\n# of %s\necho "%s $@"\n' "$PWD" $program >"$CARGO_TARGET_DIR/local/.new"
    chmod +x "$CARGO_TARGET_DIR/local/.new"
    cmp -s "$CARGO_TARGET_DIR/local/.new" "$CARGO_TARGET_DIR/local/$program" ||
        mv "$CARGO_TARGET_DIR/local/.new" "$CARGO_TARGET_DIR/local/$program"
done
"#;

struct Checkout {
    folder: TempDir,
    target: PathBuf,
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let checkout = Self { folder, target };
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for script in ["changed", "install", "own", "program"].map(|name| format!("infra/local/{name}")) {
            checkout.write(&script, &fs::read_to_string(ours.join(&script)).unwrap());
        }
        checkout.write("bin/cargo", CARGO);
        for file in ["Cargo.toml", "Cargo.lock", "functions/a.rs", "shared/b.rs"] {
            checkout.write(file, "");
        }
        for folder in ["infra", "tests"] {
            fs::create_dir_all(checkout.path(folder)).unwrap();
        }
        checkout.write("duckdb/libduckdb.so", "");
        fs::create_dir_all(checkout.target.join("local")).unwrap();
        checkout
    }

    /// Creates a checkout that shares the target directory of another one.
    fn beside(other: &Self) -> Self {
        Self {
            target: other.target.clone(),
            ..Self::new()
        }
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
            .env("CARGO_TARGET_DIR", &self.target)
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        ran
    }

    /// Requests the program `ops`. Returns the output about it, and the number of cargo calls so far.
    fn ops(&self) -> (String, usize) {
        let ran = self.run("infra/local/program", &["ops"]);
        let path = String::from_utf8(ran.stdout).unwrap();
        let program = fs::read_to_string(path.trim_end()).unwrap();
        let folder = self.folder.path().canonicalize().unwrap();
        assert!(
            program.contains(&format!("# of {}\n", folder.display())),
            "{program}"
        );
        (String::from_utf8(ran.stderr).unwrap(), self.calls().len())
    }

    /// Returns the arguments of the cargo calls.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.target.join("calls")).unwrap();
        calls.lines().map(str::to_owned).collect()
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
    checkout.run("infra/local/program", &["--build", "--locked"]);
    assert_eq!(checkout.ops(), (String::new(), 4));
    let last = "build --profile local --locked -p local -p ops --bin millrace --bin ops";
    assert_eq!(checkout.calls().last().unwrap(), last);
    // `make run` does this each time.
    checkout.run("infra/local/program", &["--build"]);
    assert_eq!(checkout.ops(), (String::new(), 5));
}

#[test]
fn a_test_is_no_part_of_a_program() {
    let checkout = Checkout::new();
    checkout.write("shared/tests/corpus/order.json", "");
    checkout.ops();
    checkout.write("shared/tests/corpus/refund.json", "");
    assert_eq!(checkout.ops(), (String::new(), 1));
}

#[test]
fn a_program_that_is_there_is_enough_for_a_token() {
    let checkout = Checkout::new();
    let kept = || checkout.run("infra/local/program", &["--kept", "ops", "--locked"]);
    kept();
    checkout.write("shared/b.rs", "fn b() {}");
    assert_eq!(kept().stderr, Vec::<u8>::new());
    assert_eq!(checkout.calls().len(), 1);
}

#[test]
fn a_command_runs_while_no_other_build_does() {
    let checkout = Checkout::new();
    let ran = checkout.run(
        "infra/local/program",
        &["--locked", "cargo", "test", "-p", "runs"],
    );
    assert_eq!(ran.stdout, Vec::<u8>::new());
    assert_eq!(checkout.calls(), ["test -p runs"]);
}

#[test]
fn a_build_of_another_checkout_changes_no_program_of_this_one() {
    let first = Checkout::new();
    let second = Checkout::beside(&first);
    first.ops();
    assert_eq!(second.ops().1, 2);
    assert_eq!(first.ops(), (String::new(), 2));
    // `infra/local/own` touches the files that the next plain cargo must compile again; the programs stay
    // current.
    let before = fs::metadata(first.path("shared/b.rs"))
        .unwrap()
        .modified()
        .unwrap();
    first.run("infra/local/own", &[]);
    assert!(
        fs::metadata(first.path("shared/b.rs"))
            .unwrap()
            .modified()
            .unwrap()
            > before
    );
    assert_eq!(first.ops(), (String::new(), 2));
    first.write("shared/b.rs", "fn b() {}");
    second.run("infra/local/own", &[]);
    first.run("infra/local/own", &[]);
    assert_eq!(first.ops().1, 3);
    assert_eq!(second.ops(), (String::new(), 3));
}

#[test]
fn the_installed_program_runs_from_the_path() {
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
