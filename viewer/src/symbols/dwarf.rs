//! Lines and inlined functions from DWARF.
//!
//! addr2line's `Context` finds the functions and lines of an address; this module feeds it the
//! sections of the right files and adds what it leaves out: where each function is declared, so
//! that an inlined copy and the function itself, or two static functions of one name, can be told
//! to be the same or not.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use addr2line::{Context, FunctionName};
use gimli::{DwLang, DwarfSections, SectionId, UnitOffset, UnitRef};

use super::declaration::{Declarations, Naming};
use super::demangle::{self, Demangler, Name};
use super::elf::Elf;
use super::languages;
use super::path;
use super::reader::{Reader, reader};
use super::sites::{Function, ModuleSites, SiteRow};
use super::split;

/// The DWARF sections of one file, decompressed.
pub(super) struct Sections<'data>(DwarfSections<Cow<'data, [u8]>>);

impl<'data> Sections<'data> {
    /// Reads the sections of a file.
    pub(super) fn read(elf: &Elf<'data>) -> Result<Self, String> {
        let read = |id: SectionId| -> Result<Cow<'data, [u8]>, String> {
            match id {
                // Where variables live and which macros there were: large, and of no use here.
                SectionId::DebugLoc
                | SectionId::DebugLocLists
                | SectionId::DebugMacinfo
                | SectionId::DebugMacro
                | SectionId::DebugNames
                | SectionId::DebugTypes => Ok(Cow::Borrowed(&[])),
                _ => Ok(elf.section(id.name())?.map_or(Cow::Borrowed(&[][..]), |s| s.bytes)),
            }
        };
        Ok(Self(DwarfSections::load(read)?))
    }
}

/// The DWARF of a module.
pub(super) struct Dwarf<'a> {
    context: Context<Reader<'a>>,
    sections: Arc<gimli::Dwarf<Reader<'a>>>,
}

impl<'a> Dwarf<'a> {
    /// Indexes the units of `sections`; `alternate` holds what dwz(1) shared between files.
    pub(super) fn new(
        sections: &'a Sections<'_>,
        alternate: Option<&'a Sections<'_>>,
    ) -> Result<Self, String> {
        let mut dwarf = sections.0.borrow(|bytes| reader(bytes));
        if let Some(alternate) = alternate {
            dwarf.set_sup(alternate.0.borrow(|bytes| reader(bytes)));
        }
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let sections = Arc::new(dwarf);
        let context = Context::from_arc_dwarf(Arc::clone(&sections))
            .map_err(|error| format!("DWARF: {error}"))?;
        Ok(Self { context, sections })
    }
}

impl<'a> Dwarf<'a> {
    /// The split units that some addresses need.
    pub(super) fn split_units(&self, addresses: &[u64]) -> split::Wanted {
        split::wanted(&self.context, addresses)
    }

    /// Takes the split units of some addresses. To be called before their rows are asked for.
    pub(super) fn supply(&self, loaded: &'a split::Loaded, addresses: &[u64]) {
        loaded.supply(&self.context, addresses);
    }

    /// Adds the rows of an address, outermost first. Returns whether there are any.
    ///
    /// `symbol` is what symbol tables call the function that owns the address. It names the
    /// outermost row where DWARF has no name, as for assembly, or less of a name: with
    /// `-Cdebuginfo=line-tables-only` rustc writes just `put` for `<store::Store>::put`.
    pub(super) fn add_rows<'c>(
        &'c self,
        address: u64,
        symbol: Option<&Name<'_>>,
        out: &mut Out<'_, 'a, 'c>,
    ) -> bool {
        // addr2line looks up `address .. address + 1`.
        if address == u64::MAX {
            return false;
        }
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else {
            return false;
        };
        let unit = self.context.find_dwarf_and_unit(address).skip_all_loads();
        let first = out.sites.rows.len();
        let mut next = frames.next().ok().flatten();
        while let Some(frame) = next {
            next = frames.next().ok().flatten();
            let outermost = next.is_none();
            let entry = unit.zip(frame.dw_die_offset);
            let symbol = symbol.filter(|_| outermost);
            let function = out.function(entry, frame.function, symbol, outermost);
            let Some(function) = function else { continue };
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file).map(|file| out.file(file));
            let line = location.and_then(|location| location.line).unwrap_or(0);
            out.sites.rows.push(SiteRow { function, file, line });
        }
        // DWARF leads from the innermost function outwards.
        out.sites.rows[first..].reverse();
        out.sites.rows.len() > first
    }
}

