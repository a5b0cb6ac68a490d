//! Functions with several names: which of them a profile shows.
//!
//! The C library has `memcpy` several times, for several processors. The symbol `memcpy` is of type
//! `STT_GNU_IFUNC`: it names a resolver, which the loader calls to learn which of the copies to use
//! (System V ABI, gABI supplement of GNU, `ifunc`). The copies are local functions, so in a
//! stripped library they have no name at all, although much time is spent in them. But the
//! resolver's instructions [load](crate::structure::returned) each copy that it may return, and two
//! resolvers may return one:
//!
//! ```text
//!   library   memcpy   IFUNC 0x9be70     0x9beb2: lea 0x15b4c0(%rip),%rdx     one of its copies
//!             memmove  IFUNC 0x9c590     0x9c5d2: lea 0x15b4c0(%rip),%rdx     the same one
//!   program   undefined: memcpy, memmove        so 0x15b4c0 is `memcpy [also memmove]`
//! ```
//!
//! Invariant: the name depends on the files of the run alone, never on which calls were sampled, or
//! two runs of a program would have functions that the other has not. Of the names of a function
//! those count that any module of the profile [imports](super::imports), or that are called inside
//! the function's own module, by a resolver. The best of them by [rank](symbol_table::Rank) is the
//! function's, and the others follow in `[also …]`; if none counts, it is the best of all.
//! `__memcpy_chk`, which compilers call where they know a size to check, counts as `memcpy`.
//!
//! | function | its names | shown |
//! |---|---|---|
//! | exported under several names | all of them; of `open64` and `open`, `open` | `strtol [also strtoll]` |
//! | a copy with a symbol of its own | those of its resolvers | `tan [clone __tan_fma]` |
//! | a copy without | the same | `memcpy [also memmove]` |
//! | without a name, and no resolver names it | those of [calls](super::calls) on the stack | `memcpy` |
//!
//! Only for the last does it matter what was sampled. It gets no other name than one of an
//! `STT_GNU_IFUNC` of its own module, because a resolver's choice is reached directly: what is
//! called by another name may have ended in a jump to the function that was sampled.

use std::collections::{BTreeMap, BTreeSet};

use object::LittleEndian;
use object::elf;
use serde::{Deserialize, Serialize};

use super::demangle::demangle;
use super::elf::Elf;
use super::plt::{Callee, Slots};
use super::symbol_table::{self, Function, Rank, SymbolTable};
use crate::profile::{CloneMarks, marked};
use crate::structure::returned;

/// Bytes of a resolver that are looked at: it compares some numbers.
const LARGEST_RESOLVER: u64 = 16 << 10;

/// Bytes of all resolvers of a module; in a damaged file they may overlap.
const RESOLVERS: u64 = 4 << 20;

/// Names of one function that are compared with what is imported, those that are shown, and bytes
/// of each. In the C library a function has a dozen at most.
const MOST_NAMES: usize = 1 << 10;
const MOST_SHOWN: usize = 32;
const LONGEST_NAME: usize = 1 << 10;

/// The functions of a module that are chosen at run time.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// Their names.
    names: BTreeSet<String>,
    /// Those of one resolver by its address, best first.
    by_resolver: BTreeMap<u64, Vec<(Rank, String)>>,
    /// Sizes of resolvers in bytes, by address.
    sizes: BTreeMap<u64, u64>,
    /// What is called inside the module by their resolvers.
    called_inside: BTreeSet<String>,
}

impl Chosen {
    /// Reads the symbols of a module, and through which slots its own file calls resolvers.
    pub(super) fn read(table: &SymbolTable<'_>, slots: &Slots<'_>) -> Self {
        let mut chosen = Self::default();
        for symbols in table.tables() {
            for (index, symbol) in symbols.symbols.iter().enumerate() {
                let is_defined = symbol.st_shndx.get(LittleEndian) != elf::SHN_UNDEF;
                if symbol.st_type() != elf::STT_GNU_IFUNC || !is_defined {
                    continue;
                }
                let named = symbol_table::ranked(index, symbols);
                let named = named.filter(|(name, _)| name.len() <= LONGEST_NAME);
                let Some((name, rank)) = named else { continue };
                let (start, size) =
                    (symbol.st_value.get(LittleEndian), symbol.st_size.get(LittleEndian));
                let name = String::from_utf8_lossy(name).into_owned();
                chosen.names.insert(name.clone());
                // Versions order the aliases of one function; resolvers are several.
                let rank = rank.without_version();
                chosen.by_resolver.entry(start).or_default().push((rank, name));
                let known = chosen.sizes.entry(start).or_default();
                *known = size.max(*known);
            }
        }
        chosen.by_resolver.values_mut().for_each(best_first);
        let called = slots.resolvers().filter_map(|resolver| chosen.of_resolver(resolver));
        chosen.called_inside = called.map(str::to_owned).collect();
        chosen
    }

