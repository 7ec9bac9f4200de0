//! What parent and child say to each other: a length in bytes (32 bits, little-endian) and as many bytes.

use std::io::{self, Read, Write};

/// Longest frame, in bytes: above every body that a function takes.
pub const MAX_BYTES: u32 = 16 * 1_024 * 1_024;

/// The length of a frame, to be sent before it.
pub fn head(body: &[u8]) -> io::Result<[u8; 4]> {
    let length = u32::try_from(body.len()).ok();
    let length = length.filter(|length| *length <= MAX_BYTES);
    length
        .map(u32::to_le_bytes)
        .ok_or_else(|| io::Error::other("the frame is too large"))
}

/// The length that a head tells.
pub fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(head);
    if length > MAX_BYTES {
        return Err(io::Error::other("the frame is too large"));
    }
    usize::try_from(length).map_err(io::Error::other)
}

/// The next frame; an error at the end of the input.
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
