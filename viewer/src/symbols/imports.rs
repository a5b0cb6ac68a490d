//! Which names the modules of a profile import.
//!
//! All modules of the load maps count, whether anything of them was sampled or not: so the answer
//! is the same for each run of a program with the same files. csprof's own collector does not, for
//! nobody looks for what it calls.

use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use csprof_format::ids::ModuleId;
use csprof_format::profile as saved;
use object::LittleEndian;
use object::elf::SHN_UNDEF;

use super::elf::Elf;
use super::locate::{self, Own};
use super::request::FileSource;
use crate::profile::is_collector;

/// Names that are imported.
#[derive(Debug, Default)]
pub(super) struct Imports {
    names: BTreeSet<String>,
    is_complete: bool,
}

impl Imports {
    /// Looks for names in the modules of a profile, of which those count whose file is what ran.
    pub(super) fn read(
        profile: &saved::Profile,
        directory: &Path,
        files: &dyn FileSource,
        sought: &HashSet<&[u8]>,
    ) -> Self {
        let mut imports = Self { names: BTreeSet::new(), is_complete: true };
        for id in (0..profile.modules.len()).map(ModuleId::from_index) {
            let Some(module) = locate::wanted(profile, directory, id) else { continue };
            if module.path.starts_with('[') || is_collector(module.path) {
                continue;
            }
            let own = catch_unwind(AssertUnwindSafe(|| {
                let Own::Matches(found) = locate::open_own(&module, files) else { return None };
                let names = names(&Elf::parse(&found.bytes).ok()?, sought)?;
                (!found.bytes.is_changed()).then_some(names)
            }));
            match own.ok().flatten() {
                Some(names) => imports.names.extend(names),
                None => imports.is_complete = false,
            }
        }
        imports
    }

    /// Whether a module imports this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether the files of all modules could be read.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// Which of the names that are sought a file does not define itself.
fn names(elf: &Elf<'_>, sought: &HashSet<&[u8]>) -> Option<Vec<String>> {
    let table = elf.dynamic_symbols().ok()?;
    let symbols = table.symbols.iter();
    let imported = symbols.filter(|symbol| symbol.st_shndx.get(LittleEndian) == SHN_UNDEF);
    let names = imported.filter_map(|symbol| table.name(symbol));
    let names = names.filter(|name| sought.contains(name));
    Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}