    /// Whether no function is chosen at run time.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the module itself calls a function by this name, through its resolver.
    pub(super) fn is_called_inside(&self, name: &str) -> bool {
        self.called_inside.contains(name)
    }

    /// The name of what was called; `None` if it is not chosen at run time. `inside` tells whether
    /// the call is in this module.
    pub(super) fn name(&self, callee: Callee<'_>, inside: bool) -> Option<&str> {
        match callee {
            Callee::Symbol(name) => {
                let name = self.names.get(std::str::from_utf8(name).ok()?)?;
                Some(self.unchecked(name))
            }
            Callee::Resolver(address) if inside => self.of_resolver(address),
            Callee::Resolver(_) => None,
        }
    }

    fn of_resolver(&self, address: u64) -> Option<&str> {
        let (_, name) = self.by_resolver.get(&address)?.first()?;
        Some(self.unchecked(name))
    }

    /// The function of which another one checks the size.
    fn unchecked<'n>(&'n self, name: &'n str) -> &'n str {
        let plain = name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk"));
        plain.and_then(|plain| self.names.get(plain)).map_or(name, String::as_str)
    }
}

/// The name of a function that checks the size of what another one is given.
pub(super) fn with_check(name: &str) -> String {
    format!("__{name}_chk")
}

/// Brings names in order; those that a damaged file has too many of are left out.
fn best_first(names: &mut Vec<(Rank, String)>) {
    names.sort_unstable();
    names.dedup_by(|later, before| later.1 == before.1);
    names.truncate(MOST_NAMES);
}

/// A function with several names, or with one that is not that of its symbol; each best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Callable {
    /// It has no name. If it was chosen at run time, calls have one.
    Nameless,
    /// It has no symbol, and is chosen by the resolvers of these.
    Chosen(Vec<String>),
    /// The same with a symbol of its own.
    Copy(Vec<String>),
    /// It is exported by each of these.
    Aliases(Vec<String>),
}

/// Which functions of a module have several names.
#[derive(Debug)]
pub(super) struct Callables<'c> {
    chosen: &'c Chosen,
    /// The resolvers that may return a function, by its address.
    copies: BTreeMap<u64, BTreeSet<u64>>,
    /// The names of each wanted function that is exported by more than one, by its address.
    exported: BTreeMap<u64, Vec<String>>,
}

impl<'c> Callables<'c> {
    /// Reads what a module's own file exports, and its resolvers. Of functions that are not chosen
    /// at run time, only those count that begin at one of the `wanted` addresses: a large library
    /// exports a hundred thousand of them, and a profile has samples in a few.
    pub(super) fn read(elf: &Elf<'_>, chosen: &'c Chosen, wanted: &BTreeSet<u64>) -> Self {
        let mut copies = BTreeMap::<u64, BTreeSet<u64>>::new();
        let mut rest = RESOLVERS;
        for (&resolver, &size) in &chosen.sizes {
            let size = size.min(LARGEST_RESOLVER);
            let Some(left) = rest.checked_sub(size) else { continue };
            rest = left;
            let code = elf.code_at(resolver..resolver.saturating_add(size));
            for copy in returned(resolver, code.unwrap_or_default(), elf.is_fixed()) {
                copies.entry(copy).or_default().insert(resolver);
            }
        }
        let mut starts = BTreeMap::<u64, Vec<(Rank, String)>>::new();
        if let Ok(symbols) = elf.dynamic_symbols() {
            for (index, symbol) in symbols.symbols.iter().enumerate() {
                let is_defined = symbol.st_shndx.get(LittleEndian) != elf::SHN_UNDEF;
                if symbol.st_type() != elf::STT_FUNC || !is_defined {
                    continue;
                }
                let start = symbol.st_value.get(LittleEndian);
                // Others call it by its own name.
                copies.remove(&start);
                if !wanted.contains(&start) {
                    continue;
                }
                let named = symbol_table::ranked(index, &symbols);
                let named = named.filter(|(name, _)| name.len() <= LONGEST_NAME);
                let Some((name, rank)) = named else { continue };
                let name = String::from_utf8_lossy(name).into_owned();
                starts.entry(start).or_default().push((rank, name));
            }
        }
        starts.values_mut().for_each(best_first);
        starts.retain(|_, names| names.len() > 1);
        let texts = |names: Vec<(Rank, String)>| names.into_iter().map(|(_, name)| name).collect();
        let exported = starts.into_iter().map(|(at, names)| (at, texts(names))).collect();
        Self { chosen, copies, exported }
    }

