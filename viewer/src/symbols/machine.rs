//! The functions of a module's own file, as [`structure`](crate::structure) looks at them.
//!
//! A function is what has an entry in the call frame information, or a symbol with a size where
//! there is none. What compilers split off for being seldom run (`name.cold`) is a part of the
//! function that jumps there, as is what a jump leads to elsewhere than at its beginning. A call
//! that never returns ends its block: of a function of the runtime in another module by name, of
//! one of this module if no instruction of it returns.
//!
//! The parts of a function are decoded as they become known ([`Draft`]), and its graph is made of
//! all of them; before that only if jumps through tables may lead to more. With what was read for
//! loops the search for tail calls [goes on](ReadFunctions): it is kept until that is done, within
//! the [limit](MEMORY) that each module has for both.

use core::cell::{Cell, OnceCell, RefCell};
use core::fmt::Write as _;
use core::ops::Range;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use object::LittleEndian;
use object::elf::SHN_UNDEF;

use crate::structure::{
    Draft, Function, LandingPad, Memory, Structure, Target, landing_pads, may_return,
};

use super::elf::{Elf, Section};
use super::extent::Extents;
use super::plt::{self, Callee, Slots, Stub};
use super::symbol_table::SymbolTable;

/// Bytes of functions of one module that are decoded, once for each function that they are part of
/// or may be. In a damaged file functions may overlap.
const EFFORT: u64 = 512 << 20;

/// Bytes of memory that the structures of one module may take: those of loops are kept for what
/// looks for tail calls, and count there too.
const MEMORY: usize = 512 << 20;

/// Bytes of functions of one module that are looked at to learn whether they return.
const RETURN_EFFORT: u64 = 16 << 20;

/// Largest function that is looked at for that, in bytes. Those that never return are small.
const LARGEST_ENDING: u64 = 4 << 10;

/// What each of these counts at least: one of a byte takes as long.
const LEAST_ENDING: u64 = 64;

/// Functions that are followed for that, each of which ends with a jump to the next.
const MOST_JUMPS: u32 = 64;

/// Marks of compilers behind a name that are looked at.
const MOST_MARKS: usize = 16;

/// Parts of one function that were split off.
const MOST_PARTS: usize = 16;

impl Memory for Elf<'_> {
    fn code(&self, addresses: Range<u64>) -> Option<&[u8]> {
        self.code_at(addresses)
    }

    fn data(&self, addresses: Range<u64>) -> Option<&[u8]> {
        self.data_at(addresses)
    }

    fn named_in(&self, addresses: Range<u64>) -> Option<u64> {
        self.named_in(addresses)
    }
}

/// What was found by reading a function from one of its parts.
#[derive(Clone, Debug)]
struct Found {
    /// Where it begins.
    entry: u64,
    structure: Option<Arc<Structure>>,
}

/// What was read of the functions of a module, for who else asks for them.
#[derive(Debug, Default)]
pub(super) struct ReadFunctions {
    /// By the first address of the part that was read.
    structures: HashMap<u64, Found>,
    may_return: HashMap<u64, bool>,
    /// Bytes of memory that the structures take.
    memory: usize,
}

/// The machine code of a module.
pub(super) struct Machine<'m, 'data> {
    pub(super) elf: &'m Elf<'data>,
    pub(super) table: &'m SymbolTable<'data>,
    pub(super) extents: &'m Extents<'data>,
    pub(super) slots: &'m Slots<'data>,
    pub(super) stubs: &'m [Stub<'data>],
    exceptions: Option<Section<'data>>,
    read: RefCell<ReadFunctions>,
    /// Whether what is called by a name never returns.
    ending: NameMemo<bool>,
    /// Names that the module defines for others.
    defined: OnceCell<HashSet<&'data [u8]>>,
    effort: Cell<u64>,
    is_exhausted: Cell<bool>,
    return_effort: Cell<u64>,
}

