//! Defines the frames between parent and child: a length in bytes (32 bits, little-endian), then as many
//! bytes.

use std::io::{self, Read, Write};

/// Maximum length of a frame, in bytes: larger than every body that a function accepts.
pub const MAX_BYTES: u32 = 16 * 1_024 * 1_024;

/// Returns the head of a frame, which contains its length.
pub fn head(body: &[u8]) -> io::Result<[u8; 4]> {
    let length = u32::try_from(body.len()).ok();
    let length = length.filter(|length| *length <= MAX_BYTES);
    length
        .map(u32::to_le_bytes)
        .ok_or_else(|| io::Error::other("the frame is too large"))
}

pub fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(head);
    if length > MAX_BYTES {
        return Err(io::Error::other("the frame is too large"));
    }
    usize::try_from(length).map_err(io::Error::other)
}

/// Reads the next frame; an error at the end of the input.
pub fn read(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    input.read_exact(&mut head)?;
    let mut body = vec![0; length(head)?];
    input.read_exact(&mut body)?;
    Ok(body)
}

/// Writes a frame and flushes it.
pub fn write(output: &mut impl Write, body: &[u8]) -> io::Result<()> {
    output.write_all(&head(body)?)?;
    output.write_all(body)?;
    output.flush()
}