    /// What a function with this symbol may be called; `None` if only that.
    pub(super) fn with_symbol(&self, function: &Function<'_>) -> Option<Callable> {
        if let Some(names) = self.exported.get(&function.start) {
            return Some(Callable::Aliases(names.clone()));
        }
        let names = self.names_of_copy(function.start)?;
        // `work.avx2` says whose copy it is.
        let own = str::from_utf8(function.name).ok()?;
        let whole = |name: &str| CloneMarks::of(name).first.unwrap_or(name.len());
        let is_marked = names.iter().any(|name| name[..whole(name)] == own[..whole(own)]);
        (!is_marked).then_some(Callable::Copy(names))
    }

    /// What a function without a symbol that begins here may be called.
    pub(super) fn without_symbol(&self, start: u64) -> Callable {
        self.names_of_copy(start).map_or(Callable::Nameless, Callable::Chosen)
    }

    fn names_of_copy(&self, start: u64) -> Option<Vec<String>> {
        let chosen = self.chosen;
        let resolvers = self.copies.get(&start)?;
        let names = resolvers.iter().filter_map(|at| chosen.by_resolver.get(at)).flatten();
        let mut names: Vec<(Rank, String)> =
            names.map(|(rank, name)| (*rank, chosen.unchecked(name).to_owned())).collect();
        names.sort_unstable();
        let mut seen = BTreeSet::new();
        let names = names.into_iter().map(|(_, name)| name);
        let names: Vec<String> =
            names.filter(|name| seen.insert(name.clone())).take(MOST_NAMES).collect();
        (!names.is_empty()).then_some(names)
    }
}

impl Callable {
    /// All names.
    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::Nameless => &[],
            Self::Chosen(names) | Self::Copy(names) | Self::Aliases(names) => names,
        }
    }

    /// What to show instead of its `own` name, if anything: the best of its names that count,
    /// which are imported or called inside.
    pub(super) fn shown(&self, own: &str, counts: impl Fn(&str) -> bool) -> Option<String> {
        let names = self.names();
        let best = names.first()?;
        let written = names.iter().filter(|name| counts(name)).map(|name| written(name, names));
        // Programs call `__strdup` where an old header made that of `strdup`.
        let written: BTreeSet<usize> =
            written.filter(|&name| reserved(&names[name]) <= reserved(best)).collect();
        let mut called = written.into_iter().map(|name| demangle(&names[name]));
        let first = match (called.next(), self) {
            (None, Self::Aliases(_)) => return None,
            (first, _) => first.unwrap_or_else(|| demangle(best)),
        };
        // Constructors of C++ have several symbols.
        let mut seen = BTreeSet::from([first.clone()]);
        let others = called.filter(|name| seen.insert(name.clone())).take(MOST_SHOWN - 1);
        let own = matches!(self, Self::Copy(_)).then_some(own);
        Some(marked(&first, &others.collect::<Vec<_>>(), own))
    }
}

/// Of which of the `names` a header makes this one, by number: which the program's author wrote.
fn written(name: &str, names: &[String]) -> usize {
    let standard = ["__isoc99_", "__isoc23_"].into_iter().find_map(|c| name.strip_prefix(c));
    let plain = symbol_table::plain_of(name.as_bytes());
    let plain = plain.and_then(|name| String::from_utf8(name).ok());
    let position = |wanted: &str| names.iter().position(|name| name == wanted);
    standard.or(plain.as_deref()).and_then(position).or_else(|| position(name)).unwrap_or(0)
}

