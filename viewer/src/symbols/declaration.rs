//! Where a function is declared, and what its declaration calls it.
//!
//! A debugging information entry of a function's code says it itself, or refers to an entry that
//! does: `DW_AT_abstract_origin` from an inlined copy to the function, `DW_AT_specification` from
//! the definition of a member function to its declaration in the class (DWARF 5, 3.3.8 and 5.7.7).
//! References may lead to another unit (link-time optimization) and to another file (dwz(1)).
//! The files that a split unit speaks of are in the line table of its skeleton, in the program
//! (DWARF 5, 7.3.2).

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use gimli::{AttributeValue, DebugInfoOffset, DwoId, Unit, UnitOffset, UnitRef};

use super::path;
use super::reader::Reader;
use super::scope::Scopes;

/// References that are followed before an entry is taken for damaged.
const LONGEST_CHAIN: usize = 16;

/// What the entries of a function say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Declaration {
    /// Path of the file, tidied.
    pub(super) file: Option<String>,
    /// Line, 0 if unknown.
    pub(super) line: u32,
    /// Name, if that was asked for.
    pub(super) name: Option<String>,
    /// The function's own part of the scoped name that was asked for.
    pub(super) own: Option<String>,
    /// The scoped name that was asked for is that of a lambda.
    pub(super) lambda: bool,
    /// Where the code of the function itself begins, if a scoped name was asked for and its unit
    /// has that code and not only inlined copies.
    pub(super) code: Option<u64>,
}

/// Which name is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// None.
    None,
    /// `DW_AT_name`.
    Plain,
    /// `DW_AT_name` after the names of what encloses the function, with this between them.
    Scoped(&'static str),
}

/// Finds declarations in the DWARF of a module.
pub(super) struct Declarations<'a> {
    main: Units<'a>,
    alternate: Option<Units<'a>>,
    /// By the unit's place in memory.
    scopes: HashMap<usize, Scopes<'a>>,
}

/// The units of one file, parsed when a reference leads there.
struct Units<'a> {
    dwarf: Arc<gimli::Dwarf<Reader<'a>>>,
    starts: OnceCell<Vec<DebugInfoOffset>>,
    parsed: HashMap<usize, Option<Arc<Unit<Reader<'a>>>>>,
    /// Units whose rest was split off, by its identifier. Made for the first split unit.
    skeletons: OnceCell<HashMap<DwoId, Unit<Reader<'a>>>>,
}

/// A unit that a reference led to, with the sections of its file.
struct Held<'a> {
    dwarf: Arc<gimli::Dwarf<Reader<'a>>>,
    unit: Arc<Unit<Reader<'a>>>,
}

/// An entry that an entry refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reference {
    /// In the same unit.
    Unit(UnitOffset),
    /// Anywhere in the same file.
    File(DebugInfoOffset),
    /// In the file that dwz(1) made.
    Alternate(DebugInfoOffset),
}

/// What one entry says.
#[derive(Default)]
struct Entry<'a> {
    name: Option<Reader<'a>>,
    file: Option<String>,
    line: u32,
    refers_to: Option<Reference>,
}

impl<'a> Declarations<'a> {
    pub(super) fn new(dwarf: &Arc<gimli::Dwarf<Reader<'a>>>) -> Self {
        let alternate = dwarf.sup.as_ref().map(Units::new);
        Self { main: Units::new(dwarf), alternate, scopes: HashMap::new() }
    }

    /// What is said of the function whose code the entry at `offset` in `unit` describes.
    pub(super) fn find(
        &mut self,
        unit: UnitRef<'_, Reader<'a>>,
        mut offset: UnitOffset,
        naming: Naming,
    ) -> Declaration {
        let mut found = Declaration::default();
        // The unit that a reference led to, if it is not the given one.
        let mut held: Option<Held<'a>> = None;
        let mut in_alternate = false;
        for _ in 0..LONGEST_CHAIN {
            let place = held.as_ref().map_or(unit, |held| UnitRef::new(&held.dwarf, &held.unit));
            let skeleton = match (&place.line_program, place.dwo_id) {
                (None, Some(split)) => self.main.skeleton(split),
                _ => None,
            };
            let lines = skeleton.map_or(place, |unit| UnitRef::new(&self.main.dwarf, unit));
            let entry = read_entry(place, lines, offset);
            found.file = found.file.or(entry.file);
            if found.line == 0 {
                found.line = entry.line;
            }
            // The declaration inside a class knows what encloses it, the definition does not. Both
            // have the name in DWARF of some compilers, so the end of the chain has the last word.
            if let Some(name) = entry.name {
                let name = name.to_string_lossy();
                found.name = match naming {
                    Naming::None => None,
                    Naming::Plain => Some(name.into_owned()),
                    Naming::Scoped(between) => {
                        let key = std::ptr::from_ref(place.unit).addr();
                        let scopes = self.scopes.entry(key).or_insert_with(|| Scopes::read(place));
                        let qualified = scopes.qualified(offset, &name, between);
                        found.lambda = scopes.closure_of(offset).is_some();
                        found.code = scopes.code(offset);
                        found.own = Some(name.into_owned());
                        Some(qualified)
                    }
                };
            }
            match entry.refers_to {
                None if found.line == 0 => {
                    // The function of a lambda is made by the compiler; its type has a place.
                    let key = std::ptr::from_ref(place.unit).addr();
                    let scopes = self.scopes.entry(key).or_insert_with(|| Scopes::read(place));
                    if let Some(closure) = scopes.closure_of(offset) {
                        let entry = read_entry(place, lines, closure);
                        found.file = found.file.or(entry.file);
                        found.line = entry.line;
                    }
                    break;
                }
                None => break,
                Some(Reference::Unit(next)) => offset = next,
                Some(Reference::File(next) | Reference::Alternate(next)) => {
                    in_alternate |= matches!(entry.refers_to, Some(Reference::Alternate(_)));
                    let units =
                        if in_alternate { self.alternate.as_mut() } else { Some(&mut self.main) };
                    let Some((unit, start)) = units.and_then(|units| units.holding(next)) else {
                        break;
                    };
                    held = Some(unit);
                    offset = start;
                }
            }
        }
        found
    }
}

