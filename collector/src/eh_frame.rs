//! The entries of `.eh_frame`: CIEs and FDEs (Linux Standard Base 5.0, 10.6.1).
//!
//! Both sides: allocates nothing. Only what compilers and linkers for 64-bit ELF write is read:
//! entries with 32-bit lengths, pointers that are absolute or relative to themselves. It is read in
//! the handler, where it is cold: an FDE is taken apart in one pass over its first bytes.

use core::ops::Range;

/// Bytes in order, little endian. `None` at the end, and for numbers beyond 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) const fn byte(&mut self) -> Option<u8> {
        let Some((first, rest)) = self.0.split_first() else { return None };
        self.0 = rest;
        Some(*first)
    }

    #[inline]
    pub(crate) const fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let Some((first, rest)) = self.0.split_first_chunk() else { return None };
        self.0 = rest;
        Some(*first)
    }

    /// So many bytes.
    #[inline]
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// ULEB128 (DWARF 5, 7.6).
    #[inline]
    pub(crate) fn unsigned(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(first.into());
        }
        self.longer(first).map(|(value, _, _)| value)
    }

    /// SLEB128.
    #[inline]
    pub(crate) fn signed(&mut self) -> Option<i64> {
        let first = self.byte()?;
        let (value, bits, last) =
            if first < 0x80 { (first.into(), 7, first) } else { self.longer(first)? };
        let extension = if last & 0x40 != 0 && bits < 64 { u64::MAX << bits } else { 0 };
        Some((value | extension) as i64)
    }

    /// The rest of a number: its bits, how many they are, the last byte.
    #[cold]
    fn longer(&mut self, first: u8) -> Option<(u64, u32, u8)> {
        let (mut value, mut bits) = (u64::from(first & 0x7f), 7);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(bits)?;
            bits += 7;
            if byte < 0x80 {
                return Some((value, bits, byte));
            }
        }
    }

    /// Bytes behind their number (DW_FORM_exprloc).
    #[inline]
    pub(crate) fn block(&mut self) -> Option<&'a [u8]> {
        let length = self.unsigned()?;
        self.take(length)
    }
}

/// How a pointer is written: a `DW_EH_PE` byte that is understood.
#[derive(Clone, Copy)]
struct Pointer(u8);

impl Pointer {
    const ABSOLUTE: Self = Self(0);

    /// `None` for a form that is not read.
    fn new(encoding: u8) -> Option<Self> {
        let size = matches!(encoding & 0x0f, 0x00 | 0x03 | 0x04 | 0x0b | 0x0c);
        (size && matches!(encoding >> 4, 0 | 1)).then_some(Self(encoding))
    }

    /// The number as it stands.
    #[inline]
    fn number(self, cursor: &mut Cursor<'_>) -> Option<u64> {
        Some(match self.0 & 0x0f {
            0x03 => u32::from_le_bytes(cursor.array()?).into(),
            0x0b => i64::from(i32::from_le_bytes(cursor.array()?)) as u64,
            _ => u64::from_le_bytes(cursor.array()?),
        })
    }

    /// What the number means that stands at `place`.
    #[inline]
    fn address(self, number: u64, place: u64) -> u64 {
        if self.0 & 0x10 != 0 { place.wrapping_add(number) } else { number }
    }
}

/// A common information entry.
pub(crate) struct Cie<'a> {
    pub(crate) code_factor: u64,
    pub(crate) data_factor: i64,
    /// Its FDEs are frames of signal handlers' return trampolines.
    pub(crate) is_signal_frame: bool,
    /// What holds at the begin of each of its FDEs.
    pub(crate) instructions: &'a [u8],
    pointers: Pointer,
    /// Whether its FDEs have augmentation data.
    is_augmented: bool,
    /// Whether that says where a language-specific data area is.
    has_data_areas: bool,
}

/// A frame description entry.
#[derive(Clone)]
pub(crate) struct Fde<'a> {
    /// Runtime addresses of its code.
    pub(crate) code: Range<u64>,
    /// Whether its code may have a language-specific data area.
    pub(crate) has_data_area: bool,
    pub(crate) instructions: &'a [u8],
}

