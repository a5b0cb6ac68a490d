//! Blocks: what follows the file header, each with a header of its own.
//!
//! ```text
//! 0x00 4  mark         d8 42 4c 4b   "\xd8BLK"
//! 0x04 2  kind         a BlockKind
//! 0x06 2  version      of the payload of this kind
//! 0x08 1  codec        1 = bincode (standard configuration)
//! 0x09 1  compression  0 = none, 1 = LZ4 block
//! 0x0a 2  flags        bit 0: critical
//! 0x0c 4  number       of the block in the file, from 0
//! 0x10 8  first        number of its first element in the table of its kind
//! 0x18 4  count        elements
//! 0x1c 4  decoded      bytes of payload after decompression, at most MAX_DECODED
//! 0x20 4  stored       bytes of payload that follow this header
//! 0x24 4  run          low 32 bits of the file's run id
//! 0x28 4  CRC-32 of the stored payload
//! 0x2c 4  CRC-32 of bytes 0x00..0x2c
//! ```
//!
//! A block refers only to earlier blocks, and says which elements of its table it holds. So any
//! prefix of a file is a profile, and a lost, repeated or foreign block is noticed.

use crate::codec::{self, MAX_DECODED};
use crate::error::{ErrorKind, Layout, Part};
use crate::header::{u16_at, u32_at, u64_at};
use crate::kind::BlockKind;

/// First bytes of a block; the first is not valid UTF-8 before the second.
pub(crate) const MARK: [u8; 4] = *b"\xd8BLK";
/// Length of a block header, in bytes.
pub(crate) const BLOCK_HEADER: usize = 48;
/// At this many bytes, decompressed, a writer begins the next block: damage costs no more.
pub(crate) const TARGET_DECODED: usize = 1 << 20;
/// LZ4 makes at most 255 bytes of one, so a greater claim is a lie (LZ4 block format, 2022-07-31).
const LZ4_MAX_RATIO: u64 = 255;

const CODEC_BINCODE: u8 = 1;
const COMPRESSION_NONE: u8 = 0;
const COMPRESSION_LZ4: u8 = 1;
const FLAG_CRITICAL: u16 = 1;

/// The header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub(crate) kind: u16,
    pub(crate) version: u16,
    codec: u8,
    compression: u8,
    flags: u16,
    pub(crate) number: u32,
    pub(crate) first: u64,
    pub(crate) count: u32,
    decoded: u32,
    stored: u32,
    run: u32,
    payload_sum: u32,
}

impl BlockHeader {
    fn to_bytes(self) -> [u8; BLOCK_HEADER] {
        let mut bytes = [0; BLOCK_HEADER];
        bytes[0x00..0x04].copy_from_slice(&MARK);
        bytes[0x04..0x06].copy_from_slice(&self.kind.to_le_bytes());
        bytes[0x06..0x08].copy_from_slice(&self.version.to_le_bytes());
        bytes[0x08] = self.codec;
        bytes[0x09] = self.compression;
        bytes[0x0a..0x0c].copy_from_slice(&self.flags.to_le_bytes());
        bytes[0x0c..0x10].copy_from_slice(&self.number.to_le_bytes());
        bytes[0x10..0x18].copy_from_slice(&self.first.to_le_bytes());
        bytes[0x18..0x1c].copy_from_slice(&self.count.to_le_bytes());
        bytes[0x1c..0x20].copy_from_slice(&self.decoded.to_le_bytes());
        bytes[0x20..0x24].copy_from_slice(&self.stored.to_le_bytes());
        bytes[0x24..0x28].copy_from_slice(&self.run.to_le_bytes());
        bytes[0x28..0x2c].copy_from_slice(&self.payload_sum.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..0x2c]);
        bytes[0x2c..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; BLOCK_HEADER]) -> Result<Self, ErrorKind> {
        if bytes[..4] != MARK || u32_at(bytes, 0x2c) != crc32fast::hash(&bytes[..0x2c]) {
            return Err(ErrorKind::Checksum(Part::BlockHeader));
        }
        Ok(Self {
            kind: u16_at(bytes, 0x04),
            version: u16_at(bytes, 0x06),
            codec: bytes[0x08],
            compression: bytes[0x09],
            flags: u16_at(bytes, 0x0a),
            number: u32_at(bytes, 0x0c),
            first: u64_at(bytes, 0x10),
            count: u32_at(bytes, 0x18),
            decoded: u32_at(bytes, 0x1c),
            stored: u32_at(bytes, 0x20),
            run: u32_at(bytes, 0x24),
            payload_sum: u32_at(bytes, 0x28),
        })
    }

    /// Whether a reader that does not know the block must refuse the file.
    pub(crate) const fn is_critical(&self) -> bool {
        self.flags & FLAG_CRITICAL != 0
    }
}

