//! Split DWARF: `-gsplit-dwarf` leaves most of it in `.dwo` files beside the object files, or
//! packed into one `.dwp` file beside the program (DWARF 5, 7.3.2 and appendix F).
//!
//! A unit of the program then holds little more than its line table, and the name and identifier
//! of the file with the rest. Which of them matter depends on the addresses, so this works in two
//! steps: [`wanted`] collects what the addresses need, and [`Loaded::supply`] hands it to the
//! context before anything is looked up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::Context;
use gimli::{DwarfPackage, DwarfPackageSections, DwarfSections};

use super::elf::Elf;
use super::path;
use super::reader::{Reader, reader};
use super::request::{FileRequest, FileSource};

/// Split units that addresses need: path of the file by identifier.
pub(super) type Wanted = BTreeMap<u64, Option<String>>;

/// The split units that were found.
#[derive(Default)]
pub(super) struct Loaded {
    package: Option<DwarfPackageSections<Vec<u8>>>,
    units: BTreeMap<u64, DwarfSections<Vec<u8>>>,
}

/// The split units that some addresses need.
pub(super) fn wanted(context: &Context<Reader<'_>>, addresses: &[u64]) -> Wanted {
    let mut wanted = Wanted::new();
    for address in lookable(addresses) {
        // Not answered yet: the context asks again when it is asked again.
        for (load, _answer) in context.preload_units(address) {
            wanted.entry(load.dwo_id.0).or_insert_with(|| {
                let name = load.path?;
                let mut whole = load
                    .comp_dir
                    .map(|folder| folder.to_string_lossy().into_owned())
                    .unwrap_or_default();
                path::push(&mut whole, &name.to_string_lossy());
                Some(whole)
            });
        }
    }
    wanted
}

impl Loaded {
    /// Reads what is wanted of the program or debug file at `program`.
    pub(super) fn read(
        wanted: &Wanted,
        program: &str,
        files: &dyn FileSource,
        warnings: &mut Vec<String>,
    ) -> Self {
        let packed = format!("{program}.dwp");
        let package = open(Path::new(&packed), files, |elf| {
            DwarfPackageSections::load(|id| section(elf, id.dwo_name())).ok()
        });
        // A package that is left of another build has none of them, and may stand beside those that
        // are wanted.
        let unpacked = match &package {
            Some(sections) => unpacked(sections, wanted),
            None => wanted.iter().collect(),
        };
        let mut units = BTreeMap::new();
        let mut missing = None;
        for &(&id, path) in &unpacked {
            let found = path.as_ref().and_then(|path| {
                places(path, program).iter().find_map(|place| {
                    open(place, files, |elf| {
                        let unit = DwarfSections::load(|id| section(elf, id.dwo_name())).ok()?;
                        (identifier(&unit) == Some(id)).then_some(unit)
                    })
                })
            });
            match found {
                Some(unit) => {
                    units.insert(id, unit);
                }
                None => missing = missing.or(Some(path.as_deref().unwrap_or("a file not named"))),
            }
        }
        if package.is_some() && !unpacked.is_empty() {
            warnings.push(format!(
                "{packed}: has {} of {} units that are wanted, so it is of another build; {} of the \
                 others were found in .dwo files; pack it anew with dwp or llvm-dwp, or remove it",
                wanted.len() - unpacked.len(),
                wanted.len(),
                units.len(),
            ));
        } else if let Some(missing) = missing {
            warnings.push(format!(
                "{program}: {} of {} split debug files (.dwo) were not found or are of another \
                 build, the first is {missing}; inlined functions and some names are missing",
                wanted.len() - units.len(),
                wanted.len(),
            ));
        }
        Self { package, units }
    }

    /// Gives the context the split units of some addresses, or tells it that there are none.
    pub(super) fn supply<'a>(&'a self, context: &Context<Reader<'a>>, addresses: &[u64]) {
        let package = self
            .package
            .as_ref()
            .and_then(|sections| sections.borrow(|bytes| reader(bytes), reader(&[])).ok());
        for address in lookable(addresses) {
            for (load, answer) in context.preload_units(address) {
                let unit = self.units.get(&load.dwo_id.0).map(|sections| {
                    let mut dwarf = sections.borrow(|bytes| reader(bytes));
                    dwarf.make_dwo(&load.parent);
                    dwarf
                });
                let packed = || unit_of(package.as_ref()?, load.dwo_id, &load.parent);
                let unit = unit.or_else(packed);
                // An error leaves the unit without its split part, as `None` does.
                let _ = answer(unit.map(Arc::new));
            }
        }
    }
}

/// Addresses that addr2line can look up: it asks for `address .. address + 1`.
fn lookable(addresses: &[u64]) -> impl Iterator<Item = u64> {
    addresses.iter().copied().filter(|&address| address != u64::MAX)
}

/// What is wanted that a package does not have; all of it if the package is damaged.
fn unpacked<'w>(
    sections: &DwarfPackageSections<Vec<u8>>,
    wanted: &'w Wanted,
) -> Vec<(&'w u64, &'w Option<String>)> {
    let package = sections.borrow(|bytes| reader(bytes), reader(&[])).ok();
    let has = |id| package.as_ref().is_some_and(|package| package.cu_index.find(id).is_some());
    wanted.iter().filter(|&(&id, _)| !has(id)).collect()
}

fn unit_of<'a>(
    package: &DwarfPackage<Reader<'a>>,
    id: gimli::DwoId,
    parent: &gimli::Dwarf<Reader<'a>>,
) -> Option<gimli::Dwarf<Reader<'a>>> {
    package.find_cu(id, parent).ok().flatten()
}

/// Where a split debug file could be: where it was made, or beside the program.
fn places(path: &str, program: &str) -> Vec<PathBuf> {
    let path = Path::new(path);
    let beside = Path::new(program).parent().zip(path.file_name());
    let mut places = vec![path.to_owned()];
    places.extend(beside.map(|(folder, name)| folder.join(name)));
    places
}

fn open<T>(
    path: &Path,
    files: &dyn FileSource,
    read: impl FnOnce(&Elf<'_>) -> Option<T>,
) -> Option<T> {
    let bytes = files.open(&FileRequest::Path(path.to_owned())).ok()?;
    let read = read(&Elf::parse(&bytes).ok()?)?;
    (!bytes.is_changed()).then_some(read)
}

fn section(elf: &Elf<'_>, name: Option<&str>) -> Result<Vec<u8>, gimli::Error> {
    let Some(name) = name else { return Ok(Vec::new()) };
    match elf.section(name) {
        Ok(section) => Ok(section.map_or_else(Vec::new, |section| section.bytes.into_owned())),
        Err(_) => Err(gimli::Error::Io),
    }
}

/// The identifier of the unit in a `.dwo` file.
fn identifier(sections: &DwarfSections<Vec<u8>>) -> Option<u64> {
    let mut dwarf = sections.borrow(|bytes| reader(bytes));
    dwarf.file_type = gimli::DwarfFileType::Dwo;
    let header = dwarf.units().next().ok()??;
    Some(dwarf.unit(header).ok()?.dwo_id?.0)
}