impl<'m, 'data> Machine<'m, 'data> {
    /// The code of a file, of which all this was read, and these of its functions.
    pub(super) fn new(
        elf: &'m Elf<'data>,
        table: &'m SymbolTable<'data>,
        extents: &'m Extents<'data>,
        slots: &'m Slots<'data>,
        stubs: &'m [Stub<'data>],
        read: ReadFunctions,
    ) -> Self {
        Self {
            elf,
            table,
            extents,
            slots,
            stubs,
            exceptions: elf.section(".gcc_except_table").ok().flatten(),
            read: RefCell::new(read),
            ending: NameMemo::default(),
            defined: OnceCell::new(),
            effort: Cell::new(EFFORT),
            is_exhausted: Cell::new(false),
            return_effort: Cell::new(RETURN_EFFORT),
        }
    }

    /// What was read of its functions; nothing if a limit left some out.
    pub(super) fn into_read(self) -> ReadFunctions {
        if self.is_exhausted() { ReadFunctions::default() } else { self.read.into_inner() }
    }

    #[cfg(test)]
    pub(super) fn has_decoded(&self) -> bool {
        self.effort.get() < EFFORT
    }

    /// The addresses of the function, or of the split-off part, that holds an address.
    pub(super) fn extent(&self, address: u64) -> Option<Range<u64>> {
        if let Some(extent) = self.extents.find(address) {
            return Some(extent.range);
        }
        let symbol = self.table.find(address).filter(|symbol| !symbol.guessed)?;
        Some(symbol.range.clone())
    }

    /// Whether something was left out: because of a limit for a whole module, so that what is told
    /// of one function depends on which others were asked for, or because a function is too large.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    fn or_exhausted<T>(&self, rest: Option<T>) -> Option<T> {
        if rest.is_none() {
            self.is_exhausted.set(true);
        }
        rest
    }

    /// The structure of the function that holds an address; `None` if there is none, or too much.
    pub(super) fn structure_at(&self, address: u64) -> Option<Arc<Structure>> {
        self.look_up(address)?.structure
    }

    /// Where the function begins that holds an address, which may lie in a split-off part.
    pub(super) fn function_at(&self, address: u64) -> Option<u64> {
        Some(self.look_up(address)?.entry)
    }

    /// Reads the function of which this is a part, once: from the part itself, so that of several
    /// functions that share it the same one has it, whichever were asked for before.
    fn look_up(&self, address: u64) -> Option<Found> {
        let own = self.extent(address)?;
        if let Some(known) = self.read.borrow().structures.get(&own.start) {
            return Some(known.clone());
        }
        let (parts, structure) = self.read(&own);
        let known = &mut *self.read.borrow_mut();
        let structure = structure.filter(|structure| {
            let memory = known.memory.checked_add(structure.memory());
            let memory = self.or_exhausted(memory.filter(|&memory| memory <= MEMORY));
            memory.inspect(|&memory| known.memory = memory).is_some()
        });
        let entry = parts.first().map_or(own.start, |part| part.start);
        let found = Found { entry, structure: structure.map(Arc::new) };
        known.structures.insert(own.start, found.clone());
        Some(found)
    }

    /// Reads the function of which `own` is a part.
    fn read(&self, own: &Range<u64>) -> (Vec<Range<u64>>, Option<Structure>) {
        let mut draft = self.draft(None, core::slice::from_ref(own));
        let mut parts = vec![own.clone()];
        let is_split_off = self.is_split_off(own.start);
        for (to, range) in self.jumped_to(draft.as_mut()) {
            if range.start == to {
                continue;
            }
            let by_name = is_split_off && !self.is_split_off(range.start);
            // Linkers put seldom run code first.
            if by_name || own.start < range.start {
                let mut whole = self.draft(None, core::slice::from_ref(&range));
                if by_name || self.jumped_to(whole.as_mut()).any(|(_, part)| part == *own) {
                    (parts, draft) = (vec![range], whole);
                    break;
                }
            }
        }
        for (to, part) in self.jumped_to(draft.as_mut()) {
            let is_part = part.start != to || self.is_split_off(part.start) || part == *own;
            if is_part && !parts.contains(&part) && parts.len() < MOST_PARTS {
                parts.push(part);
            }
        }
        if parts.len() > 1 {
            draft = draft.and_then(|draft| self.draft(Some(draft), &parts));
        }
        let structure = draft.and_then(|draft| {
            let never_returns = |target| !self.may_return(target, MOST_JUMPS);
            let structure = Structure::of_draft(draft, &never_returns);
            self.or_exhausted(structure.ok())
        });
        (parts, structure)
    }

    /// Decodes a function; the first part is where it begins, and all that is known of it so far.
    fn draft(&self, known: Option<Draft<'m>>, parts: &[Range<u64>]) -> Option<Draft<'m>> {
        let new = parts.iter().skip(usize::from(known.is_some()));
        let size = new.map(|part| part.end - part.start).fold(0, u64::saturating_add);
        self.effort.set(self.or_exhausted(self.effort.get().checked_sub(size))?);
        let mut pads: Vec<LandingPad> = parts.iter().flat_map(|part| self.pads(part)).collect();
        pads.sort_unstable_by_key(|pad| pad.calls.start);
        let function = Function { parts, entry: parts.first()?.start, landing_pads: &pads };
        let draft = match known {
            Some(known) => known.with(&function),
            None => Draft::new(self.elf, &function),
        };
        self.or_exhausted(draft.ok())
    }

    /// Where direct jumps leave a function for, with the function or part there.
    fn jumped_to(
        &self,
        from: Option<&mut Draft<'m>>,
    ) -> impl Iterator<Item = (u64, Range<u64>)> + use<'_, 'm, 'data> {
        let never_returns = |target| !self.may_return(target, MOST_JUMPS);
        let targets = from.and_then(|from| self.or_exhausted(from.jumps_out(&never_returns).ok()));
        let is_stub = |to: &u64| plt::find(self.stubs, *to).is_some();
        let targets = targets.into_iter().flatten().filter(move |to| !is_stub(to));
        targets.filter_map(|to| Some((to, self.extent(to)?)))
    }

    /// Whether a function was split off from another one.
    pub(super) fn is_split_off(&self, start: u64) -> bool {
        let symbol = self.table.find(start).filter(|symbol| symbol.start == start);
        symbol.is_some_and(|symbol| is_cold(symbol.name))
    }

    fn pads(&self, part: &Range<u64>) -> Vec<LandingPad> {
        let lsda = self.extents.find(part.start).and_then(|extent| extent.lsda);
        let (Some(lsda), Some(section)) = (lsda, &self.exceptions) else { return Vec::new() };
        let offset = lsda.checked_sub(section.address).and_then(|at| usize::try_from(at).ok());
        let bytes = offset.and_then(|offset| section.bytes.get(offset..));
        bytes.map_or(Vec::new(), |bytes| landing_pads(bytes, lsda, part))
    }

    /// Where a target leads, past the stubs of the procedure linkage table: to code of this module
    /// or to what a slot is for.
    pub(super) fn callee(&self, target: Target) -> Option<Reached<'data>> {
        match target {
            Target::Code(address) => match plt::find(self.stubs, address) {
                Some(stub) => Some(Reached::Slot(stub.callee)),
                None => Some(Reached::Code(address)),
            },
            Target::Slot(slot) => self.slots.at(slot).map(Reached::Slot),
            Target::Unknown => None,
        }
    }

    /// Whether what is called may come back. What is not known may.
    fn may_return(&self, target: Target, jumps: u32) -> bool {
        let address = match self.callee(target) {
            Some(Reached::Slot(Callee::Symbol(name))) => {
                // Of a library's own functions the symbol may be called by any name too.
                return !self.ending.get(name, || never_returns(name) && !self.defines(name));
            }
            Some(Reached::Code(address)) => address,
            _ => return true,
        };
        if let Some(&known) = self.read.borrow().may_return.get(&address) {
            return known;
        }
        let Some(rest) = self.or_exhausted(jumps.checked_sub(1)) else { return true };
        let may_return = self.has_return(address, rest);
        self.read.borrow_mut().may_return.insert(address, may_return);
        may_return
    }

    /// Whether the module defines a symbol of this name for others.
    fn defines(&self, name: &[u8]) -> bool {
        let defined = self.defined.get_or_init(|| {
            let Ok(table) = self.elf.dynamic_symbols() else { return HashSet::new() };
            let symbols = table.symbols.iter();
            let defined = symbols.filter(|symbol| symbol.st_shndx.get(LittleEndian) != SHN_UNDEF);
            defined.filter_map(|symbol| table.name(symbol)).collect()
        });
        defined.contains(name)
    }

    fn has_return(&self, address: u64, jumps: u32) -> bool {
        let extent = self.extent(address).filter(|extent| extent.start == address);
        let Some(extent) = extent else { return true };
        let size = extent.end - extent.start;
        let effort = self.return_effort.get();
        if size > LARGEST_ENDING {
            return true;
        }
        let effort = effort.checked_sub(size.max(LEAST_ENDING));
        let Some(rest) = self.or_exhausted(effort) else { return true };
        self.return_effort.set(rest);
        // It is called again while this is being found out: then it may.
        self.read.borrow_mut().may_return.insert(address, true);
        let pads = self.pads(&extent);
        let function = Function { parts: &[extent], entry: address, landing_pads: &pads };
        may_return(self.elf, &function, &|target| !self.may_return(target, jumps)).unwrap_or(true)
    }
}

