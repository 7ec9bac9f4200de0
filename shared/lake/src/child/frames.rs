//! Reads and writes frames on the standard input and output of a child process.
//!
//! A frame is two lengths (32 bits each, little-endian), a JSON header and a raw body. Frames without a
//! header carry the first parts of the next frame's body.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// Limit of a header and of a body: far above what a job sends, and small enough to allocate.
pub(crate) const MAX_FRAME_BYTES: u32 = 64 * 1024 * 1024;

/// Returns the two lengths and the header of a frame.
pub(crate) fn frame_head(header: &impl Serialize, body: &[u8]) -> io::Result<Vec<u8>> {
    let header = serde_json::to_vec(header)?;
    let mut head = lengths(header.len(), body.len())?.to_vec();
    head.extend_from_slice(&header);
    Ok(head)
}

/// Parses the lengths of header and body.
pub(crate) fn frame_lengths(bytes: [u8; 8]) -> io::Result<(usize, usize)> {
    let [a, b, c, d, e, f, g, h] = bytes;
    let (header, body) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    if header > MAX_FRAME_BYTES || body > MAX_FRAME_BYTES {
        return Err(io::Error::other("the frame is too large"));
    }
    Ok((
        usize::try_from(header).unwrap_or(0),
        usize::try_from(body).unwrap_or(0),
    ))
}

/// Reads a frame; also fails at the end of the input.
pub(crate) fn read_frame<T: for<'de> Deserialize<'de>>(input: &mut impl Read) -> io::Result<(T, Vec<u8>)> {
    let mut lengths = [0; 8];
    input.read_exact(&mut lengths)?;
    let (header_length, body_length) = frame_lengths(lengths)?;
    let mut header = vec![0; header_length];
    input.read_exact(&mut header)?;
    let mut body = vec![0; body_length];
    input.read_exact(&mut body)?;
    Ok((serde_json::from_slice(&header)?, body))
}

/// Writes a part of the body of the next frame.
pub(crate) fn write_part(output: &mut impl Write, part: &[u8]) -> io::Result<()> {
    output.write_all(&lengths(0, part.len())?)?;
    output.write_all(part)
}

fn lengths(header: usize, body: usize) -> io::Result<[u8; 8]> {
    let mut bytes = [0; 8];
    for (length, place) in [header, body].into_iter().zip(bytes.chunks_exact_mut(4)) {
        let length = u32::try_from(length)
            .ok()
            .filter(|length| *length <= MAX_FRAME_BYTES);
        let length = length.ok_or_else(|| io::Error::other("the frame is too large"))?;
        place.copy_from_slice(&length.to_le_bytes());
    }
    Ok(bytes)
}

pub(crate) fn write_frame(output: &mut impl Write, header: &impl Serialize, body: &[u8]) -> io::Result<()> {
    output.write_all(&frame_head(header, body)?)?;
    output.write_all(body)?;
    output.flush()
}
