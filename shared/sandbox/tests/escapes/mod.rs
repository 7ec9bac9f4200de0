//! Starts a child as an attacker who runs code in it: see `escapes.c`.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Error of a call that the kernel does not have.
pub const ENOSYS: i32 = 38;

/// Folders for the attempts.
pub struct World {
    folder: TempDir,
}

impl World {
    /// Makes a folder inside of the fence, with a link that leads out, and one outside, with a secret.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["inside", "outside"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let world = Self { folder };
        let secret = world.folder("outside").join("secret");
        std::fs::write(&secret, "secret").unwrap();
        std::os::unix::fs::symlink(secret, world.folder("inside").join("link")).unwrap();
        world
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts `child`, gives it `input` and returns its attempts with the number of the error of each, 0 for
    /// what was let through.
    pub fn attempts(&self, child: &mut Command, input: &[u8]) -> BTreeMap<String, i32> {
        let mut child = child
            // What is let through leaves nothing elsewhere.
            .current_dir(self.folder("outside"))
            .env("LD_PRELOAD", library(self.folder.path(), "escapes"))
            .env("ESCAPE_INSIDE", self.folder("inside"))
            .env("ESCAPE_OUTSIDE", self.folder("outside"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(input).unwrap();
        // The answer comes after the attempts; the end of its input ends the child.
        let mut first = [0; 4];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        drop(pipe);
        let lines = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        child.wait().unwrap();
        let attempts = lines.lines().map(|line| {
            let (name, error) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            (
                name.to_owned(),
                error.parse().unwrap_or_else(|_| panic!("{line}")),
            )
        });
        let mut attempts: BTreeMap<_, _> = attempts.collect();
        assert_eq!(attempts.remove("end"), Some(0), "{attempts:?}");
        assert!(attempts.len() > 200, "{attempts:?}");
        assert_eq!(
            std::fs::read_to_string(self.folder("outside").join("secret")).unwrap(),
            "secret"
        );
        attempts
    }
}

/// Compiles a file of this folder, with the compiler that also links Rust.
pub fn library(folder: &Path, name: &str) -> PathBuf {
    let library = folder.join(format!("{name}.so"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../sandbox/tests/escapes/{name}.c"));
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-o"])
        .args([&library, &source])
        .status()
        .unwrap();
    assert!(status.success());
    library
}
