//! Sums files, in the form that `sha256sum --check` reads.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// Sums in the order of an archive.
#[derive(Default)]
pub struct Sums(String);

impl Sums {
    /// Adds the sum of a file that was read to its end.
    pub fn add<R>(&mut self, name: &str, read: Summed<R>) {
        let sum = hex::encode(read.sum.finalize());
        self.0.push_str(&format!("{sum}  {name}\n"));
    }

    pub fn as_text(&self) -> &str {
        &self.0
    }
}

/// Reader that sums the bytes it reads.
pub struct Summed<R> {
    from: R,
    sum: Sha256,
    pub bytes: u64,
}

impl<R> Summed<R> {
    pub fn new(from: R) -> Self {
        Self {
            from,
            sum: Sha256::new(),
            bytes: 0,
        }
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(buffer)?;
        self.sum.update(buffer.get(..length).unwrap_or_default());
        self.bytes += length as u64;
        Ok(length)
    }
}