impl<'a> Units<'a> {
    fn new(dwarf: &Arc<gimli::Dwarf<Reader<'a>>>) -> Self {
        Self {
            dwarf: Arc::clone(dwarf),
            starts: OnceCell::new(),
            parsed: HashMap::new(),
            skeletons: OnceCell::new(),
        }
    }

    /// The unit from which the unit with this identifier was split off.
    fn skeleton(&self, split: DwoId) -> Option<&Unit<Reader<'a>>> {
        let skeletons = self.skeletons.get_or_init(|| {
            let mut skeletons = HashMap::new();
            let mut units = self.dwarf.units();
            while let Ok(Some(header)) = units.next() {
                if let Ok(unit) = self.dwarf.unit(header)
                    && let Some(split) = unit.dwo_id
                {
                    skeletons.insert(split, unit);
                }
            }
            skeletons
        });
        skeletons.get(&split)
    }

    /// The unit that holds an offset of `.debug_info`, and the offset inside it.
    fn holding(&mut self, offset: DebugInfoOffset) -> Option<(Held<'a>, UnitOffset)> {
        let starts = self.starts.get_or_init(|| {
            let mut starts = Vec::new();
            let mut units = self.dwarf.units();
            while let Ok(Some(header)) = units.next() {
                starts.extend(header.debug_info_offset());
            }
            starts
        });
        let after = starts.partition_point(|start| start.0 <= offset.0);
        let start = starts[after.checked_sub(1)?];
        let dwarf = &self.dwarf;
        let unit = self.parsed.entry(start.0).or_insert_with(|| {
            let header = dwarf.debug_info.header_from_offset(start).ok()?;
            Some(Arc::new(dwarf.unit(header).ok()?))
        });
        let unit = Arc::clone(unit.as_ref()?);
        let inside = offset.to_unit_offset(&unit.header)?;
        Some((Held { dwarf: Arc::clone(dwarf), unit }, inside))
    }
}

/// Reads one entry; what is malformed is as good as absent. `lines` is the unit whose line table
/// has the files.
fn read_entry<'a>(
    unit: UnitRef<'_, Reader<'a>>,
    lines: UnitRef<'_, Reader<'a>>,
    offset: UnitOffset,
) -> Entry<'a> {
    let mut found = Entry::default();
    let Ok(mut entries) = unit.entries_raw(Some(offset)) else { return found };
    let Ok(Some(abbreviation)) = entries.read_abbreviation() else { return found };
    for specification in abbreviation.attributes() {
        let Ok(attribute) = entries.read_attribute(*specification) else { return found };
        match attribute.name() {
            gimli::DW_AT_name => found.name = unit.attr_string(attribute.value()).ok(),
            gimli::DW_AT_decl_file => {
                let index = match attribute.value() {
                    AttributeValue::FileIndex(index) => Some(index),
                    _ => attribute.udata_value(),
                };
                found.file = index.and_then(|index| file(lines, index));
            }
            gimli::DW_AT_decl_line => {
                let line = attribute.udata_value().unwrap_or(0);
                found.line = u32::try_from(line).unwrap_or(0);
            }
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                found.refers_to = match attribute.value() {
                    AttributeValue::UnitRef(offset) => Some(Reference::Unit(offset)),
                    AttributeValue::DebugInfoRef(offset) => Some(Reference::File(offset)),
                    AttributeValue::DebugInfoRefSup(offset) => Some(Reference::Alternate(offset)),
                    _ => found.refers_to,
                };
            }
            _ => {}
        }
    }
    found
}

/// The path of a file of a unit's line table.
fn file(unit: UnitRef<'_, Reader<'_>>, index: u64) -> Option<String> {
    // Before DWARF 5, 0 meant that there is none.
    if index == 0 && unit.header.version() < 5 {
        return None;
    }
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(index)?;
    let mut whole = String::new();
    if let Some(folder) = &unit.comp_dir {
        path::push(&mut whole, &folder.to_string_lossy());
    }
    // Folder 0 is the one that was compiled in.
    if file.directory_index() != 0
        && let Some(folder) = file.directory(header)
    {
        path::push(&mut whole, &unit.attr_string(folder).ok()?.to_string_lossy());
    }
    path::push(&mut whole, &unit.attr_string(file.path_name()).ok()?.to_string_lossy());
    Some(path::tidy(&whole))
}