/// What is known of names by where they stand in a file: of a damaged one they may be long, and
/// many calls may have the same.
#[derive(Debug)]
pub(super) struct NameMemo<V>(RefCell<HashMap<(usize, usize), V>>);

impl<V> Default for NameMemo<V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<V: Copy> NameMemo<V> {
    /// What is known of a name of a file that stays where it is, or else what `find` tells, which
    /// asks nothing of this.
    pub(super) fn get(&self, name: &[u8], find: impl FnOnce() -> V) -> V {
        let place = (name.as_ptr().addr(), name.len());
        *self.0.borrow_mut().entry(place).or_insert_with(find)
    }
}

/// Where a call or a jump leads, past the stubs of the procedure linkage table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached<'data> {
    /// To the code at this address of the module.
    Code(u64),
    /// To what a slot is for.
    Slot(Callee<'data>),
}

/// Functions of the runtimes of C, C++, Rust and Fortran that are called for the last time, by the
/// names of their symbols. Names of other libraries say nothing: a program may give such a name to
/// a function of its own that returns.
const NEVER_RETURN: &[&str] = &[
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "pthread_exit",
    "thrd_exit",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__stack_chk_fail",
    "__stack_chk_fail_local",
    "__chk_fail",
    "__fortify_fail",
    "__libc_fatal",
    "_Unwind_Resume",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_throw_bad_array_new_length",
    "__cxa_call_unexpected",
    "__cxa_call_terminate",
    "__clang_call_terminate",
    "__cxa_pure_virtual",
    "_ZSt9terminatev",
    "_ZSt10unexpectedv",
    "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
    "rust_begin_unwind",
    "rust_panic",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_os_error",
    "_gfortran_os_error_at",
    "_gfortran_stop_numeric",
    "_gfortran_stop_string",
    "_gfortran_error_stop_numeric",
    "_gfortran_error_stop_string",
];

