//! Imports Parquet files with changed bytes, mostly in the footer: a file is imported or refused, and none is
//! an error of the service. The input is the number of a valid file, and the changes of its bytes: a place
//! counted from the end, and the byte there.
#![no_main]

use std::cell::RefCell;

use lake::fuzzing::Importer;
use libfuzzer_sys::{Corpus, fuzz_target};
use tempfile::TempDir;

thread_local! {
    static IMPORTER: RefCell<(TempDir, Importer)> = RefCell::new({
        let folder = tempfile::tempdir().expect("a folder");
        let importer = Importer::open(folder.path()).expect("a child");
        (folder, importer)
    });
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((number, changes)) = data.split_first() else {
        return Corpus::Reject;
    };
    IMPORTER.with_borrow_mut(|(_, importer)| {
        let mut file = importer.sample(*number).to_owned();
        for change in changes.as_chunks::<3>().0 {
            let [high, low, byte] = *change;
            let from_end = usize::from(u16::from_be_bytes([high, low])) % file.len();
            let at = file.len() - 1 - from_end;
            file[at] = byte;
        }
        if let Err(fault) = importer.import(&file) {
            panic!("{fault}");
        }
    });
    Corpus::Keep
});
