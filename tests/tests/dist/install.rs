//! Tests the tarball and `make install`, which have one layout.

use std::fs;
use std::process::Command;

use crate::artifact::{
    VERSION, archive, checked, installed, layout, output, platform, script, starts_and_ends,
};

#[tokio::test]
async fn an_unpacked_tarball_starts_by_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("millrace-{VERSION}-{}", platform());
    let tarball = folder.path().join(format!("{name}.tar.gz"));
    archive(&layout(folder.path()), &tarball, &name);
    let text = checked(&tarball, &[]);
    assert!(text.contains("answers a query with 42"), "{text}");
    output(
        Command::new("tar")
            .arg("xzf")
            .arg(&tarball)
            .arg("-C")
            .arg(folder.path()),
    );
    let link = folder.path().join("millrace");
    std::os::unix::fs::symlink(folder.path().join(&name).join("millrace"), &link).unwrap();
    starts_and_ends(&link).await;
}

#[test]
fn the_bytes_of_a_tarball_depend_on_its_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let pack = |copy: &str, names: [&str; 3]| {
        let files = folder.path().join(copy);
        fs::create_dir_all(files.join("lib")).unwrap();
        for name in names {
            fs::write(files.join(name), name).unwrap();
        }
        let tarball = folder.path().join(format!("{copy}.tar.gz"));
        archive(&files, &tarball, "millrace");
        fs::read(tarball).unwrap()
    };
    let first = pack("first", ["b", "a", "lib/c"]);
    assert_eq!(first, pack("second", ["lib/c", "a", "b"]));
    assert_ne!(first, pack("third", ["lib/d", "a", "b"]));
}

#[test]
fn make_install_puts_the_program_on_the_path_and_replaces_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let programs = tests::binary("millrace").parent().unwrap().to_owned();
    let prefix = folder.path().join("prefix");
    for _ in 0..2 {
        let text = output(script("infra/local/install").args([&prefix, &programs]));
        assert!(text.contains("is not on your PATH; add: export PATH="), "{text}");
    }
    let help = output(installed(prefix.join("bin/millrace"), &folder).arg("--help"));
    assert!(help.contains("Usage: millrace"), "{help}");
    let completion = fs::read_to_string(prefix.join("share/bash-completion/completions/millrace")).unwrap();
    assert!(completion.contains("_millrace()"), "{completion}");
    assert_eq!(
        fs::read_dir(prefix.join("lib")).unwrap().count(),
        1,
        "nothing else is left"
    );
}
