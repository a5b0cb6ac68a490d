//! Frames of the kernel: addresses of one start of the machine become names.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use csprof_format::address::FrameKey;

use super::super::kernel_symbols::{FILE, KernelSymbols};

/// What is said of a process of which the places of some samples are missing.
pub(super) const SOME_ARE_PLACELESS: &str = "more periods of an event ended in one system call or interruption than the kernel's page of \
     records has room for (64): where in the kernel the earlier ones ended is not known, and they \
     are at the code that entered it";

/// What of the kernel's functions is known.
pub(super) struct Kernel {
    /// See [`boot`](super::super::kernel_symbols::boot).
    boot: String,
    /// The names, or why there are none, once they were asked for.
    symbols: Option<Result<KernelSymbols, String>>,
    /// The names that have frames, and where.
    offsets: HashMap<u64, String>,
}

impl Kernel {
    pub(super) fn of(boot: &str) -> Self {
        Self { boot: boot.to_owned(), symbols: None, offsets: HashMap::new() }
    }

    /// The function at a place, if its name is known, and its offset in the file.
    pub(super) fn function(&mut self, key: FrameKey) -> Option<(String, u64)> {
        let symbols = self.symbols.get_or_insert_with(|| KernelSymbols::of(&self.boot));
        let name = symbols.as_ref().ok()?.at(key.kernel_address()?)?.to_owned();
        let offset = self.offset(&name);
        Some((name, offset))
    }

    /// Where names came from, or why there are none; `None` where nobody has asked for any.
    pub(super) fn source(&mut self) -> Option<Result<&'static str, String>> {
        self.symbols.take().map(|symbols| symbols.map(|_| FILE))
    }

    /// The offset of a function, which is made of its name.
    fn offset(&mut self, name: &str) -> u64 {
        let mut offset = offset_of(name);
        loop {
            match self.offsets.entry(offset) {
                Entry::Occupied(known) if known.get() != name => offset = offset.wrapping_add(1),
                Entry::Occupied(_) => return offset,
                Entry::Vacant(place) => {
                    place.insert(name.to_owned());
                    return offset;
                }
            }
        }
    }
}

/// Of the name's bytes, by FNV-1a (64 bits); never 0, which is the offset of what has no name.
fn offset_of(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_same_offset_everywhere_and_none_has_another_s() {
        // What FORMAT.md says it is.
        assert_eq!(offset_of("a"), 0xaf63_dc4c_8601_ec8c);
        let mut kernel = Kernel::of("");
        let read = kernel.offset("read_zero");
        assert_eq!((read, kernel.offset("read_zero")), (offset_of("read_zero"), read));
        kernel.offsets.insert(offset_of("schedule"), "another".to_owned());
        assert_eq!(kernel.offset("schedule"), offset_of("schedule") + 1);
    }
}
