//! Tests the commands of a checkout: an installed program runs from the path.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

struct Checkout(TempDir);

impl Checkout {
    /// Creates a checkout with a program that prints its name and arguments.
    fn new() -> Self {
        let checkout = Self(tempfile::tempdir().unwrap());
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let script = "infra/local/install";
        checkout.write(script, &fs::read_to_string(ours.join(script)).unwrap());
        checkout.write("target/debug/millrace", "#!/bin/sh\necho \"millrace $@\"\n");
        checkout.write("target/duckdb/libduckdb.so", "");
        checkout
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
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
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        ran
    }
}

#[test]
fn the_installed_program_runs_from_the_path() {
    let checkout = Checkout::new();
    let (prefix, programs) = (checkout.path("prefix"), checkout.path("target/debug"));
    let install = || {
        let arguments = [prefix.to_str().unwrap(), programs.to_str().unwrap()];
        String::from_utf8(checkout.run("infra/local/install", &arguments).stdout).unwrap()
    };
    let text = install();
    assert!(text.contains("is not on your PATH; add: export PATH="), "{text}");
    let run = |arguments: &[&str]| {
        let ran = checkout.run("prefix/bin/millrace", arguments);
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(run(&["--port", "3001"]), "millrace --port 3001\n");
    assert_eq!(run(&["ops", "run", "list"]), "millrace ops run list\n");
    assert!(prefix.join("lib/millrace/lib/libduckdb.so").exists());
    let completion = fs::read_to_string(prefix.join("share/bash-completion/completions/millrace")).unwrap();
    assert_eq!(completion, "millrace completion bash\n");
    install();
}
