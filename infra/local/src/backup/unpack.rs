//! Unpacks an archive into a folder, and refuses an incomplete one.

use std::fs::{File, FileTimes};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use platform::{Error, Result};
use tar::{Entry, EntryType};

use super::format::{BACKUP_FORMAT, Contents, Head};
use super::names;
use super::sums::{Summed, Sums};
use crate::data_dir::{self, make_private, private_options, sync_folder};

const MAX_HEAD_BYTES: u64 = 64 * 1_024;
/// Longest name that a file of a data directory can have, with the zero byte at its end.
const MAX_NAME_BYTES: u64 = 4_096;

struct Unpacking<'a> {
    file: &'a Path,
    into: &'a Path,
    sums: Sums,
    contents: Contents,
    folders: Vec<PathBuf>,
}

/// Unpacks an archive into an empty folder. Afterwards the files are complete and durable.
pub fn unpack(file: &Path, into: &Path) -> Result<Contents> {
    let unreadable =
        |error: io::Error| Error::invalid(format!("The backup {} cannot be read: {error}.", file.display()));
    let opened = File::open(file).map_err(unreadable)?;
    if !opened.metadata().map_err(unreadable)?.is_file() {
        return Err(foreign(file));
    }
    let decoder = zstd::Decoder::with_buffer(BufReader::new(opened)).map_err(|_| foreign(file))?;
    let mut tar = tar::Archive::new(decoder);
    let mut unpacking = Unpacking {
        file,
        into,
        sums: Sums::default(),
        contents: Contents { objects: 0, bytes: 0 },
        folders: vec![into.to_owned()],
    };
    // Raw, because the crate reads long names and extended headers whole, however large they say they are.
    let mut entries = tar.entries().map_err(|_| foreign(file))?.raw(true);
    let first = entries.next().and_then(io::Result::ok);
    unpacking.head(first.ok_or_else(|| foreign(file))?)?;
    let mut is_whole = false;
    let mut long_name = None;
    for entry in entries {
        let mut entry = entry.map_err(|error| unpacking.damaged(error))?;
        if entry.header().entry_type().is_gnu_longname() && long_name.is_none() {
            long_name = Some(unpacking.long_name(entry)?);
            continue;
        }
        let name = name(&entry, long_name.take());
        let name = name.ok_or_else(|| unpacking.damaged("a name in it is not valid"))?;
        if is_whole {
            return Err(unpacking.damaged(format!("it goes on with {name} after its end")));
        }
        match name == names::SUMS {
            true => {
                unpacking.check_sums(&mut entry)?;
                is_whole = true;
            }
            false => unpacking.add(&name, entry)?,
        }
    }
    if !is_whole || long_name.is_some() {
        return Err(unpacking.damaged("its end is missing"));
    }
    // Read to the end: the checksum of the compressed bytes is there.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(|error| unpacking.damaged(error))?;
    unpacking
        .sync_folders()
        .map_err(|error| unpacking.unwritable(&error))?;
    Ok(unpacking.contents)
}

