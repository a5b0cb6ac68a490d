//! Names for functions that the loader chooses at run time: `memcpy`.
//!
//! The C library has `memcpy` several times, for several processors. The symbol `memcpy` is of type
//! `STT_GNU_IFUNC`: it names a resolver, which the loader calls to learn which of the copies to use
//! (System V ABI, gABI supplement of GNU, `ifunc`). The copies are local functions, so in a
//! stripped library they have no name at all, although much time is spent in them. But whoever
//! called one of them asked for it by name, and the call is on the stack:
//!
//! ```text
//!   samples   main ── return address 0x1182 ──► libc.so.6+0x1598c0       a copy without a name
//!   program   0x117d: e8 ae fe ff ff            call 0x1030
//!             0x1030: ff 25 ca 2f 00 00         jmp *0x4000(%rip)        a stub: slot 0x4000
//!             JUMP_SLOT 0x4000 memcpy                                    a relocation
//!   library   memcpy  IFUNC                                              so the copy is memcpy
//! ```
//!
//! Invariant: only a function without a name gets one this way, and only that of an `STT_GNU_IFUNC`
//! of its own module. What is called by another name may have ended in a jump to the function that
//! was sampled (a tail call); a resolver's choice is reached directly. Copies may share code:
//! `memcpy` and `memmove` are one function on most processors. It then has the name by which most
//! of its samples were called. `__memcpy_chk`, which compilers call where they know a size to
//! check, counts as `memcpy`.

use std::collections::{BTreeMap, BTreeSet};

use object::LittleEndian;
use object::elf;

use super::elf::Elf;
use super::plt::Callee;
use super::symbol_table::SymbolTable;

/// The functions of a module that are chosen at run time.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    names: BTreeSet<String>,
    /// The best of their names, by the address of the resolver.
    by_resolver: BTreeMap<u64, String>,
}

impl Chosen {
    /// Reads what a module's own file exports; `table` has its functions.
    pub(super) fn read(elf: &Elf<'_>, table: &SymbolTable<'_>) -> Self {
        let mut chosen = Self::default();
        let Ok(symbols) = elf.dynamic_symbols() else { return chosen };
        for symbol in symbols.symbols {
            let defined = symbol.st_shndx.get(LittleEndian) != elf::SHN_UNDEF;
            if symbol.st_type() != elf::STT_GNU_IFUNC || !defined {
                continue;
            }
            let text = |name| String::from_utf8_lossy(name).into_owned();
            chosen.names.extend(symbols.name(symbol).map(text));
            let resolver = symbol.st_value.get(LittleEndian);
            let best = table.find(resolver).filter(|function| function.start == resolver);
            if let Some(best) = best {
                chosen.by_resolver.insert(resolver, text(best.name));
            }
        }
        chosen
    }

    /// Whether no function is chosen at run time.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of what was called; `None` if it is not chosen at run time. `inside` tells whether
    /// the call is in this module.
    pub(super) fn name(&self, callee: Callee<'_>, inside: bool) -> Option<&str> {
        let called = match callee {
            Callee::Symbol(name) => self.names.get(std::str::from_utf8(name).ok()?)?,
            Callee::Resolver(address) if inside => self.by_resolver.get(&address)?,
            Callee::Resolver(_) => return None,
        };
        let unchecked = called.strip_prefix("__").and_then(|name| name.strip_suffix("_chk"));
        Some(unchecked.and_then(|name| self.names.get(name)).unwrap_or(called))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_chosen_at_run_time_count() {
        let chosen = Chosen {
            names: ["memcpy", "__memcpy_chk", "__strlen_chk"].map(str::to_owned).into(),
            by_resolver: BTreeMap::from([(0x9be70, "memcpy".to_owned())]),
        };
        let name = |callee| chosen.name(callee, true);
        assert_eq!(name(Callee::Symbol(b"memcpy")), Some("memcpy"));
        assert_eq!(name(Callee::Symbol(b"__memcpy_chk")), Some("memcpy"));
        assert_eq!(name(Callee::Symbol(b"__strlen_chk")), Some("__strlen_chk"));
        assert_eq!(name(Callee::Symbol(b"qsort")), None);
        assert_eq!(name(Callee::Resolver(0x9be70)), Some("memcpy"));
        assert_eq!(name(Callee::Resolver(0x9be71)), None);
        // An address means something in its own module only.
        assert_eq!(chosen.name(Callee::Resolver(0x9be70), false), None);
    }
}
