//! Values to bytes and back: the only module that names bincode.
//!
//! A block's payload is one serde value in bincode's standard configuration (little-endian,
//! variable-length integers); the rules are written down in `FORMAT.md`, so a reader in another
//! language, or another crate, needs no bincode. Invariant: [`decode`] accepts exactly the bytes
//! that [`encode`] makes, so equal values mean equal bytes.
//!
//! bincode by itself accepts trailing bytes and integers that are longer than needed, and trusts
//! lengths up to its limit. The types decoded here have no recursion and no values of size zero,
//! which no limit would stop.

use core::fmt;

use bincode::config::{Configuration, LittleEndian, Varint};
use bincode::enc::write::SizeWriter;
use bincode::error::DecodeError;
use serde::{Deserialize, Serialize};

/// Most bytes of one payload, decompressed: 16 MiB.
pub(crate) const MAX_DECODED: u32 = 16 << 20;
/// Most bytes that a payload may claim. bincode charges an integer its full width, eight bytes at
/// most, and it takes at least one, so no honest payload reaches this; a lying length does.
const LIMIT: usize = 8 * MAX_DECODED as usize;

type Config = Configuration<LittleEndian, Varint, bincode::config::Limit<LIMIT>>;

fn config() -> Config {
    bincode::config::standard().with_limit::<LIMIT>()
}

/// Why bytes are not a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end inside a value, or a length says that they should go on.
    EndsEarly,
    /// Bytes are left after the value.
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// An integer or length is written with more bytes than it needs.
    Overlong,
    /// Text is not UTF-8.
    Text,
    /// A tag or an integer is of a form that does not exist.
    Form,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndsEarly => f.write_str("its values need more bytes than it has"),
            Self::TrailingBytes { count } => write!(f, "bytes left after its values: {count}"),
            Self::Overlong => f.write_str("an integer has more bytes than it needs"),
            Self::Text => f.write_str("text in it is not UTF-8"),
            Self::Form => f.write_str("a value in it has an unknown form"),
        }
    }
}

/// The bytes of `value`.
///
/// `None` only for values whose length serde cannot tell, of which this crate has none.
pub(crate) fn encode<T: Serialize>(value: &T) -> Option<Vec<u8>> {
    bincode::serde::encode_to_vec(value, config()).ok()
}

/// How many bytes [`encode`] makes of `value`; `None` as there.
pub(crate) fn encoded_len<T: Serialize>(value: &T) -> Option<usize> {
    let mut size = SizeWriter::default();
    bincode::serde::encode_into_writer(value, &mut size, config()).ok()?;
    Some(size.bytes_written)
}

/// The value that `bytes` hold, all of them.
pub(crate) fn decode<'de, T>(bytes: &'de [u8]) -> Result<T, Malformed>
where
    T: Deserialize<'de> + Serialize,
{
    let (value, consumed) =
        bincode::serde::borrow_decode_from_slice::<T, _>(bytes, config()).map_err(malformed)?;
    if consumed != bytes.len() {
        return Err(Malformed::TrailingBytes { count: bytes.len() - consumed });
    }
    // The shortest encoding is unique, and every other one is longer.
    match encoded_len(&value) {
        Some(length) if length == consumed => Ok(value),
        _ => Err(Malformed::Overlong),
    }
}

fn malformed(error: DecodeError) -> Malformed {
    match error {
        DecodeError::UnexpectedEnd { .. } | DecodeError::LimitExceeded => Malformed::EndsEarly,
        DecodeError::Utf8 { .. } => Malformed::Text,
        _ => Malformed::Form,
    }
}
