//! Names for functions by what calls them: those that the loader chooses at run time (`memcpy`),
//! and those with several names.
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
//! Invariant: what is called by another name may have ended in a jump to the function that was
//! sampled (a tail call), so a function gets only a name that is known to lead to it: one without a
//! name that of an `STT_GNU_IFUNC` of its own module, because a resolver's choice is reached
//! directly. Copies may share code: `memcpy` and `memmove` are one function on most processors. It
//! then has the name by which more than two thirds of its samples were called, or else the best of
//! them by rank. `__memcpy_chk`, which compilers call where they know a size to check, counts as
//! `memcpy`.
//!
//! Two more kinds of functions are named by their callers:
//!
//! - One that is exported under several names (`strtol` is `strtoll` too) is called what more than
//!   two thirds of its samples were called by, where headers have made `open64` of `open`, `open`.
//! - A copy with a name of its own, as debug symbols have it, is `tan [clone __tan_fma]`: what
//!   stands in those brackets can be left out of a pattern. It is known by its name, `__tan_fma`,
//!   which begins with that of an `STT_GNU_IFUNC`; where no call is known, that is its function.

use std::collections::{BTreeMap, BTreeSet};

use object::LittleEndian;
use object::elf;

use super::elf::Elf;
use super::plt::Callee;
use super::symbol_table::{self, Function, SymbolTable};

/// What callers may call the functions of a module.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// The names of functions that are chosen at run time.
    names: BTreeSet<String>,
    /// The best of their names, by the address of the resolver.
    by_resolver: BTreeMap<u64, String>,
    /// The names of each other wanted function that is exported by more than one, by its address.
    exported: BTreeMap<u64, BTreeSet<String>>,
}

/// How the calls to a function can name it; see the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Callable {
    /// It has no name. If it was chosen at run time, calls have one.
    Nameless,
    /// Others may call it by each of these names.
    Aliases(BTreeSet<String>),
    /// It has a name of its own, and looks like a copy for some processors of this function.
    CopyOf(String),
}

/// What the words begin with by which glibc and others tell copies for processors apart.
const COPY_WORDS: [&str; 15] = [
    "avx",
    "evex",
    "sse",
    "ssse",
    "erms",
    "generic",
    "fma",
    "unaligned",
    "aligned",
    "rtm",
    "c",
    "no",
    "power",
    "x86",
    "bmi",
];

impl Chosen {
    /// Reads what a module's own file exports; `table` has its functions. Of those that are not
    /// chosen at run time, only what begins at one of the `wanted` addresses counts: a large
    /// library exports a hundred thousand of them, and a profile has samples in a few.
    pub(super) fn read(elf: &Elf<'_>, table: &SymbolTable<'_>, wanted: &BTreeSet<u64>) -> Self {
        let mut chosen = Self::default();
        let Ok(symbols) = elf.dynamic_symbols() else { return chosen };
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let mut starts = BTreeMap::<u64, Vec<&[u8]>>::new();
        for symbol in symbols.symbols {
            let defined = symbol.st_shndx.get(LittleEndian) != elf::SHN_UNDEF;
            let is_function = matches!(symbol.st_type(), elf::STT_GNU_IFUNC | elf::STT_FUNC);
            if !is_function || !defined {
                continue;
            }
            let start = symbol.st_value.get(LittleEndian);
            let is_chosen = symbol.st_type() == elf::STT_GNU_IFUNC;
            if !is_chosen && !wanted.contains(&start) {
                continue;
            }
            let Some(name) = symbols.name(symbol) else { continue };
            if !is_chosen {
                starts.entry(start).or_default().push(name);
                continue;
            }
            chosen.names.insert(text(name));
            let best = table.find(start).filter(|function| function.start == start);
            if let Some(best) = best {
                chosen.by_resolver.insert(start, text(best.name));
            }
        }
        starts.retain(|_, names| names.iter().any(|name| *name != names[0]));
        let of_text = |names: Vec<&[u8]>| names.into_iter().map(text).collect();
        chosen.exported = starts.into_iter().map(|(at, names)| (at, of_text(names))).collect();
        chosen
    }

