//! Decoders of frames. Their checksums are put right, else nothing but them would be tried.

use dirigent::internals::method::av::Av;
use dirigent::internals::method::av::message::{AvPush, AvReply, Parcel};
use dirigent::internals::protocol::codec::{Message, decode, encode};
use dirigent::internals::protocol::{Frame, Method};

/// The header of a frame.
pub const HEADER: usize = 24;
/// The checksum in front of a shared part.
const SEAL: usize = 4;
/// Nothing that is larger once it is decompressed is tried: a compressed body may be large, and is meant to.
const LARGEST: usize = 1 << 20;

/// Puts the checksums right.
pub fn sealed(own: &[u8], shared: Option<&[u8]>) -> Frame {
    let mut own = own.to_vec();
    if own.len() >= HEADER {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&own[..4]);
        hasher.update(&own[8..]);
        own[4..8].copy_from_slice(&hasher.finalize().to_le_bytes());
    }
    let seal = |shared: &[u8]| {
        let mut shared = shared.to_vec();
        if shared.len() >= SEAL {
            let checksum = crc32fast::hash(&shared[SEAL..]);
            shared[..SEAL].copy_from_slice(&checksum.to_le_bytes());
        }
        shared.into()
    };
    Frame { own: own.into(), shared: shared.map(seal) }
}

/// As bytes: the length of the own part in two, the own part, and the shared one if there is one.
pub fn to_bytes(frame: &Frame) -> Vec<u8> {
    let mut bytes = (frame.own.len() as u16).to_le_bytes().to_vec();
    bytes.extend(frame.own.iter());
    bytes.extend(frame.shared.iter().flat_map(|shared| shared.iter()));
    bytes
}

fn of_bytes(bytes: &[u8]) -> Option<Frame> {
    let (length, bytes) = bytes.split_first_chunk::<2>()?;
    let (own, shared) = bytes.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some(sealed(own, (!shared.is_empty()).then_some(shared)))
}

fn is_small(body: Option<&[u8]>) -> bool {
    match body.and_then(|body| body.split_first()) {
        Some((1, compressed)) => zstd::bulk::decompress(compressed, LARGEST).is_ok(),
        _ => true,
    }
}

/// Decodes a frame; what was decoded is encoded, decoded and encoded again.
pub fn decode_any<M: Method>(bytes: &[u8]) -> bool {
    let Some(frame) = of_bytes(bytes) else { return false };
    let shared = frame.shared.as_ref().and_then(|shared| shared.get(SEAL..));
    if !is_small(frame.own.get(HEADER..)) || !is_small(shared) {
        return false;
    }
    let Ok((stamp, message)) = decode::<M>(&frame) else { return false };
    let once = encode(stamp, &message);
    let (stamp_again, again) = decode::<M>(&once).expect("what was encoded can be decoded");
    // compared as bytes: a NaN is not itself
    assert!(stamp_again == stamp && encode(stamp, &again) == once, "{message:?} became {again:?}");
    true
}

/// The same for AV, whose messages hold parcels.
pub fn decode_av(bytes: &[u8]) -> bool {
    if let Some(Ok((_, message))) = of_bytes(bytes).as_ref().map(decode::<Av>) {
        open_parcels(&message);
    }
    decode_any::<Av>(bytes)
}

fn open_parcels(message: &Message<Av>) {
    let parcels: Vec<&Parcel> = match message {
        Message::Push(AvPush::Join { parcels, .. }) => parcels.iter().map(|(_, parcel)| parcel).collect(),
        Message::Push(AvPush::Swept(swept)) => swept.parcels.iter().map(|(_, parcel)| parcel).collect(),
        Message::Reply(AvReply::Sweep { parcels, .. } | AvReply::Sum { parcels }, _) => parcels.iter().collect(),
        _ => Vec::new(),
    };
    for parcel in parcels {
        if let Ok(clusters) = parcel.open() {
            let _ = clusters.places(100);
            let _ = clusters.rows.clone().into_table(2, false);
            let _ = clusters.rows.into_table(2, true);
        }
    }
}