/// A block of a file that is being read: its header is intact, its payload is not yet looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    pub(crate) header: BlockHeader,
    /// Of the header in the file, in bytes.
    pub(crate) offset: u64,
    stored: &'a [u8],
}

impl<'a> Block<'a> {
    /// The block whose header begins at `offset` of `file`, and the offset after it.
    pub(crate) fn at(file: &'a [u8], offset: usize, run: u32) -> Result<(Self, usize), ErrorKind> {
        let rest = file.get(offset..).unwrap_or_default();
        let Some((header, rest)) = rest.split_first_chunk::<BLOCK_HEADER>() else {
            return Err(ErrorKind::Truncated { missing: (BLOCK_HEADER - rest.len()) as u64 });
        };
        let header = BlockHeader::from_bytes(header)?;
        let length = header.stored as usize;
        let Some(stored) = rest.get(..length) else {
            return Err(ErrorKind::Truncated { missing: (length - rest.len()) as u64 });
        };
        if header.run != run {
            return Err(ErrorKind::Layout(Layout::OtherRun));
        }
        let block = Self { header, offset: offset as u64, stored };
        Ok((block, offset + BLOCK_HEADER + length))
    }

    /// Checks the payload and decompresses it into `buffer`.
    pub(crate) fn payload<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], ErrorKind>
    where
        'a: 'b,
    {
        let BlockHeader { codec, compression, flags, decoded, payload_sum, .. } = self.header;
        if crc32fast::hash(self.stored) != payload_sum {
            return Err(ErrorKind::Checksum(Part::Payload));
        }
        if codec != CODEC_BINCODE || flags & !FLAG_CRITICAL != 0 {
            return Err(ErrorKind::Layout(Layout::Encoding { codec, compression, flags }));
        }
        let most = self.stored.len() as u64 * LZ4_MAX_RATIO;
        match compression {
            _ if decoded > MAX_DECODED => Err(ErrorKind::Layout(Layout::Length { decoded })),
            COMPRESSION_NONE if decoded as usize == self.stored.len() => Ok(self.stored),
            COMPRESSION_LZ4 if u64::from(decoded) <= most => {
                buffer.clear();
                buffer.resize(decoded as usize, 0);
                match lz4_flex::block::decompress_into(self.stored, buffer) {
                    Ok(length) if length == decoded as usize => Ok(buffer),
                    _ => Err(ErrorKind::Layout(Layout::Compression)),
                }
            }
            COMPRESSION_NONE | COMPRESSION_LZ4 => {
                Err(ErrorKind::Layout(Layout::Length { decoded }))
            }
            _ => Err(ErrorKind::Layout(Layout::Encoding { codec, compression, flags })),
        }
    }

    /// Bytes of its payload, decompressed, as declared.
    pub(crate) const fn decoded(&self) -> u32 {
        self.header.decoded
    }
}

/// Appends one block to `out`: `value` is its payload, elements `first ..` of the table. `compress`
/// is told the length of the payload, and says whether it may be compressed.
pub(crate) fn put<T: serde::Serialize>(
    out: &mut Vec<u8>,
    place: NewBlock,
    value: &T,
    compress: impl FnOnce(u32) -> Result<bool, ErrorKind>,
) -> Result<(), ErrorKind> {
    let too_large = ErrorKind::TooLarge { table: place.kind.table(), element: place.first };
    let Some(payload) = codec::encode(value) else { return Err(too_large) };
    let Some(decoded) = u32::try_from(payload.len()).ok().filter(|&n| n <= MAX_DECODED) else {
        return Err(too_large);
    };
    let packed = compress(decoded)?.then(|| lz4_flex::block::compress(&payload));
    let (compression, stored) = match packed.filter(|packed| packed.len() < payload.len()) {
        Some(packed) => (COMPRESSION_LZ4, packed),
        None => (COMPRESSION_NONE, payload),
    };
    let header = BlockHeader {
        kind: place.kind as u16,
        version: place.version,
        codec: CODEC_BINCODE,
        compression,
        flags: if place.kind.critical() { FLAG_CRITICAL } else { 0 },
        number: place.number,
        first: place.first,
        count: place.count,
        decoded,
        // Not longer than `decoded`, which fits.
        stored: stored.len() as u32,
        run: place.run,
        payload_sum: crc32fast::hash(&stored),
    };
    out.extend_from_slice(&header.to_bytes());
    out.extend_from_slice(&stored);
    Ok(())
}

/// Where a new block belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewBlock {
    pub(crate) kind: BlockKind,
    pub(crate) version: u16,
    pub(crate) number: u32,
    pub(crate) first: u64,
    pub(crate) count: u32,
    pub(crate) run: u32,
}