/// Paths that those of Rust begin with, of which there are many.
const NEVER_RETURN_RUST: &[&str] = &[
    "core::panicking::",
    "core::option::unwrap_failed",
    "core::option::expect_failed",
    "core::result::unwrap_failed",
    "core::cell::panic_already_borrowed",
    "core::cell::panic_already_mutably_borrowed",
    "core::slice::index::slice_",
    "core::slice::copy_from_slice_impl::len_mismatch_fail",
    "core::str::slice_error_fail",
    "alloc::alloc::handle_alloc_error",
    "alloc::raw_vec::capacity_overflow",
    "alloc::raw_vec::handle_error",
    "std::panicking::begin_panic",
    "std::process::abort",
    "std::process::exit",
];

/// Whether a function of this name never returns.
fn never_returns(name: &[u8]) -> bool {
    if NEVER_RETURN.iter().any(|never| never.as_bytes() == name) {
        return true;
    }
    let Ok(name) = str::from_utf8(name) else { return false };
    if let Some(path) = ["_ZSt", "_ZNSt3__1"].iter().find_map(|std| name.strip_prefix(std)) {
        // std::__throw_length_error(char const*) and others, of libstdc++ and libc++.
        let rest = path.trim_start_matches(|digit: char| digit.is_ascii_digit());
        return rest.len() < path.len() && rest.starts_with("__throw_");
    }
    let Ok(path) = rustc_demangle::try_demangle(name) else { return false };
    let mut beginning = Beginning(String::new());
    // It breaks off once there is enough.
    let _ = write!(beginning, "{path:#}");
    NEVER_RETURN_RUST.iter().any(|never| beginning.0.starts_with(never))
}