/// What begins at an offset of the section: the offset of the CIE's identifier or pointer, which
/// that is, and what follows it.
fn raw(section: &[u8], offset: usize) -> Option<(usize, usize, &[u8])> {
    let mut cursor = Cursor(section.get(offset..)?);
    let length = u32::from_le_bytes(cursor.array()?);
    let mut body = Cursor(cursor.take(length.into())?);
    let pointer = u32::from_le_bytes(body.array()?);
    Some((offset.checked_add(4)?, pointer as usize, body.0))
}

/// How many bytes the entry at this offset has; perhaps more than there are.
pub(crate) fn size(section: &[u8], offset: usize) -> Option<usize> {
    let length = u32::from_le_bytes(*section.get(offset..)?.first_chunk()?);
    (length as usize).checked_add(4)
}

/// The offset of the CIE of the FDE at this offset, and what follows the pointer to it.
#[inline]
pub(crate) fn split(section: &[u8], offset: usize) -> Option<(usize, &[u8])> {
    let (place, pointer, body) = raw(section, offset)?;
    (pointer != 0).then_some((place.checked_sub(pointer)?, body))
}

impl<'a> Cie<'a> {
    /// The CIE at this offset of the section.
    pub(crate) fn at(section: &'a [u8], offset: usize) -> Option<Self> {
        let (_, 0, body) = raw(section, offset)? else { return None };
        let mut cursor = Cursor(body);
        let version = cursor.byte()?;
        let end = cursor.0.iter().position(|&byte| byte == 0)?;
        let augmentation = cursor.take(end as u64)?;
        cursor.byte()?;
        let code_factor = cursor.unsigned()?;
        let data_factor = cursor.signed()?;
        // The column of the return address.
        match version {
            1 => u64::from(cursor.byte()?),
            3 => cursor.unsigned()?,
            _ => return None,
        };
        let mut cie = Self {
            code_factor,
            data_factor,
            is_signal_frame: false,
            instructions: &[],
            pointers: Pointer::ABSOLUTE,
            is_augmented: augmentation.first() == Some(&b'z'),
            has_data_areas: false,
        };
        let letters = match augmentation {
            [] => augmentation,
            [b'z', letters @ ..] => letters,
            _ => return None,
        };
        if cie.is_augmented {
            let mut data = Cursor(cursor.block()?);
            for letter in letters {
                match letter {
                    b'R' => cie.pointers = Pointer::new(data.byte()?)?,
                    b'P' => {
                        // That of the personality routine may be indirect, which is all the same.
                        let encoding = data.byte()?;
                        Pointer::new(encoding & 0x7f)?.number(&mut data)?;
                    }
                    b'L' => {
                        data.byte()?;
                        cie.has_data_areas = true;
                    }
                    b'S' => cie.is_signal_frame = true,
                    _ => return None,
                }
            }
        }
        cie.instructions = cursor.0;
        Some(cie)
    }

    /// Reads an FDE of this CIE from what [`split`] left of it; `place` is the runtime address of
    /// that.
    #[inline]
    pub(crate) fn fde(&self, body: &'a [u8], place: u64) -> Option<Fde<'a>> {
        let mut cursor = Cursor(body);
        let start = self.pointers.address(self.pointers.number(&mut cursor)?, place);
        let length = self.pointers.number(&mut cursor)?;
        if self.is_augmented {
            cursor.block()?;
        }
        Some(Fde {
            code: start..start.checked_add(length)?,
            has_data_area: self.has_data_areas,
            instructions: cursor.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of DWARF 5, tables 7.7 and 7.8.
    #[test]
    fn numbers() {
        for (bytes, value) in [
            (&[2][..], 2),
            (&[127], 127),
            (&[0x80, 1], 128),
            (&[1 + 0x80, 1], 129),
            (&[57 + 0x80, 100], 12_857),
        ] {
            assert_eq!(Cursor(bytes).unsigned(), Some(value));
        }
        for (bytes, value) in [
            (&[2][..], 2),
            (&[0x7e], -2),
            (&[127 + 0x80, 0], 127),
            (&[1 + 0x80, 0x7f], -127),
            (&[0x80, 1], 128),
            (&[0x80, 0x7f], -128),
        ] {
            assert_eq!(Cursor(bytes).signed(), Some(value));
        }
        assert_eq!(Cursor(&[0x80]).unsigned(), None, "cut short");
        assert_eq!(Cursor(&[0xff; 12]).signed(), None, "beyond 64 bits");
    }
}
