//! Frames of the kernel: addresses of one start of the machine become names.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::ids::{FrameId, FunctionId};
use csprof_format::profile::{Frame, Function, KERNEL, SymbolSource};

use super::super::kernel_symbols::{FILE, KernelSymbols};
use super::{Gathering, Site};

/// What is said of a process of which the places of some samples are missing.
pub(super) const SOME_ARE_PLACELESS: &str = "more periods of an event ended in one system call or interruption than the kernel's page of \
     records has room for (64): where in the kernel the earlier ones ended is not known, and they \
     are at the code that entered it";

/// What of the kernel's functions is known.
pub(super) struct Kernel {
    /// See [`Run::boot`](super::Run::boot).
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

    /// The function at an address.
    fn function(&mut self, address: u64) -> Option<String> {
        let symbols = self.symbols.get_or_insert_with(|| KernelSymbols::of(&self.boot));
        symbols.as_ref().ok()?.at(address).map(str::to_owned)
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

impl Gathering {
    /// The frame of a place in the kernel: of the function there, if its name is known.
    pub(super) fn kernel_frame(&mut self, key: FrameKey) -> FrameId {
        let name = key.kernel_address().and_then(|address| self.kernel.function(address));
        let Some(name) = name else { return self.made_up_frame(FrameKind::Leaf, KERNEL, 0) };
        let offset = self.kernel.offset(&name);
        let module = self.module(KERNEL.as_bytes(), &[], None);
        let id = self.intern(Frame { kind: FrameKind::Leaf, module: Some(module), offset });
        if !self.generated.sites.contains_key(&id) {
            let name = self.string(&format!("{KERNEL} {name}"));
            let function = FunctionId::from_index(self.profile.functions.len());
            self.profile.functions.push(Function { name, module, file: None, line: 0 });
            self.generated.sites.insert(id, Site { function, file: None, line: 0 });
        }
        id
    }

    /// Says where the names of the kernel's functions came from, or why there are none.
    pub(super) fn finish_kernel(&mut self) {
        let symbols = match self.kernel.symbols.take() {
            None => return,
            Some(Ok(_)) => SymbolSource::SymbolTable(self.string(FILE)),
            Some(Err(why)) => {
                let warning = format!("functions of the kernel's have no names: {why}");
                self.profile.run.warnings.push(warning);
                SymbolSource::Unreadable(self.string(&why))
            }
        };
        let module = self.module(KERNEL.as_bytes(), &[], None);
        self.profile.modules[module.index()].symbols = symbols;
    }
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