impl Unpacking<'_> {
    fn head(&mut self, mut entry: Entry<'_, impl Read>) -> Result<()> {
        if name(&entry, None).as_deref() != Some(names::HEAD) || entry.size() > MAX_HEAD_BYTES {
            return Err(foreign(self.file));
        }
        let mut text = Vec::new();
        let mut summed = Summed::new(&mut entry);
        summed.read_to_end(&mut text).map_err(|_| foreign(self.file))?;
        self.sums.add(names::HEAD, summed);
        let head: Head = serde_json::from_slice(&text).map_err(|_| foreign(self.file))?;
        if head.backup_format > BACKUP_FORMAT || head.data_format != data_dir::FORMAT {
            return Err(Error::invalid(format!(
                "The backup {} was made by version {} of Millrace and holds a data directory of format {}; this version reads \
                 format {}. Restore it with the version that made it.",
                self.file.display(),
                head.version,
                head.data_format,
                data_dir::FORMAT
            )));
        }
        Ok(())
    }

    /// Returns the name of the next file, which a header has no room for.
    fn long_name(&self, mut entry: Entry<'_, impl Read>) -> Result<Vec<u8>> {
        if entry.size() > MAX_NAME_BYTES {
            return Err(self.damaged(format!("a name in it has {} bytes", entry.size())));
        }
        let mut name = Vec::new();
        entry
            .read_to_end(&mut name)
            .map_err(|error| self.damaged(error))?;
        name.pop_if(|last| *last == 0);
        Ok(name)
    }

    fn add(&mut self, name: &str, entry: Entry<'_, impl Read>) -> Result<()> {
        if !names::is_of_a_data_directory(name) {
            return Err(self.damaged(format!("no data directory has a file {name}")));
        }
        let modified = Duration::from_secs(entry.header().mtime().unwrap_or_default());
        let modified = UNIX_EPOCH
            .checked_add(modified)
            .ok_or_else(|| self.damaged(format!("{name} has a time that no file can have")))?;
        let path = self.into.join(name);
        self.make_folders(&path)
            .map_err(|error| self.unwritable(&error))?;
        let mut summed = Summed::new(entry);
        let mut to = private_options()
            .create_new(true)
            .open(&path)
            .map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => self.damaged(format!("{name} is in it twice")),
                _ => self.unwritable(&error),
            })?;
        copy(&mut summed, &mut to).map_err(|fault| match fault {
            Fault::Reading(error) => self.damaged(error),
            Fault::Writing(error) => self.unwritable(&error),
        })?;
        to.set_times(FileTimes::new().set_modified(modified))
            .and_then(|()| to.sync_all())
            .map_err(|error| self.unwritable(&error))?;
        self.contents.objects += u64::from(name.starts_with(names::OBJECTS));
        self.contents.bytes += summed.bytes;
        self.sums.add(name, summed);
        Ok(())
    }

    fn check_sums(&self, entry: &mut Entry<'_, impl Read>) -> Result<()> {
        let expected = self.sums.as_text().as_bytes();
        let mut found = Vec::new();
        let most = expected.len() as u64 + 1;
        entry
            .take(most)
            .read_to_end(&mut found)
            .map_err(|error| self.damaged(error))?;
        match found == expected {
            true => Ok(()),
            false => Err(self.damaged("a file in it is not the one that was put in, or is missing")),
        }
    }

    fn make_folders(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<_> = path
            .ancestors()
            .skip(1)
            .take_while(|folder| !folder.is_dir())
            .collect();
        for folder in missing.into_iter().rev() {
            make_private(folder)?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn sync_folders(&self) -> io::Result<()> {
        self.folders.iter().try_for_each(|folder| sync_folder(folder))
    }

    fn damaged(&self, fault: impl std::fmt::Display) -> Error {
        Error::invalid(format!(
            "The backup {} is damaged or not whole: {fault}. Nothing of it was restored; take another backup.",
            self.file.display()
        ))
    }

    fn unwritable(&self, error: &io::Error) -> Error {
        Error::unprocessable(format!(
            "The backup cannot be written to {}: {error}. The disk must have room for all of it, and be writable.",
            self.into.display()
        ))
    }
}

enum Fault {
    Reading(io::Error),
    Writing(io::Error),
}

/// Copies like `io::copy`, but reports whether reading or writing failed.
fn copy(from: &mut impl Read, to: &mut impl io::Write) -> Result<(), Fault> {
    let mut buffer = vec![0; 256 * 1_024];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Fault::Reading(error)),
        };
        to.write_all(buffer.get(..length).unwrap_or_default())
            .map_err(Fault::Writing)?;
    }
}

/// Returns the name of a file, of an entry before it or of its own header. None for any other entry, such as
/// a link.
fn name(entry: &Entry<'_, impl Read>, long_name: Option<Vec<u8>>) -> Option<String> {
    let is_file = entry.header().entry_type() == EntryType::Regular;
    let name = long_name.unwrap_or_else(|| entry.path_bytes().into_owned());
    let name = String::from_utf8(name).ok();
    name.filter(|_| is_file)
}

fn foreign(file: &Path) -> Error {
    Error::invalid(format!(
        "The file {} is no backup of Millrace, or its beginning is damaged. `ops backup FILE` makes one.",
        file.display()
    ))
}
