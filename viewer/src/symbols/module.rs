//! The names of one load module's addresses.
//!
//! For each address the best answer of, in this order: DWARF (lines and inlined functions), the
//! symbol tables, the stubs of the procedure linkage table, and the function extents of the call
//! frame information, which give a name made of the module and the function's first address. An
//! address that none of them covers gets no row.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::chosen::{Callable, Callables, Chosen};
use super::demangle::{Demangler, Name};
use super::dwarf::{Dwarf, Memory, Out, Sections};
use super::elf::Elf;
use super::extent::Extents;
use super::languages::AdaUnits;
use super::locate::{self, Located, Own, Wanted};
use super::loops::{Limits, Lines, Loops};
use super::machine::{Machine, ReadFunctions};
use super::plt::{self, Callee, Slots};
use super::request::FileSource;
use super::sites::{Function, ModuleSites, SiteRow};
use super::split;
use super::symbol_table::SymbolTable;
use crate::profile::name_of_file;

/// Where the symbols of a module came from: [`saved::SymbolSource`], before its text has a number.
///
/// [`saved::SymbolSource`]: csprof_format::profile::SymbolSource
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameSource {
    Dwarf(String),
    SymbolTable(String),
    Exports(String),
    Stripped(String),
    Unreadable(String),
    BuildIdDiffers(String),
}

/// What became of a module.
#[derive(Debug)]
pub(super) struct ResolvedModule {
    pub(super) source: NameSource,
    pub(super) sites: ModuleSites,
    /// Outermost functions with several names.
    pub(super) callable_at: CallableAt,
    /// The functions that are chosen at run time.
    pub(super) chosen: Chosen,
    /// For people.
    pub(super) warnings: Vec<String>,
    /// The same, where limits left loops out.
    pub(super) about_loops: Option<String>,
    /// What was read of its functions, if its own file alone has symbols, and which file that is.
    pub(super) read: Option<(String, ReadFunctions)>,
    /// Nothing but the module's own files decides what was found, for each address alone.
    pub(super) is_complete: bool,
}

impl ResolvedModule {
    /// A module of which nothing could be learned.
    pub(super) fn unreadable(reason: String, warnings: Vec<String>) -> Self {
        Self {
            source: NameSource::Unreadable(reason),
            sites: ModuleSites::default(),
            callable_at: CallableAt::default(),
            chosen: Chosen::default(),
            warnings,
            about_loops: None,
            read: None,
            is_complete: false,
        }
    }
}

/// The outermost functions of addresses, so far as they have several names.
#[derive(Clone, Debug, Default)]
pub(super) struct CallableAt {
    /// For each address, where the function begins.
    pub(super) keys: Vec<Option<u64>>,
    /// What is known of it.
    pub(super) by_key: BTreeMap<u64, Callable>,
}

impl CallableAt {
    pub(super) fn get(&self, index: usize) -> Option<(u64, &Callable)> {
        let key = self.keys.get(index).copied()??;
        Some((key, self.by_key.get(&key)?))
    }
}

/// What is to be told of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// All: lines, inlined functions, loops, of these so many.
    All(Limits),
    /// The same without loops.
    Lines,
}

/// Where the names of a module come from; `None` if its own file is malformed.
pub(super) fn source(located: &Located) -> Option<NameSource> {
    Some(Opened::new(located).ok()?.source(located))
}

/// Where the functions and the parts of functions begin that hold some addresses, and their code.
///
/// # Errors
/// An address lies in no function that the file tells of.
pub(super) fn code(
    wanted: &Wanted<'_>,
    located: &Located,
    addresses: &[u64],
) -> Result<Vec<(u64, Vec<u8>)>, String> {
    let opened = Opened::new(located)?;
    let symbols = Symbols::new(wanted.path, &opened, &mut Vec::new());
    let machine = symbols.machine().ok_or("its file cannot be read")?;
    let mut parts: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for &address in addresses {
        let found = machine.extent(address);
        let code = found.and_then(|range| Some((range.start, machine.elf.code_at(range)?)));
        let (start, code) = code.ok_or_else(|| {
            format!("{} does not tell where the function at {address:#x} ends", wanted.path)
        })?;
        parts.entry(start).or_insert_with(|| code.to_vec());
    }
    // In a damaged file, parts may overlap.
    let mut end = 0;
    let mut apart = Vec::with_capacity(parts.len());
    for (start, code) in parts {
        if start >= end {
            end = start.saturating_add(code.len() as u64);
            apart.push((start, code));
        }
    }
    Ok(apart)
}

