//! Where an exception that leaves a call goes on: the call-site table of a function's
//! language-specific data area (LSDA) in `.gcc_except_table`.
//!
//! The layout is that of gcc's `unwind-dw2-fde` users (Itanium C++ ABI: Exception Handling, level
//! II; `gcc/except.cc`, `libsupc++/eh_personality.cc`), which clang and rustc write too. What
//! happens at a landing pad is not read, only where it is.

use core::ops::Range;

use gimli::{DwEhPe, EndianSlice, LittleEndian, Reader as _, constants as dw};

/// Calls whose exceptions are caught, or cleaned up after, in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandingPad {
    /// ELF virtual addresses of the calls.
    pub calls: Range<u64>,
    /// Where control goes.
    pub pad: u64,
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Reads the landing pads of a function: `bytes` begin with its LSDA, which is at `address`, and
/// may go on behind it. Those before a malformed entry where there is one, and none if the table is
/// cut off; ordered by the calls, as the table is, and none of calls elsewhere. What is read is in
/// proportion to the function, however long its table: calls do not overlap, so there are no more
/// entries than bytes, and entries without calls are few.
#[must_use]
pub fn landing_pads(bytes: &[u8], address: u64, function: &Range<u64>) -> Vec<LandingPad> {
    let mut pads = Vec::new();
    // The end of the bytes is an entry cut off.
    let _ = read(&Data { bytes: Bytes::new(bytes, LittleEndian), address }, function, &mut pads);
    pads
}

fn read(data: &Data<'_>, function: &Range<u64>, pads: &mut Vec<LandingPad>) -> Option<()> {
    let start = function.start;
    let mut head = data.bytes;
    let encoding = DwEhPe(head.read_u8().ok()?);
    let base = if encoding == dw::DW_EH_PE_omit { start } else { data.value(&mut head, encoding)? };
    if DwEhPe(head.read_u8().ok()?) != dw::DW_EH_PE_omit {
        head.read_uleb128().ok()?; // where the types are
    }
    let encoding = DwEhPe(head.read_u8().ok()?);
    let length = usize::try_from(head.read_uleb128().ok()?).ok()?;
    let mut table = head.split(length).ok()?;
    let mut next = start;
    let mut entries = function.end.saturating_sub(start).saturating_add(1);
    while !table.is_empty() {
        entries = entries.checked_sub(1)?;
        let call = start.checked_add(data.value(&mut table, encoding)?)?;
        let length = data.value(&mut table, encoding)?;
        let end = call.checked_add(length)?;
        if call < next || end > function.end {
            return None;
        }
        next = end;
        let pad = data.value(&mut table, encoding)?;
        table.read_uleb128().ok()?; // what to do
        if pad != 0 && length != 0 {
            pads.push(LandingPad { calls: call..end, pad: base.wrapping_add(pad) });
        }
    }
    Some(())
}

/// A data area, and its ELF virtual address.
struct Data<'a> {
    bytes: Bytes<'a>,
    address: u64,
}

impl<'a> Data<'a> {
    /// The value with which `rest` begins, a part of the area, in one of the encodings that
    /// assemblers use here (LSB Core, 10.5.1): unsigned, or signed, relative to nothing or to
    /// itself.
    fn value(&self, rest: &mut Bytes<'a>, encoding: DwEhPe) -> Option<u64> {
        if encoding.is_indirect() {
            return None;
        }
        let at = self.address.wrapping_add(rest.offset_from(self.bytes) as u64);
        let value = match encoding.format() {
            dw::DW_EH_PE_absptr | dw::DW_EH_PE_udata8 | dw::DW_EH_PE_sdata8 => rest.read_u64(),
            dw::DW_EH_PE_uleb128 => rest.read_uleb128(),
            dw::DW_EH_PE_udata2 => rest.read_u16().map(u64::from),
            dw::DW_EH_PE_udata4 => rest.read_u32().map(u64::from),
            dw::DW_EH_PE_sdata2 => rest.read_i16().map(|value| i64::from(value).cast_unsigned()),
            dw::DW_EH_PE_sdata4 => rest.read_i32().map(|value| i64::from(value).cast_unsigned()),
            _ => return None,
        };
        let value = value.ok()?;
        match encoding.application() {
            dw::DW_EH_PE_absptr => Some(value),
            dw::DW_EH_PE_pcrel if value != 0 => Some(at.wrapping_add(value)),
            dw::DW_EH_PE_pcrel => Some(0),
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
