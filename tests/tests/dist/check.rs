//! Tests that the check of an artifact fails for each of its reasons, on small programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::artifact::{VERSION, output, platform, refusal, script};

/// Compiles a program or a library that ends at once.
fn compile(path: &Path, options: &[&str]) {
    let source = path.with_extension("c");
    fs::write(&source, "int main(void) { return 3; }").unwrap();
    output(Command::new("cc").args(options).arg("-o").arg(path).arg(&source));
    fs::remove_file(source).unwrap();
}

/// Makes a folder that has all that the check wants, but for the service.
fn files(folder: &Path) {
    for name in [
        "console/index.html",
        "completions/millrace.bash",
        "completions/_millrace",
        "completions/millrace.fish",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "THIRD-PARTY.txt",
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "text").unwrap();
    }
    fs::create_dir(folder.join("lib")).unwrap();
    compile(&folder.join("millrace"), &["-Wl,-rpath,$ORIGIN/lib"]);
    compile(&folder.join("lib/libduckdb.so"), &["-shared"]);
}

/// Writes another version of glibc into a program.
fn needs_glibc(program: &Path, version: &str) {
    let mut bytes = fs::read(program).unwrap();
    let place = bytes
        .windows(10)
        .position(|bytes| bytes == b"GLIBC_2.34")
        .unwrap();
    bytes[place..place + 10].copy_from_slice(version.as_bytes());
    fs::write(program, bytes).unwrap();
}

fn run_path(program: &Path, path: &str) {
    output(
        Command::new(tests::dist_tool("patchelf"))
            .args(["--set-rpath", path])
            .arg(program),
    );
}

fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
}

/// Packs the folder of a test under the name of an artifact, after something has broken it, and returns what
/// the check says.
fn refused(name: &str, break_it: fn(&Path)) -> String {
    let work = tempfile::tempdir().unwrap();
    let folder = work.path().join("folder");
    fs::create_dir(&folder).unwrap();
    files(&folder);
    break_it(&folder);
    let artifact = work.path().join(name);
    let mut pack = Command::new("python3");
    pack.args([
        "-B",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/dist/archive.py"),
    ]);
    output(pack.args([&folder, &artifact]).env("DIST_COMPRESSION", "0"));
    // The small programs are built for this machine.
    refusal(script("infra/dist/check").arg(artifact).args(["--glibc", "2.34"]))
}

/// Name of an artifact, what breaks it, and what the check says.
type Case<'a> = (&'a str, fn(&Path), &'a str);

#[test]
fn each_fault_of_a_tarball_is_refused() {
    let platform = platform();
    let ours = format!("millrace-{VERSION}-{platform}.tar.gz");
    let other = if platform == "linux-x64" {
        "linux-arm64"
    } else {
        "linux-x64"
    };
    let other = format!("millrace-{VERSION}-{other}.tar.gz");
    let cases: [Case<'_>; 11] = [
        (&other, |_| {}, "millrace is for linux on "),
        (
            &ours,
            |folder| needs_glibc(&folder.join("millrace"), "GLIBC_2.39"),
            "needs glibc 2.39",
        ),
        (
            &ours,
            |folder| run_path(&folder.join("millrace"), "$ORIGIN/lib:/usr/lib"),
            "looks for libraries in",
        ),
        (
            &ours,
            |folder| run_path(&folder.join("millrace"), ""),
            "looks for libraries in no folder",
        ),
        (
            &ours,
            |folder| remove(&folder.join("console/index.html")),
            "There is no console/index.html",
        ),
        (
            &ours,
            |folder| remove(&folder.join("lib/libduckdb.so")),
            "There is no lib/libduckdb.so",
        ),
        (
            &ours,
            |folder| remove(&folder.join("THIRD-PARTY.txt")),
            "There is no THIRD-PARTY.txt",
        ),
        (
            &ours,
            |folder| {
                fs::create_dir_all(folder.join("home/user")).unwrap();
                fs::write(folder.join("home/user/note"), "").unwrap();
            },
            "is a path of the machine that built it",
        ),
        (
            &ours,
            |folder| fs::write(folder.join("large"), vec![0; 61_000_000]).unwrap(),
            "at most 60 are allowed",
        ),
        (
            &ours,
            |folder| {
                let mode = fs::Permissions::from_mode(0o644);
                fs::set_permissions(folder.join("millrace"), mode).unwrap();
            },
            "millrace cannot be executed",
        ),
        (&ours, |_| {}, "millrace does not become ready"),
    ];
    for (name, break_it, sentence) in cases {
        let text = refused(name, break_it);
        assert!(text.contains("is not fit to be shipped"), "{text}");
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
}

#[test]
fn a_release_for_lambda_without_one_of_its_functions_is_refused() {
    let name = format!("millrace-lambda-{VERSION}-x86_64.tar.gz");
    let text = refused(&name, |folder| {
        fs::create_dir_all(folder.join("infra/sam")).unwrap();
        fs::create_dir_all(folder.join("functions/prompts")).unwrap();
        for name in ["deploy", "release.env", "infra/sam/preflight.py"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::write(
            folder.join("template.yaml"),
            "CodeUri: functions/prompts\nCodeUri: functions/worker\n",
        )
        .unwrap();
    });
    assert!(text.contains("other functions than there are: worker"), "{text}");
}