/// The functions of a module that are chosen at run time.
pub(super) fn chosen(wanted: &Wanted<'_>, located: &Located) -> Chosen {
    let Ok(opened) = Opened::new(located) else { return Chosen::default() };
    Symbols::new(wanted.path, &opened, &mut Vec::new()).chosen()
}

/// Names the addresses of a module, of which `located` are the files.
///
/// `addresses` are ELF virtual addresses at which to look up (return addresses already moved into
/// the call), ordered. `progress` is called after each of them.
pub(super) fn resolve(
    wanted: &Wanted<'_>,
    located: &Located,
    addresses: &[u64],
    detail: Detail,
    files: &dyn FileSource,
    mut progress: impl FnMut(),
) -> ResolvedModule {
    let mut warnings = located.warnings.clone();
    let opened = match Opened::new(located) {
        Ok(opened) => opened,
        Err(reason) => {
            warnings.push(format!("{}: {reason}", wanted.path));
            return ResolvedModule::unreadable(reason, warnings);
        }
    };
    let source = opened.source(located);
    let symbols = Symbols::new(wanted.path, &opened, &mut warnings);
    let sections = match opened.sections() {
        Ok(sections) => sections,
        Err(reason) => {
            warnings.push(format!("{}: {reason}", wanted.path));
            None
        }
    };
    let split = OnceCell::new();
    let dwarf = sections.as_ref().and_then(|(sections, alternate)| {
        let dwarf = Dwarf::new(sections, alternate.as_ref());
        dwarf.map_err(|reason| warnings.push(format!("{}: {reason}", wanted.path))).ok()
    });
    if let Some(dwarf) = &dwarf {
        let needed = dwarf.split_units(addresses);
        if !needed.is_empty() {
            let loaded = || split::Loaded::read(&needed, wanted.path, files, &mut warnings);
            dwarf.supply(split.get_or_init(loaded), addresses);
        }
    }

    let mut sites = ModuleSites::default();
    let mut demangler = Demangler::default();
    let mut lines = dwarf.as_ref().map(|dwarf| (dwarf, Memory::new(dwarf)));
    let symbol_at = |address| symbols.name(address);
    let mut callable_at = CallableAt::default();
    // Where functions begin that are called as their symbol is, and those without one.
    let mut starts = BTreeSet::new();
    let mut nameless = BTreeSet::new();
    let limits = match detail {
        Detail::All(limits) => Some(limits),
        Detail::Lines => None,
    };
    let machine = symbols.machine().zip(limits);
    let mut loops = machine.as_ref().map(|(machine, limits)| Loops::new(machine, *limits));
    for (index, &address) in addresses.iter().enumerate() {
        let first = sites.rows.len();
        let mut key = None;
        let symbol = symbols.name(address);
        let by_dwarf = lines.as_mut().is_some_and(|(dwarf, memory)| {
            let (sites, demangler) = (&mut sites, &mut demangler);
            let mut out = Out { sites, demangler, memory, symbol_at: &symbol_at };
            dwarf.add_rows(address, symbol.as_ref(), &mut out)
        });
        match symbol {
            _ if by_dwarf => {}
            Some(name) => {
                let shown = sites.strings.id(demangler.show(&name));
                let function = Function { name: shown, file: None, line: 0 };
                let function = sites.functions.id(&function);
                if let Name::MadeUp(_) = name {
                    key = symbols.extent_start(address);
                    nameless.extend(key);
                }
                sites.rows.push(SiteRow { function, file: None, line: 0 });
            }
            None => {}
        }
        let owner = symbols.table.find(address).filter(|owner| !owner.guessed);
        if let (Some(row), Some(owner)) = (sites.rows.get(first), owner)
            && sites.name_of(row.function).as_bytes() == owner.name
        {
            key = Some(owner.start);
            starts.insert(owner.start);
        }
        callable_at.keys.push(key);
        sites.end_address();
        if let Some(loops) = &mut loops {
            let rows = sites.rows_of(index).to_vec();
            let dwarf = lines.as_mut();
            let demangler = &mut demangler;
            let mut lines = Lookup { dwarf, sites: &mut sites, demangler, symbol_at: &symbol_at };
            loops.add(address, &rows, &mut lines);
        }
        progress();
    }
    let is_exhausted = machine.as_ref().is_some_and(|(machine, _)| machine.is_exhausted())
        || loops.as_ref().is_some_and(Loops::is_exhausted);
    sites.loops = loops.map(Loops::finish);
    let about_loops = is_exhausted.then(|| {
        format!(
            "{}: there is too much of what was sampled for csprof to find all loops in it; samples \
             in loops may count outside of them",
            wanted.path
        )
    });
    warnings.extend(explain(wanted, &source));
    let chosen = symbols.chosen();
    if let Some(elf) = &opened.own {
        let callables = Callables::read(elf, &chosen, &starts);
        for start in starts {
            let owner = symbols.table.find(start);
            let callable = owner.and_then(|owner| callables.with_symbol(owner));
            callable_at.by_key.extend(callable.map(|callable| (start, callable)));
        }
        if !chosen.is_empty() {
            let callable = |start| (start, callables.without_symbol(start));
            callable_at.by_key.extend(nameless.into_iter().map(callable));
        }
    }
    let read = machine.zip(located.only_file());
    let read = read.map(|((machine, _), file)| (file.identity(), machine.into_read()));
    let is_complete = split.get().is_none() && !is_exhausted;
    ResolvedModule { source, sites, callable_at, chosen, warnings, about_loops, read, is_complete }
}

