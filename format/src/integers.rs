//! Vectors of integers in a payload, read straight into vectors that are there.
//!
//! Nearly all of a large profile is such vectors, and the [codec](crate::codec) takes longest for
//! them: it asks for memory for each, and writes each again, to see that it was the shortest form.
//! What is read here is exactly what the codec accepts; of what is refused, it says why.

use crate::ids::FrameId;

/// The greatest first byte that is an integer itself. Those after it say how many bytes follow.
const ONE_BYTE: u8 = 250;

/// Of each greater first byte in turn: how many bytes follow, which of eight bytes they are, and
/// the greatest integer for which that would be more than is needed.
const LONGER: [(usize, u64, u64); 3] =
    [(2, 0xffff, 250), (4, 0xffff_ffff, 0xffff), (8, u64::MAX, 0xffff_ffff)];

/// An integer of a vector.
pub(crate) trait Integer: Copy + Default {
    /// How many of the [longer forms](LONGER) it may have.
    const FORMS: usize;

    /// The integer of this value, which its forms have room for.
    fn of(value: u64) -> Self;
}

impl Integer for u64 {
    const FORMS: usize = 3;

    fn of(value: u64) -> Self {
        value
    }
}

impl Integer for u32 {
    const FORMS: usize = 2;

    fn of(value: u64) -> Self {
        value as u32
    }
}

impl Integer for FrameId {
    const FORMS: usize = u32::FORMS;

    fn of(value: u64) -> Self {
        Self(u32::of(value))
    }
}

/// What is left of a payload that holds vectors of integers.
pub(crate) struct Integers<'p>(&'p [u8]);

impl<'p> Integers<'p> {
    /// All of a payload.
    pub(crate) const fn of(payload: &'p [u8]) -> Self {
        Self(payload)
    }

    /// Reads the next vector in the place of what `values` holds. `None` if that is not, or not in
    /// the shortest form, what comes next.
    pub(crate) fn read<T: Integer>(&mut self, values: &mut Vec<T>) -> Option<()> {
        let mut rest = self.0;
        let length = usize::try_from(next(&mut rest, u64::FORMS)?).ok()?;
        // Each takes a byte at least, so a length that lies asks for no memory.
        if length > rest.len() {
            return None;
        }
        values.resize(length, T::default());
        for value in values {
            *value = T::of(next(&mut rest, T::FORMS)?);
        }
        self.0 = rest;
        Some(())
    }

    /// Nothing must be left.
    pub(crate) const fn end(self) -> Option<()> {
        if self.0.is_empty() { Some(()) } else { None }
    }
}

/// The integer that comes next, in the shortest form, which must be one of so many longer ones or
/// a single byte.
#[inline]
fn next(rest: &mut &[u8], forms: usize) -> Option<u64> {
    let (&first, after) = rest.split_first()?;
    if first <= ONE_BYTE {
        *rest = after;
        return Some(first.into());
    }
    // Which of the longer forms it is cannot be foreseen, so nothing but loads depends on it.
    let (bytes, mask, least) = *LONGER[..forms].get(usize::from(first - ONE_BYTE - 1))?;
    let value = match after.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight) & mask,
        None => {
            let mut eight = [0; 8];
            eight[..bytes].copy_from_slice(after.get(..bytes)?);
            u64::from_le_bytes(eight)
        }
    };
    *rest = after.get(bytes..)?;
    (value > least).then_some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec;

    /// What both say of a payload of two vectors.
    fn check(payload: &[u8]) -> Result<(), TestCaseError> {
        // What was there before is replaced.
        let (mut short, mut long) = (vec![7; 3], vec![9; 300]);
        let mut integers = Integers::of(payload);
        let read = integers
            .read(&mut short)
            .and_then(|()| integers.read(&mut long))
            .and_then(|()| integers.end());
        let expected = codec::decode::<(Vec<u32>, Vec<u64>)>(payload).ok();
        prop_assert_eq!(read.map(|()| (short, long)), expected);
        Ok(())
    }

    /// Integers at both ends of each form.
    fn integer() -> impl Strategy<Value = u64> {
        let ends = [250_u64, 0xffff, 0xffff_ffff, u64::MAX];
        (0..ends.len(), 0_u64..3).prop_map(move |(end, more)| ends[end].wrapping_add(more))
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_codec_reads(
            short in prop::collection::vec(integer(), 0..300),
            long in prop::collection::vec(integer(), 0..300),
            changed in any::<(usize, u8)>(),
            cut in 0_usize..12,
        ) {
            let short: Vec<u32> = short.into_iter().map(|value| value as u32).collect();
            let mut payload = codec::encode(&(short, long)).unwrap();
            check(&payload)?;
            check(&payload[..payload.len().saturating_sub(cut)])?;
            payload.push(0);
            check(&payload)?;
            payload.pop();
            let at = changed.0 % payload.len();
            for byte in [changed.1, 250, 251, 252, 253, 254, 255] {
                payload[at] = byte;
                check(&payload)?;
            }
        }
    }

    #[test]
    fn what_is_longer_than_it_need_be_is_refused() {
        for payload in [&[251, 1, 0, 5, 0][..], &[1, 251, 250, 0, 0], &[1, 252, 255, 255, 0, 0, 0]]
        {
            check(payload).unwrap();
            assert!(Integers::of(payload).read(&mut Vec::<u32>::new()).is_none());
        }
    }
}