    /// How calls can name a function with this symbol; `None` if only the symbol can.
    pub(super) fn callable(&self, function: &Function<'_>) -> Option<Callable> {
        if let Some(names) = self.exported.get(&function.start) {
            return Some(Callable::Aliases(names.clone()));
        }
        if !function.local {
            return None;
        }
        let name = std::str::from_utf8(function.name).ok()?.trim_start_matches('_');
        // `hash_table_resize` is no copy of `hash`.
        let names_copy = |end: usize| {
            let mut words = name[end + 1..].split('_');
            words.all(|word| COPY_WORDS.iter().any(|known| word.starts_with(known)))
        };
        let mut ends = name.match_indices('_').map(|(end, _)| end);
        let of = ends.rfind(|&end| self.names.contains(&name[..end]) && names_copy(end))?;
        Some(Callable::CopyOf(name[..of].to_owned()))
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

impl Callable {
    /// How the calls to a function can name it that has two symbols, such as two versions of one
    /// name.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Aliases(mut names), Self::Aliases(more)) => {
                names.extend(more);
                Self::Aliases(names)
            }
            (Self::Aliases(names), _) | (_, Self::Aliases(names)) => Self::Aliases(names),
            (first, _) => first,
        }
    }

    /// The name of what was called, for a function of a module that may be called like that.
    pub(super) fn name<'a>(
        &'a self,
        chosen: &'a Chosen,
        callee: Callee<'_>,
        inside: bool,
    ) -> Option<&'a str> {
        let Self::Aliases(names) = self else { return chosen.name(callee, inside) };
        let Callee::Symbol(name) = callee else { return None };
        let called = names.get(std::str::from_utf8(name).ok()?)?;
        // What headers make of a name that the program's author wrote.
        let standard = ["__isoc99_", "__isoc23_"].into_iter().find_map(|c| called.strip_prefix(c));
        let plain = symbol_table::plain_of(name).and_then(|name| String::from_utf8(name).ok());
        let written = standard.or(plain.as_deref()).and_then(|name| names.get(name));
        Some(written.unwrap_or(called))
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
            exported: BTreeMap::new(),
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

    #[test]
    fn a_function_may_be_called_by_each_of_its_names() {
        let names = ["strtol", "strtoll", "__isoc23_strtol", "open", "open64"].map(str::to_owned);
        let (aliases, chosen) = (Callable::Aliases(names.into()), Chosen::default());
        for (called, name) in [
            ("strtoll", Some("strtoll")),
            ("__isoc23_strtol", Some("strtol")),
            ("open64", Some("open")),
            ("close", None),
        ] {
            let callee = Callee::Symbol(called.as_bytes());
            assert_eq!(aliases.name(&chosen, callee, false), name, "{called}");
        }
    }

    #[test]
    fn a_function_with_two_symbols_may_be_called_by_the_names_of_both() {
        let aliases = |names: [&str; 2]| Callable::Aliases(names.map(str::to_owned).into());
        let both = aliases(["f", "g"]).or(aliases(["f", "h"]));
        assert_eq!(both, Callable::Aliases(["f", "g", "h"].map(str::to_owned).into()));
        let copy = || Callable::CopyOf("f".to_owned());
        assert_eq!(copy().or(aliases(["f", "g"])), aliases(["f", "g"]));
        assert_eq!(aliases(["f", "g"]).or(copy()), aliases(["f", "g"]));
        assert_eq!(copy().or(copy()), copy());
    }

    #[test]
    fn copies_for_processors_are_known_by_their_names() {
        let chosen = Chosen {
            names: ["strcasecmp", "strcasecmp_l", "tan"].map(str::to_owned).into(),
            exported: BTreeMap::from([(8, ["f", "g"].map(str::to_owned).into())]),
            ..Chosen::default()
        };
        let callable = |name: &'static str, start, local| {
            let range = start..start + 1;
            let name = name.as_bytes();
            chosen.callable(&Function { range, start, name, guessed: false, local })
        };
        let copy_of = |name: &str| Some(Callable::CopyOf(name.to_owned()));
        assert_eq!(callable("__tan_fma", 0, true), copy_of("tan"));
        assert_eq!(callable("__strcasecmp_avx2", 0, true), copy_of("strcasecmp"));
        assert_eq!(callable("__strcasecmp_l_avx2", 0, true), copy_of("strcasecmp_l"));
        assert_eq!(callable("__tan_fma", 0, false), None);
        assert_eq!(callable("__tanh_fma", 0, true), None);
        assert_eq!(callable("tan", 0, true), None);
        let aliases = Callable::Aliases(["f", "g"].map(str::to_owned).into());
        assert_eq!(callable("f", 8, false), Some(aliases));
    }
}
