//! The bytes of a frame: a fixed header with a checksum, then a message by postcard, compressed
//! where it holds counts.
//!
//! A frame that is not one of ours, is cut, or was changed on its way is an error, never a panic,
//! and no length in it is believed before it was checked.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::message::Stamp;
use super::{Decoded, Rejection};
use crate::protocol::Frame;

const MAGIC: [u8; 2] = *b"Dg";
const VERSION: u8 = 2;
pub(crate) const HEADER: usize = 24;
/// The first byte of a body that is compressed, and of one that is not.
const COMPRESSED: u8 = 1;
const PLAIN: u8 = 0;
/// Nothing that decompresses beyond this is one of ours.
const LARGEST_BODY: u64 = 1 << 32;
/// Nor what decompresses to more than this many times its bytes: a few must not fill a receiver's
/// memory.
const LARGEST_RATIO: usize = 1024;

/// What a frame holds.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FrameKind {
    Hello = 1,
    Plan,
    Rejoin,
    Push,
    Reply,
    ShownLabels,
}

const KINDS: [FrameKind; 6] =
    [FrameKind::Hello, FrameKind::Plan, FrameKind::Rejoin, FrameKind::Push, FrameKind::Reply, FrameKind::ShownLabels];

/// The part of a frame that is for one receiver.
pub(crate) fn frame(stamp: Stamp, kind: FrameKind, message: &impl Serialize, compress: bool) -> Frame {
    let mut bytes = vec![0; HEADER];
    bytes[0..2].copy_from_slice(&MAGIC);
    bytes[2] = VERSION;
    bytes[3] = kind as u8;
    bytes[8..12].copy_from_slice(&stamp.shard.to_le_bytes());
    bytes[12..16].copy_from_slice(&stamp.incarnation.to_le_bytes());
    bytes[16..24].copy_from_slice(&stamp.sequence.to_le_bytes());
    body(message, compress, &mut bytes);
    seal(&mut bytes);
    Frame::new(bytes)
}

/// Puts the checksum of a frame into its header.
pub(crate) fn seal(bytes: &mut [u8]) {
    let checksum = checksum(bytes);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
}

/// Of a whole frame but for the checksum itself: a damaged kind would be taken for another message.
fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..4]);
    hasher.update(&bytes[8..]);
    hasher.finalize()
}

/// Appends a message, compressed if asked for and if it helps.
pub(crate) fn body(message: &impl Serialize, compress: bool, bytes: &mut Vec<u8>) {
    let plain = postcard::to_stdvec(message).expect("messages are plain data");
    match compress.then(|| compressed(&plain)).flatten() {
        Some(compressed) if compressed.len() < plain.len() => {
            bytes.push(COMPRESSED);
            let n_padding = plain.len().div_ceil(LARGEST_RATIO).saturating_sub(compressed.len());
            bytes.extend(compressed);
            bytes.extend(std::iter::repeat_n(0, n_padding));
        }
        _ => {
            bytes.push(PLAIN);
            bytes.extend(plain);
        }
    }
}

/// The stamp of a frame, its kind and what [`body`] wrote.
pub(crate) fn open(bytes: &[u8]) -> Decoded<(Stamp, FrameKind, &[u8])> {
    let (header, payload) = bytes.split_first_chunk::<HEADER>().ok_or_else(|| broken("cut short"))?;
    if header[0..2] != MAGIC || header[2] != VERSION {
        return Err(broken("not a frame of this version"));
    }
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if checksum(bytes) != number(4) {
        return Err(broken("the checksum does not fit"));
    }
    let kind = KINDS.into_iter().find(|kind| *kind as u8 == header[3]).ok_or_else(|| broken("an unknown kind"))?;
    let sequence = u64::from(number(16)) | u64::from(number(20)) << 32;
    Ok((Stamp { shard: number(8), incarnation: number(12), sequence }, kind, payload))
}

/// Reads what [`body`] wrote.
pub(crate) fn read<T: DeserializeOwned>(payload: &[u8]) -> Decoded<T> {
    let (&flag, body) = payload.split_first().ok_or_else(|| broken("cut short"))?;
    let parse = |bytes: &[u8]| postcard::from_bytes(bytes).map_err(|error| broken(&error.to_string()));
    match flag {
        PLAIN => Ok(parse(body)?),
        COMPRESSED => Ok(parse(&decompress(body)?)?),
        _ => Err(broken("neither plain nor compressed")),
    }
}

#[cfg(feature = "files")]
fn compressed(plain: &[u8]) -> Option<Vec<u8>> {
    Some(zstd::bulk::compress(plain, 1).expect("memory compresses"))
}

#[cfg(feature = "files")]
fn decompress(body: &[u8]) -> Decoded<Vec<u8>> {
    use zstd::zstd_safe::{find_frame_compressed_size, get_frame_content_size};

    let n_plain = get_frame_content_size(body).ok().flatten().ok_or_else(|| broken("compressed by somebody else"))?;
    if n_plain > LARGEST_BODY.min(body.len().saturating_mul(LARGEST_RATIO) as u64) {
        return Err(broken("compressed more than we do"));
    }
    let n_bytes = find_frame_compressed_size(body).map_err(|_| broken("cut short"))?;
    zstd::bulk::decompress(&body[..n_bytes], n_plain as usize).map_err(|error| broken(&error.to_string()))
}

/// Without the feature frames are sent as they are.
#[cfg(not(feature = "files"))]
fn compressed(_: &[u8]) -> Option<Vec<u8>> {
    None
}

#[cfg(not(feature = "files"))]
fn decompress(_: &[u8]) -> Decoded<Vec<u8>> {
    Err(broken("compressed, which this build cannot read"))
}

/// The part of a frame that receivers share, with a checksum of its own.
pub(crate) fn seal_shared(message: &impl Serialize, compress: bool) -> Arc<[u8]> {
    let mut bytes = vec![0; 4];
    body(message, compress, &mut bytes);
    let checksum = crc32fast::hash(&bytes[4..]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    bytes.into()
}

/// Reads what [`seal_shared`] wrote.
pub(crate) fn open_shared<T: DeserializeOwned>(bytes: &[u8]) -> Decoded<T> {
    let (checksum, payload) = bytes.split_first_chunk::<4>().ok_or_else(|| broken("cut short"))?;
    if crc32fast::hash(payload) != u32::from_le_bytes(*checksum) {
        return Err(broken("the checksum does not fit"));
    }
    read(payload)
}

pub(crate) fn broken(what: &str) -> Rejection {
    Rejection::new(what)
}