/// Where rows go, and how to name and remember them.
pub(super) struct Out<'o, 'a, 'c> {
    /// The rows.
    pub(super) sites: &'o mut ModuleSites,
    /// Names for people.
    pub(super) demangler: &'o mut Demangler,
    /// What was looked up before.
    pub(super) memory: &'o mut Memory<'a, 'c>,
    /// What symbol tables call the function that owns an address.
    pub(super) symbol_at: &'o dyn Fn(u64) -> Option<Name<'c>>,
}

/// What was looked up before in the DWARF of a module.
pub(super) struct Memory<'a, 'c> {
    declarations: Declarations<'a>,
    /// Functions by the unit (its place in memory) and offset of the entry that describes them.
    functions: HashMap<(usize, usize), u32>,
    /// Files of lines, by the line table's own text.
    files: HashMap<&'c str, u32>,
}

impl<'a, 'c> Memory<'a, 'c> {
    pub(super) fn new(dwarf: &'c Dwarf<'a>) -> Self {
        Self {
            declarations: Declarations::new(&dwarf.sections),
            functions: HashMap::new(),
            files: HashMap::new(),
        }
    }
}

impl<'a, 'c> Out<'_, 'a, 'c> {
    /// The function that an entry describes; `None` if nothing names it.
    fn function(
        &mut self,
        entry: Option<(UnitRef<'c, Reader<'a>>, UnitOffset)>,
        name: Option<FunctionName<Reader<'a>>>,
        symbol: Option<&Name<'_>>,
        outermost: bool,
    ) -> Option<u32> {
        let key = entry.map(|(unit, offset)| (std::ptr::from_ref(unit.unit).addr(), offset.0));
        if let Some(&known) = key.and_then(|key| self.memory.functions.get(&key)) {
            return Some(known);
        }
        // Whichever of a function's addresses was met first, it has the name of its beginning.
        let start = entry.filter(|_| outermost);
        let start = start.and_then(|(unit, offset)| first_address(unit, offset));
        let at_start = start.and_then(self.symbol_at);
        let symbol = at_start.as_ref().or(symbol);
        let given = name.as_ref().map(|name| name.name.to_string_lossy());
        let language_of_name = match &name {
            // The skeleton of a split unit, at which addr2line looks, does not say it.
            Some(name) => name.language.or_else(|| entry.and_then(|(unit, _)| language(unit))),
            None => None,
        };
        let is_plain = language_of_name.is_some() && !has_scopes(language_of_name);
        let shown = match (&given, symbol) {
            // A name of C is no mangled one of another language.
            (Some(given), _) if is_plain && !given.starts_with("_Z") => given,
            (Some(given), _) => self.demangler.name(given),
            (None, Some(symbol)) => self.demangler.show(symbol),
            (None, None) => return None,
        }
        .to_owned();
        // A linkage name that was not demangled is no better than `DW_AT_name`: it is the same, or
        // what an assembler label made of it (`__GI_qsort`), or Fortran's `__solver_MOD_step`.
        let naming = match &name {
            Some(_) if given.as_deref() == Some(&*shown) => match language_of_name {
                Some(gimli::DW_LANG_D) => Naming::Scoped("."),
                of if has_scopes(of) => Naming::Scoped("::"),
                _ => Naming::Plain,
            },
            _ => Naming::None,
        };
        let declared = entry
            .map(|(unit, offset)| self.memory.declarations.find(unit, offset, naming))
            .unwrap_or_default();
        let mut name = declared.name.as_deref().unwrap_or(&shown);
        if let (Naming::Plain, Some(Name::Mangled(symbol))) = (naming, symbol) {
            // `malloc` is defined as `__libc_malloc`, and assemblers describe `fmax` under any one
            // of its names. What was split off (`malloc.cold`) belongs to it.
            let whole = demangle::without_clone(symbol);
            // A function of its own that was made of a part is `main._omp_fn.0` in both.
            let is_better = match language_of_name {
                Some(gimli::DW_LANG_Mips_Assembler) => underscores(whole) <= underscores(name),
                _ => underscores(whole) < underscores(name),
            };
            if name != symbol && is_better {
                name = whole;
            }
        }
        // Where DWARF has no linkage name, as for what has a local type in it, the symbol knows
        // more than the entry. A function that is inlined here has one if it was not inlined
        // everywhere.
        let of_copy = declared.code.and_then(self.symbol_at);
        if let (Some(own), Some(Name::Mangled(symbol))) =
            (declared.own.as_deref(), symbol.or(of_copy.as_ref()))
        {
            let mangled = demangle::without_clone(symbol);
            let whole = self.demangler.name(mangled);
            let is_same = if declared.lambda {
                whole.contains("{lambda(")
            } else {
                is_called(whole, identifier(own))
            };
            if whole != mangled && is_same {
                name = whole;
            }
        }
        // DWARF of GNAT has the name that is in the symbol table.
        let of_ada = is_ada(language_of_name).then(|| languages::ada(name)).flatten();
        let name = of_ada.as_deref().unwrap_or(name);
        let name = self.sites.strings.id(name);
        let file = declared.file.map(|file| self.sites.strings.id(file.as_str()));
        let function = self.sites.functions.id(&Function { name, file, line: declared.line });
        if let Some(key) = key {
            self.memory.functions.insert(key, function);
        }
        Some(function)
    }

    fn file(&mut self, text: &'c str) -> u32 {
        let strings = &mut self.sites.strings;
        *self.memory.files.entry(text).or_insert_with(|| strings.id(path::tidy(text).as_str()))
    }
}