/// Looks up addresses beside those that are asked for.
struct Lookup<'l, 'a, 'c> {
    dwarf: Option<&'l mut (&'c Dwarf<'a>, Memory<'a, 'c>)>,
    sites: &'l mut ModuleSites,
    demangler: &'l mut Demangler,
    symbol_at: &'l dyn Fn(u64) -> Option<Name<'c>>,
}

impl Lines for Lookup<'_, '_, '_> {
    fn rows(&mut self, address: u64) -> Vec<SiteRow> {
        let Some((dwarf, memory)) = self.dwarf.as_deref_mut() else { return Vec::new() };
        let first = self.sites.rows.len();
        let symbol = (self.symbol_at)(address);
        let (sites, demangler) = (&mut *self.sites, &mut *self.demangler);
        let mut out = Out { sites, demangler, memory, symbol_at: self.symbol_at };
        dwarf.add_rows(address, symbol.as_ref(), &mut out);
        self.sites.rows.split_off(first)
    }

    fn declared(&self, function: u32) -> (Option<u32>, u32) {
        let function = &self.sites.functions.values()[function as usize];
        (function.file, function.line)
    }
}

/// Why no address of a file has a name, and what would help.
fn explain(wanted: &Wanted<'_>, source: &NameSource) -> Option<String> {
    let path = wanted.path;
    match source {
        NameSource::BuildIdDiffers(_) => Some(format!(
            "{path}: the file was replaced after the run (its build id differs), so its functions \
             have no names; record again, or keep a copy of the old file's debug information"
        )),
        NameSource::Unreadable(reason) => Some(format!("{path}: no symbols: {reason}")),
        // A stripped file is nothing special. Whether it matters is decided by its samples.
        _ => None,
    }
}

/// The parsed files of a module.
pub(super) struct Opened<'data> {
    own: Option<Elf<'data>>,
    debug: Option<Elf<'data>>,
    alternate: Option<Elf<'data>>,
    mini: Option<Elf<'data>>,
}

