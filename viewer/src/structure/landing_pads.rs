//! Where an exception that leaves a call goes on: the call-site table of a function's
//! language-specific data area (LSDA) in `.gcc_except_table`.
//!
//! The layout is that of gcc's `unwind-dw2-fde` users (Itanium C++ ABI: Exception Handling, level
//! II; `gcc/except.cc`, `libsupc++/eh_personality.cc`), which clang and rustc write too. What
//! happens at a landing pad is not read, only where it is.

use core::ops::Range;

/// Calls whose exceptions are caught, or cleaned up after, in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandingPad {
    /// ELF virtual addresses of the calls.
    pub calls: Range<u64>,
    /// Where control goes.
    pub pad: u64,
}

/// Pointer encodings (LSB Core, 10.5.1): how a value is written, and to what it is relative.
const FORMAT: u8 = 0x0f;
const ULEB128: u8 = 0x01;
const OMIT: u8 = 0xff;
const RELATIVE_TO_ITSELF: u8 = 0x10;

/// Bits of the bytes that a LEB128 number may have: those of 64 bits fit. Assemblers may write more
/// bytes than a number needs, but never so many.
const LONGEST_NUMBER: u32 = 70;

/// Reads the landing pads of a function: `bytes` begin with its LSDA, which is at `address`, and
/// may go on behind it. Those before a malformed entry where there is one, and none if the table is
/// cut off; ordered by the calls, as the table is, and none of calls elsewhere. What is read is in
/// proportion to the function, however long its table: calls do not overlap, so there are no more
/// entries than bytes, and entries without calls are few.
#[must_use]
pub fn landing_pads(bytes: &[u8], address: u64, function: &Range<u64>) -> Vec<LandingPad> {
    let mut pads = Vec::new();
    // The end of the bytes is an entry cut off.
    let _ = read(&mut Reader { bytes, address }, function, &mut pads);
    pads
}

fn read(reader: &mut Reader<'_>, function: &Range<u64>, pads: &mut Vec<LandingPad>) -> Option<()> {
    let start = function.start;
    let encoding = reader.byte()?;
    let base = if encoding == OMIT { start } else { reader.value(encoding)? };
    if reader.byte()? != OMIT {
        reader.unsigned()?; // where the types are
    }
    let encoding = reader.byte()?;
    let length = usize::try_from(reader.unsigned()?).ok()?;
    let mut table = Reader { bytes: reader.bytes.get(..length)?, address: reader.address };
    let mut next = start;
    let mut entries = function.end.saturating_sub(start).saturating_add(1);
    while !table.bytes.is_empty() {
        entries = entries.checked_sub(1)?;
        let call = start.checked_add(table.value(encoding)?)?;
        let length = table.value(encoding)?;
        let end = call.checked_add(length)?;
        if call < next || end > function.end {
            return None;
        }
        next = end;
        let pad = table.value(encoding)?;
        table.unsigned()?; // what to do
        if pad != 0 && length != 0 {
            pads.push(LandingPad { calls: call..end, pad: base.wrapping_add(pad) });
        }
    }
    Some(())
}

/// Bytes that are read from the front.
struct Reader<'a> {
    bytes: &'a [u8],
    address: u64,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        self.address = self.address.wrapping_add(1);
        Some(first)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (&array, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        self.address = self.address.wrapping_add(N as u64);
        Some(array)
    }

    /// An unsigned LEB128 number of at most ten bytes; bits beyond 64 are lost.
    fn unsigned(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            if shift == LONGEST_NUMBER {
                return None;
            }
        }
    }

    /// A value in one of the encodings that assemblers use here: unsigned, or signed, relative to
    /// nothing or to itself.
    fn value(&mut self, encoding: u8) -> Option<u64> {
        let at = self.address;
        let value = match encoding & FORMAT {
            0x00 | 0x04 | 0x0c => u64::from_le_bytes(self.array()?),
            ULEB128 => self.unsigned()?,
            0x02 => u64::from(u16::from_le_bytes(self.array()?)),
            0x03 => u64::from(u32::from_le_bytes(self.array()?)),
            0x0a => i64::from(i16::from_le_bytes(self.array()?)).cast_unsigned(),
            0x0b => i64::from(i32::from_le_bytes(self.array()?)).cast_unsigned(),
            _ => return None,
        };
        match encoding & !FORMAT {
            0 => Some(value),
            RELATIVE_TO_ITSELF if value != 0 => Some(at.wrapping_add(value)),
            RELATIVE_TO_ITSELF => Some(0),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_gcc() {
        // @LPStart omitted, @TType omitted, uleb128: calls 4..9 have a pad at 0x20, 9..11 none,
        // 0x80..0x85 one at 0x90.
        let bytes = [
            0xff, 0xff, 0x01, 12, //
            4, 5, 0x20, 0, //
            9, 2, 0, 0, //
            0x80, 1, 5, 0x90, 1, 1, 0xff,
        ];
        let pad = |calls, pad| LandingPad { calls, pad };
        let read = |bytes: &[u8]| landing_pads(bytes, 0x5000, &(0x1000..0x1085));
        assert_eq!(read(&bytes), [pad(0x1004..0x1009, 0x1020)]);
        let bytes = [&bytes[..3], &[14], &bytes[4..]].concat();
        let both = [pad(0x1004..0x1009, 0x1020), pad(0x1080..0x1085, 0x1090)];
        assert_eq!(read(&bytes), both);
        // Pads relative to an address of their own, here 0x5001 + 0x1fff.
        let elsewhere = [&[0x1b, 0xff, 0x1f, 0, 0], &bytes[1..]].concat();
        assert_eq!(read(&elsewhere)[0], pad(0x1004..0x1009, 0x7020));
        assert!((0..bytes.len() - 1).all(|end| read(&bytes[..end]).is_empty()));
        // The function ends before the last calls; calls are not in order.
        assert_eq!(landing_pads(&bytes, 0x5000, &(0x1000..0x1084)), both[..1]);
        let twice = [&[0xff, 0xff, 0x01, 8, 4, 5, 0x20, 0], &bytes[4..8]].concat();
        assert_eq!(read(&twice), both[..1]);
        // An entry without calls between others.
        let bytes = [0xff, 0xff, 0x01, 12, 4, 5, 0x20, 0, 9, 0, 0, 0, 9, 2, 0x30, 0];
        assert_eq!(read(&bytes), [both[0].clone(), pad(0x1009..0x100b, 0x1030)]);
        // Numbers that are longer than they need be, and one that is longer than any.
        let long = |count: usize| {
            let zeros = vec![0x80; count - 1];
            let size = u8::try_from(count).unwrap() + 3;
            [&[0xff, 0xff, 0x01, size, 0x84][..], &zeros[1..], &[0, 5, 0x20, 0]].concat()
        };
        assert_eq!(read(&long(10)), both[..1]);
        assert_eq!(read(&long(11)), []);
    }

    /// Zeros are entries without calls, and the table of a damaged file may have millions for each
    /// of thousands of functions.
    #[test]
    fn no_more_entries_are_read_than_a_function_has_bytes() {
        let pads = |empty: usize| {
            let mut bytes = vec![0xff, 0xff, 0x01, u8::try_from(4 * empty + 4).unwrap()];
            bytes.extend(vec![0; 4 * empty]);
            bytes.extend([0, 2, 7, 0]);
            landing_pads(&bytes, 0x5000, &(0x1000..0x1008)).len()
        };
        assert_eq!([0, 1, 8, 9, 30].map(pads), [1, 1, 1, 0, 0]);
    }
}