/// The beginning of a text, as long as the longest of [`NEVER_RETURN_RUST`] at least: a name of a
/// hundred bytes may stand for a megabyte.
struct Beginning(String);

impl core::fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.push_str(text);
        if self.0.len() < 256 { Ok(()) } else { Err(core::fmt::Error) }
    }
}

/// Whether a compiler gave a name to what it split off: `f.cold`, `f.isra.0.cold`, `f.cold.12`,
/// each perhaps with the number of a copy behind it. `camlM.cold_12` is a function of that name.
fn is_cold(name: &[u8]) -> bool {
    // Of a damaged file a name may have a hundred thousand.
    let mut parts = name.rsplit(|&byte| byte == b'.').take(MOST_MARKS);
    let is_number = |part: &&[u8]| part.iter().all(u8::is_ascii_digit);
    let last = parts.find(|part| !is_number(part) && *part != b"lto_priv");
    last == Some(b"cold") && parts.next().is_some_and(|whole| !whole.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls of one name hash nothing of it.
    #[test]
    fn names_are_known_by_where_they_stand() {
        let names = b"abort\0abort";
        let asked = Cell::new(0);
        let memo = NameMemo::default();
        let get = |name: &[u8]| {
            memo.get(name, || {
                asked.set(asked.get() + 1);
                never_returns(name)
            })
        };
        for _ in 0..1000 {
            assert_eq!([&names[..5], &names[6..], &names[..4]].map(get), [true, true, false]);
        }
        assert_eq!(asked.get(), 3);
    }

    #[test]
    fn what_was_split_off_is_known_by_the_end_of_its_name() {
        for name in
            ["f.cold", "f.isra.0.cold", "f.cold.12", "_ZN1a1bEv.part.0.cold", "f.cold.lto_priv.3"]
        {
            assert!(is_cold(name.as_bytes()), "{name}");
        }
        for name in [
            "cold",
            ".cold",
            "f.coldest",
            "camlM.cold_12",
            "f.cold.isra",
            "f.colder.cold_2",
            "cold.1",
        ] {
            assert!(!is_cold(name.as_bytes()), "{name}");
        }
        assert!(!is_cold(&[b"f.cold", &[b'.'; 1 << 18][..]].concat()));
    }

    #[test]
    fn functions_that_never_return_are_known_by_whole_names() {
        for name in [
            "abort",
            "_ZSt20__throw_length_errorPKc",
            "_ZSt28__throw_bad_array_new_lengthv",
            "_ZSt29__throw_bad_variant_access_xxPKc",
            "_ZNSt3__120__throw_length_errorB6v15007EPKc",
            "_ZN4core9panicking9panic_fmt17h0123456789abcdefE",
            "_RNvNtCs4fqI2P2rA04_4core9panicking5panic",
        ] {
            assert!(never_returns(name.as_bytes()), "{name}");
        }
        for name in [
            "aborted",
            "_ZSt7__throw",
            "_ZSt4sortv",
            "_ZSt__throw_x",
            "_ZN3app20__throw_length_errorEv",
            "_ZN3app4core9panicking5countEv",
            // <core::panicking::AssertKind as core::fmt::Debug>::fmt
            "_RNvXs_NtCs4fqI2P2rA04_4core9panickingNtB4_10AssertKindNtNtB6_3fmt5Debug3fmt",
        ] {
            assert!(!never_returns(name.as_bytes()), "{name}");
        }
    }
}