impl<'data> Opened<'data> {
    pub(super) fn new(located: &'data Located) -> Result<Self, String> {
        let parse = |found: &'data Option<locate::FoundFile>| {
            found.as_ref().and_then(|found| Elf::parse(&found.bytes).ok())
        };
        let own = match &located.own {
            Own::Matches(found) => Some(Elf::parse(&found.bytes)?),
            Own::Differs { .. } | Own::Unreadable(_) => None,
        };
        Ok(Self {
            own,
            debug: parse(&located.debug),
            alternate: parse(&located.alternate),
            mini: parse(&located.mini),
        })
    }

    /// DWARF sections of the file that has them, and of the supplementary file it refers to.
    fn sections(&self) -> Result<Option<(Sections<'data>, Option<Sections<'data>>)>, String> {
        let Some(elf) = [&self.debug, &self.own].into_iter().flatten().find(|elf| elf.has_dwarf())
        else {
            return Ok(None);
        };
        let alternate = self.alternate.as_ref().map(Sections::read).transpose()?;
        Ok(Some((Sections::read(elf)?, alternate)))
    }

    /// Those that may have symbols.
    pub(super) fn all(&self) -> impl Iterator<Item = &Elf<'data>> {
        [&self.own, &self.debug, &self.mini].into_iter().flatten()
    }

    fn source(&self, located: &Located) -> NameSource {
        if let (Some(elf), Some(found)) = (&self.debug, &located.debug) {
            return if elf.has_dwarf() {
                NameSource::Dwarf(found.path.clone())
            } else {
                NameSource::SymbolTable(found.path.clone())
            };
        }
        let found = match &located.own {
            Own::Matches(found) => found,
            Own::Differs { path } => return NameSource::BuildIdDiffers(path.clone()),
            Own::Unreadable(reason) => return NameSource::Unreadable(reason.clone()),
        };
        let Some(elf) = &self.own else { return NameSource::Stripped(found.path.clone()) };
        if elf.has_dwarf() {
            NameSource::Dwarf(found.path.clone())
        } else if elf.has_symbol_table() {
            NameSource::SymbolTable(found.path.clone())
        } else if let Some(mini) = &located.mini {
            NameSource::SymbolTable(mini.path.clone())
        } else if elf.exports_functions() {
            NameSource::Exports(found.path.clone())
        } else {
            NameSource::Stripped(found.path.clone())
        }
    }
}

/// Everything but DWARF that can name an address.
struct Symbols<'data, 'a> {
    /// File name of the module, without folders.
    base: &'a str,
    own: Option<&'a Elf<'data>>,
    table: SymbolTable<'data>,
    slots: Slots<'data>,
    stubs: Vec<plt::Stub<'data>>,
    /// Read when first needed, as the next.
    ada: OnceCell<AdaUnits>,
    extents: OnceCell<Extents<'data>>,
}

impl<'data, 'a> Symbols<'data, 'a> {
    fn new(path: &'a str, opened: &'a Opened<'data>, warnings: &mut Vec<String>) -> Self {
        let mut tables = Vec::new();
        for elf in opened.all() {
            for table in [elf.symbols(), elf.dynamic_symbols()] {
                match table {
                    Ok(table) => tables.push(table),
                    Err(reason) => warnings.push(format!("{path}: {reason}")),
                }
            }
        }
        let code = opened.all().next().map(Elf::code).unwrap_or_default();
        let table = SymbolTable::new(tables, code);
        let own = opened.own.as_ref();
        let slots = own.map(Slots::read).unwrap_or_default();
        let stubs = own.map(|elf| plt::stubs(elf, &slots)).unwrap_or_default();
        let base = name_of_file(path);
        Self { base, own, table, ada: OnceCell::new(), slots, stubs, extents: OnceCell::new() }
    }

    fn chosen(&self) -> Chosen {
        Chosen::read(&self.table, &self.slots)
    }

    /// The code of the module's own file.
    fn machine(&self) -> Option<Machine<'_, 'data>> {
        let elf = self.own?;
        let read = ReadFunctions::default();
        Some(Machine::new(elf, &self.table, self.extents(), &self.slots, &self.stubs, read))
    }

