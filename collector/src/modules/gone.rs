//! What a module whose file is gone says of itself, as far as its memory is still there: the kernel
//! reads it. Setup side.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::elf::{GNU_HASH, LoaderModule, STRING_TABLE, SYMBOL_TABLE};
use crate::arch::PAGE_SIZE;
use crate::sys;
use crate::unwind::cfi::direct;

/// Memory that may not be there.
struct Memory {
    /// Address of the page that was read last.
    at: u64,
    page: Vec<u8>,
}

impl Memory {
    fn new() -> Self {
        // No page begins there.
        Self { at: u64::MAX, page: vec![0; PAGE_SIZE] }
    }

    /// The bytes at a multiple of their number.
    fn read<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        let place = address as usize % PAGE_SIZE;
        let at = address - place as u64;
        if self.at != at {
            self.at = if sys::probe_into(at, &mut self.page) { at } else { u64::MAX };
        }
        (self.at == at).then(|| self.page.get(place..)?.first_chunk().copied()).flatten()
    }
}

impl LoaderModule {
    /// The runtime addresses from the begin of `.eh_frame` to the end of its segment.
    pub(super) fn eh_frame(&self) -> Option<Range<u64>> {
        let header = self.eh_frame_header.clone()?;
        let start = direct::section_address(&sys::probe_bytes::<8>(header.start)?, header.start)?;
        Some(start..self.segment_of(start)?.end)
    }

    /// The runtime addresses of the symbols for dynamic linking, and of their names.
    pub(super) fn dynamic_symbols(&self) -> Option<(Range<u64>, Range<u64>)> {
        const STRINGS_SIZE: u64 = 10;
        const HASH: u64 = 4;
        let mut memory = Memory::new();
        let mut entries = Vec::new();
        for at in self.dynamic.clone()?.step_by(16) {
            let tag = u64::from_le_bytes(memory.read(at)?);
            if tag == 0 {
                break;
            }
            entries.push((tag, u64::from_le_bytes(memory.read(at + 8)?)));
        }
        let value = |wanted| entries.iter().find(|entry| entry.0 == wanted).map(|entry| entry.1);
        let (symbols, strings) = (value(SYMBOL_TABLE)?, value(STRING_TABLE)?);
        let count = match value(GNU_HASH) {
            Some(table) => self.symbol_count(table, &mut memory)?,
            // The older kind of hash table says it.
            None => u32::from_le_bytes(memory.read(value(HASH)?.checked_add(4)?)?),
        };
        let end = strings.checked_add(value(STRINGS_SIZE)?)?;
        Some((symbols..symbols.checked_add(u64::from(count) * 24)?, strings..end))
    }

    /// One more than the last symbol of the bucket that begins last ([`GNU_HASH`]). What the table
    /// says may be anything: nothing behind its segment is read.
    fn symbol_count(&self, table: u64, memory: &mut Memory) -> Option<u32> {
        let words = (self.segment_of(table)?.end - table) / 4;
        let mut word = |at: u64| {
            let address = (at < words).then(|| table + at * 4)?;
            memory.read(address).map(u32::from_le_bytes)
        };
        let (buckets, first, filter) = (u64::from(word(0)?), word(1)?, u64::from(word(2)?));
        let begin = 4 + 2 * filter;
        let mut last = 0;
        for bucket in begin..begin + buckets {
            last = last.max(word(bucket)?);
        }
        if last < first {
            return Some(first);
        }
        while word(begin + buckets + u64::from(last - first))? & 1 == 0 {
            last = last.checked_add(1)?;
        }
        last.checked_add(1)
    }

    fn segment_of(&self, address: u64) -> Option<&Range<u64>> {
        self.readable.iter().find(|segment| segment.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::rust_2024::*;

    use super::*;
    use crate::modules::tests::loaded_modules;

    /// A table that was overwritten may say that it has any number of buckets.
    #[test]
    fn a_hash_table_is_not_read_beyond_its_segment() {
        let (module, _) = loaded_modules().swap_remove(0);
        let count = |head: [u32; 6]| {
            let table = head.as_ptr().addr() as u64;
            let segment = table..table + size_of_val(&head) as u64;
            let module = LoaderModule { readable: vec![segment], ..(*module).clone() };
            module.symbol_count(table, &mut Memory::new())
        };
        // One bucket, which begins with symbol 3 and ends there.
        assert_eq!(count([1, 3, 0, 0, 3, 1]), Some(4));
        assert_eq!(count([1, 3, 0, 0, 0, 1]), Some(3), "an empty one");
        assert_eq!(count([u32::MAX, 3, 0, 0, 3, 1]), None);
        assert_eq!(count([1, 3, u32::MAX, 0, 3, 1]), None);
        assert_eq!(count([1, 3, 0, 0, u32::MAX, 1]), None);
        assert_eq!(count([1, 3, 0, 0, 3, 2]), None, "which does not end");
    }
}