/// How many underscores a name begins with.
pub(super) fn reserved(name: &str) -> usize {
    name.bytes().take_while(|&byte| byte == b'_').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn only_names_that_are_chosen_at_run_time_count_on_the_stack() {
        let memcpy = (Rank::default(), "memcpy".to_owned());
        let chosen = Chosen {
            names: ["memcpy", "__memcpy_chk", "__strlen_chk"].map(str::to_owned).into(),
            by_resolver: BTreeMap::from([(0x9be70, vec![memcpy])]),
            ..Chosen::default()
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
    fn of_the_names_that_are_called_the_best_is_shown_and_the_others_behind_it() {
        let names = ["strtol", "strtoll", "__isoc23_strtol", "__strtol_internal"];
        let aliases = Callable::Aliases(texts(&names));
        let open = Callable::Aliases(texts(&["open", "open64"]));
        let copy = Callable::Copy(texts(&["memcpy", "memmove"]));
        let nameless = Callable::Chosen(texts(&["memcpy", "memmove"]));
        for (callable, called, shown) in [
            (&aliases, &["strtoll"][..], Some("strtoll")),
            (&aliases, &["__isoc23_strtol"], Some("strtol")),
            (&aliases, &["strtoll", "__isoc23_strtol", "strtol"], Some("strtol [also strtoll]")),
            (&aliases, &["strtoll", "__strtol_internal"], Some("strtoll")),
            (&aliases, &["__strtol_internal"], None),
            (&aliases, &[], None),
            (&open, &["open64"], Some("open")),
            (&open, &["open64", "open"], Some("open")),
            (&copy, &["memmove"], Some("memmove [clone own]")),
            (&copy, &["memmove", "memcpy"], Some("memcpy [also memmove] [clone own]")),
            (&copy, &[], Some("memcpy [clone own]")),
            (&nameless, &["memmove"], Some("memmove")),
            (&nameless, &["memmove", "memcpy"], Some("memcpy [also memmove]")),
            (&nameless, &[], Some("memcpy")),
            (&Callable::Nameless, &["memcpy"], None),
        ] {
            let found = callable.shown("own", |name| called.contains(&name));
            assert_eq!(found.as_deref(), shown, "{callable:?} {called:?}");
        }
    }

    #[test]
    fn copies_are_those_that_resolvers_name() {
        let chosen = Chosen {
            names: ["memcpy", "__memcpy_chk", "memmove", "work", "run.ifunc"]
                .map(str::to_owned)
                .into(),
            by_resolver: [(1, "memmove"), (2, "memcpy"), (3, "__memcpy_chk"), (4, "work")]
                .into_iter()
                .chain([(5, "run.ifunc")])
                .map(|(at, name)| (at, vec![(Rank::default(), name.to_owned())]))
                .collect(),
            ..Chosen::default()
        };
        let copies = [(10, &[1, 2, 3][..]), (20, &[4]), (30, &[5]), (40, &[6])];
        let callables = Callables {
            chosen: &chosen,
            copies: copies.map(|(at, of)| (at, of.iter().copied().collect())).into(),
            exported: BTreeMap::from([(50, texts(&["f", "g"]))]),
        };
        let with = |name: &'static str, start: u64| {
            let (range, name) = (start..start + 1, name.as_bytes());
            callables.with_symbol(&Function { range, start, name, guessed: false, local: true })
        };
        let both = || texts(&["memcpy", "memmove"]);
        assert_eq!(with("__memcpy_avx2", 10), Some(Callable::Copy(both())));
        assert_eq!(callables.without_symbol(10), Callable::Chosen(both()));
        assert_eq!(with("fast", 20), Some(Callable::Copy(texts(&["work"]))));
        assert_eq!(with("work.avx2.1", 20), None, "it says whose copy it is");
        assert_eq!(with("run.arch_x86-64-v3.0", 30), None);
        assert_eq!(with("tanh_fma", 40), None, "whatever it is called");
        assert_eq!(callables.without_symbol(60), Callable::Nameless);
        assert_eq!(with("f", 50), Some(Callable::Aliases(texts(&["f", "g"]))));
    }
}