    fn name(&self, address: u64) -> Option<Name<'_>> {
        if let Some(function) = self.table.find(address) {
            let mangled = || {
                let name = String::from_utf8_lossy(function.name);
                self.ada().name(&name).map_or(Name::Mangled(name), Name::Plain)
            };
            if !function.guessed {
                return Some(mangled());
            }
            // A function that begins between the guessing symbol and the address is another one.
            return match self.extent_start(address) {
                Some(start) if start > function.start => Some(self.made_up(start)),
                _ => Some(mangled()),
            };
        }
        if let Some(target) = plt::find(&self.stubs, address).and_then(|stub| self.target(stub)) {
            let target = String::from_utf8_lossy(target);
            let target = self.ada().name(&target).map_or(target, Into::into);
            return Some(Name::Mangled(format!("{target}@plt").into()));
        }
        self.extent_start(address).map(|start| self.made_up(start))
    }

    /// The name of what a stub calls.
    fn target(&self, stub: &plt::Stub<'data>) -> Option<&'data [u8]> {
        match stub.callee {
            Callee::Symbol(name) => Some(name),
            Callee::Resolver(address) => self.table.find(address).map(|function| function.name),
        }
    }

    /// The name of a function that has none.
    fn made_up(&self, start: u64) -> Name<'static> {
        Name::MadeUp(format!("{}+{start:#x}", self.base))
    }

    /// Where the function that holds an address begins, by call frame information.
    fn extent_start(&self, address: u64) -> Option<u64> {
        self.extents().find(address).map(|extent| extent.range.start)
    }

    fn ada(&self) -> &AdaUnits {
        self.ada.get_or_init(|| AdaUnits::of(self.table.tables()))
    }

    fn extents(&self) -> &Extents<'data> {
        self.extents.get_or_init(|| self.own.map(Extents::read).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::FileBytes;
    use super::super::files::DiskFiles;
    use super::*;

    /// Of this very program: the addresses of its first function with a loop.
    #[test]
    fn loops_that_limits_leave_out_are_told_of_and_not_remembered() {
        let path = std::env::current_exe().unwrap();
        let path = path.to_str().unwrap();
        let files = DiskFiles::with_debug_folders(Vec::new());
        let start_unix_ns = u64::MAX;
        let directory = std::path::Path::new("/");
        let wanted = |build_id| Wanted { path, build_id, files: &[], directory, start_unix_ns };
        let located = locate::locate(&wanted(&[]), &files);
        let resolved = |addresses: &[u64], limits| {
            let detail = Detail::All(limits);
            resolve(&wanted(&[]), &located, addresses, detail, &files, || {})
        };
        let opened = Opened::new(&located).unwrap();
        let symbols = Symbols::new(path, &opened, &mut Vec::new());
        let machine = symbols.machine().unwrap();
        let code = opened.own.as_ref().unwrap().code();
        let mut all = code.into_iter().max_by_key(|part| part.end - part.start).unwrap();
        let looped =
            |at: &u64| machine.structure_at(*at).is_some_and(|it| !it.loops_at(*at).is_empty());
        let first = all.find(looped).unwrap();
        let extent = machine.extent(first).unwrap();
        let addresses: Vec<u64> = extent.filter(looped).collect();

        // Who reads the same file later goes on with what was read.
        let whole = resolved(&addresses, Limits::default());
        let (file, read) = whole.read.unwrap();
        assert_eq!(Some(file), located.only_file().map(FileBytes::identity));
        let elf = opened.own.as_ref().unwrap();
        let (table, extents) = (&symbols.table, symbols.extents());
        let again = Machine::new(elf, table, extents, &symbols.slots, &symbols.stubs, read);
        assert!(again.structure_at(first).is_some_and(|it| !it.loops_at(first).is_empty()));
        assert_eq!([&machine, &again].map(Machine::has_decoded), [true, false]);

        let around = |found: &ResolvedModule| -> usize {
            let loops = found.sites.loops.as_ref().unwrap();
            (0..addresses.len()).filter(|&index| !loops.around(index).is_empty()).count()
        };
        let whole = resolved(&addresses, Limits::default());
        assert_eq!(around(&whole), addresses.len());
        assert_eq!((whole.is_complete, whole.about_loops), (true, None));
        for limits in [
            Limits { around: addresses.len() - 1, ..Limits::default() },
            Limits { lines: 1, ..Limits::default() },
        ] {
            let cut = resolved(&addresses, limits);
            assert!(!cut.is_complete && cut.about_loops.is_some(), "{limits:?}");
            assert_eq!(around(&cut) < addresses.len(), limits.lines > 1, "{limits:?}");
        }
    }
}
