//! The functions of a file by name, before anything has run: which a person means, and where they
//! begin.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use csprof_format::launch::ModuleKey;
use object::LittleEndian;
use object::elf;

use super::demangle::Demangler;
use super::elf::Elf;
use super::locate::{self, Own, Wanted};
use super::module::Opened;
use super::request::{FileRequest, FileSource};
use super::symbol_table::ranked;

/// A function that a symbol names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFunction {
    /// As it is shown.
    pub name: String,
    /// ELF virtual address of its first instruction.
    pub address: u64,
    /// Whether it only chooses another function when the program starts (`STT_GNU_IFUNC`).
    pub is_indirect: bool,
}

/// What a file tells of its functions.
#[derive(Clone, Debug)]
pub struct FileFunctions {
    /// By what the module is known when it is loaded.
    pub module: ModuleKey,
    /// The loader that it asks for, if it is a program.
    pub loader: Option<PathBuf>,
    /// In the order of its symbol tables, one for each name and address.
    pub functions: Vec<NamedFunction>,
}

/// The functions of the program or library at this path, and of its debug file.
///
/// # Errors
/// Why they cannot be read.
pub fn functions_of(path: &Path, files: &dyn FileSource) -> Result<FileFunctions, String> {
    // A damaged file may be too much for a library that reads it.
    let read = catch_unwind(AssertUnwindSafe(|| read(path, files)));
    read.unwrap_or_else(|_| Err("it is damaged in a way that csprof cannot handle".to_owned()))
}

fn read(path: &Path, files: &dyn FileSource) -> Result<FileFunctions, String> {
    let text = path.to_str().ok_or("its path is not UTF-8")?;
    let mut wanted = Wanted {
        path: text,
        build_id: &[],
        files: &[],
        directory: Path::new("."),
        start_unix_ns: u64::MAX,
    };
    let own = match locate::open_own(&wanted, files) {
        Own::Matches(found) => found,
        Own::Differs { .. } => return Err("it is another file".to_owned()),
        Own::Unreadable(why) => return Err(why),
    };
    let elf = Elf::parse(&own.bytes)?;
    let build_id = elf.build_id().to_vec();
    let module = match build_id.is_empty() {
        false => ModuleKey::BuildId(build_id.clone()),
        true => {
            let identity = files.identity(&FileRequest::Path(path.to_path_buf()));
            ModuleKey::File(identity.ok_or("which file it is cannot be asked")?)
        }
    };
    wanted.build_id = &build_id;
    let located = locate::locate(&wanted, files);
    let opened = Opened::new(&located)?;
    let mut demangler = Demangler::default();
    let mut functions = Vec::new();
    for table in opened.all().flat_map(|elf| [elf.symbols(), elf.dynamic_symbols()]).flatten() {
        for (index, symbol) in table.symbols.iter().enumerate() {
            let kind = symbol.st_type();
            let is_defined = symbol.st_shndx.get(LittleEndian) != elf::SHN_UNDEF;
            if !is_defined || !matches!(kind, elf::STT_FUNC | elf::STT_GNU_IFUNC) {
                continue;
            }
            let Some((name, _)) = ranked(index, &table).filter(|(name, _)| is_entered(name)) else {
                continue;
            };
            functions.push(NamedFunction {
                name: demangler.name(&String::from_utf8_lossy(name)).to_owned(),
                address: symbol.st_value.get(LittleEndian),
                is_indirect: kind == elf::STT_GNU_IFUNC,
            });
        }
    }
    functions.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    functions.dedup();
    let loader = elf.interpreter();
    Ok(FileFunctions { module, loader, functions })
}

/// Whether who calls a function comes to what this symbol names: not to parts that compilers have
/// moved out of it (`f.cold`, `f.part.0`).
fn is_entered(name: &[u8]) -> bool {
    let parts = [&b".cold"[..], b".part.", b".warm"];
    !name.is_empty() && parts.iter().all(|part| memchr::memmem::find(name, part).is_none())
}

#[cfg(test)]
mod tests {
    use super::super::files::DiskFiles;
    use super::*;

    #[test]
    fn this_program_has_its_functions_and_its_loader() {
        let files = DiskFiles::with_debug_folders(Vec::new());
        let found = functions_of(&std::env::current_exe().unwrap(), &files).unwrap();
        let name = "this_program_has_its_functions_and_its_loader";
        let is_it = |function: &&NamedFunction| function.name.ends_with(&format!("tests::{name}"));
        assert!(
            found.functions.iter().any(|function| is_it(&function)),
            "{}",
            found.functions.len()
        );
        assert!(found.loader.unwrap().is_absolute());
        assert!(matches!(found.module, ModuleKey::BuildId(_)));
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let files = DiskFiles::with_debug_folders(Vec::new());
        let text = tempfile::NamedTempFile::new().unwrap();
        assert!(functions_of(text.path(), &files).is_err());
        assert!(functions_of(Path::new("/no/such/file"), &files).is_err());
    }

    #[test]
    fn parts_of_functions_are_not_entered() {
        assert!(is_entered(b"solve") && is_entered(b"solve.constprop.0"));
        assert!(!is_entered(b"solve.cold") && !is_entered(b"solve.part.0") && !is_entered(b""));
    }
}