/// Where the code of an entry begins: of several ranges, that of the first, since what was split
/// off stands behind it.
fn first_address(unit: UnitRef<'_, Reader<'_>>, offset: UnitOffset) -> Option<u64> {
    let entry = unit.entry(offset).ok()?;
    let mut ranges = unit.die_ranges(&entry).ok()?;
    ranges.next().ok()?.map(|range| range.begin)
}

/// How many underscores a name begins with; those of the implementation begin with some.
fn underscores(name: &str) -> usize {
    name.bytes().take_while(|&byte| byte == b'_').count()
}

/// What a function's own name begins with: `step<u64>` and `step::<u64>` are one, as are
/// `{closure#0}` and `{{closure}}`. Empty for a name without letters.
fn identifier(name: &str) -> &str {
    let is_letter = |c: char| c == '_' || c.is_alphanumeric();
    let name = name.trim_start_matches(|c| !is_letter(c));
    name.split(|c| !is_letter(c)).next().unwrap_or_default()
}

/// Whether this is a name of a function that is called `own`, as a whole word: a symbol may name
/// another function, where several share code. Behind it stand arguments, template arguments, the
/// rest of an operator or the number of a closure.
fn is_called(name: &str, own: &str) -> bool {
    let is_letter = |c: char| c == '_' || c.is_alphanumeric();
    let mut places = name.match_indices(own);
    own.is_empty()
        || places.any(|(at, _)| {
            let behind = &name[at + own.len()..];
            !name[..at].ends_with(is_letter)
                && (behind.is_empty()
                    || behind.starts_with(['(', '<', '[', '!', '#', '}'])
                    || behind.starts_with("::<")
                    || own == "operator" && !behind.starts_with(is_letter))
        })
}

/// The language of a unit, if it says so.
fn language(unit: UnitRef<'_, Reader<'_>>) -> Option<DwLang> {
    let root = unit.entry(unit.header.root_offset()).ok()?;
    match root.attr_value(gimli::DW_AT_language)? {
        gimli::AttributeValue::Language(language) => Some(language),
        _ => None,
    }
}

fn is_ada(language: Option<DwLang>) -> bool {
    matches!(
        language,
        Some(
            gimli::DW_LANG_Ada83
                | gimli::DW_LANG_Ada95
                | gimli::DW_LANG_Ada2005
                | gimli::DW_LANG_Ada2012
        )
    )
}

/// Whether functions of a language are nested in namespaces, classes or modules by which DWARF has
/// to name them: Ada's have names with their paths.
fn has_scopes(language: Option<DwLang>) -> bool {
    !is_ada(language)
        && !matches!(
            language,
            None | Some(
                gimli::DW_LANG_C
                    | gimli::DW_LANG_C89
                    | gimli::DW_LANG_C99
                    | gimli::DW_LANG_C11
                    | gimli::DW_LANG_C17
                    | gimli::DW_LANG_Mips_Assembler
            )
        )
}

#[cfg(test)]
mod tests {
    use super::is_called;

    #[test]
    fn a_function_is_called_by_a_whole_word() {
        for (name, own) in [
            ("B::fill(int)", "fill"),
            ("ns::f<int>(int)", "f"),
            ("A::~A()", "A"),
            ("app::step::<u64>", "step"),
            ("app::run::{closure#0}", "closure"),
            ("A::operator==(A const&)", "operator"),
            ("A::operator bool() const", "operator"),
            ("f[abi:cxx11]()", "f"),
            ("app.work.f!(int).f(int)", "f"),
            ("main", "main"),
        ] {
            assert!(is_called(name, own), "{own} is {name}");
        }
        for (name, own) in [
            ("B::fill(int)", "f"),
            ("B::fill(int)", "B"),
            ("B::fill(A::f)", "f"),
            ("B::fill(f*)", "f"),
            ("fill_all()", "fill"),
            ("operators()", "operator"),
        ] {
            assert!(!is_called(name, own), "{own} is not {name}");
        }
    }
}
