//! The files that a process has mapped code of: which they are, and their call frame information.
//!
//! A file is opened as the process sees it, which may have other mounts than csprof, and believed
//! if it has the inode that is mapped. What of it is needed is read and not mapped: others may cut
//! it off at any time.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use csprof_format::file_identity::{FileIdentity, copy_name};
use nix::fcntl::OFlag;
use object::LittleEndian;
use object::elf::{self, FileHeader64, ProgramHeader64, SectionHeader64};
use object::pod::{self, from_bytes};

use super::mappings::{CodeMapping, code_mappings};
use super::recipe::{Recipe, Section, Tables};

/// What the kernel calls its own module in every process.
const VDSO: &[u8] = b"[vdso]";

/// A load module.
#[derive(Debug)]
pub(super) struct Module {
    /// As the process calls it.
    pub(super) path: Vec<u8>,
    /// Empty if there is none, or the file is not to be had.
    pub(super) build_id: Vec<u8>,
    /// The file, if it has no build id.
    pub(super) identity: Option<FileIdentity>,
    /// The file that was read; `None` of the vdso, and of a file that could not be read.
    read: Option<FileIdentity>,
    /// Its code: offset in the file, bytes, and address that it is linked to.
    code: Vec<(u64, u64, u64)>,
    tables: Tables,
    /// By address in the module.
    recipes: std::cell::RefCell<HashMap<u64, Rc<Recipe>>>,
}

impl Module {
    /// Runtime address minus module address of a mapping.
    pub(super) fn bias(&self, mapping: &CodeMapping) -> u64 {
        let page = |offset: u64| offset & !(PAGE - 1);
        let segment = self.code.iter().find(|&&(offset, bytes, _)| {
            (page(offset)..offset.saturating_add(bytes)).contains(&mapping.offset)
        });
        let (offset, _, address) = segment.copied().unwrap_or_default();
        let start = mapping.start.wrapping_sub(mapping.offset);
        start.wrapping_sub(address.wrapping_sub(offset))
    }

    /// Whether it was read, and the file is unchanged, as far as it can be asked: inodes are used
    /// again, and files are written in place. What could not be read of a process that has ended
    /// can be of the next one.
    fn is_still(&self, process: u32) -> bool {
        let Some(read) = self.read else { return self.path == VDSO };
        let file =
            fs::metadata(place_of(process, &self.path)).map(|file| FileIdentity::from(&file));
        file.map_or(true, |now| now.inode != read.inode || now == read)
    }

    /// How the frame is left whose code is at this address of the module.
    pub(super) fn recipe(&self, address: u64) -> Rc<Recipe> {
        let mut recipes = self.recipes.borrow_mut();
        let found = recipes.entry(address).or_insert_with(|| Rc::new(self.tables.recipe(address)));
        Rc::clone(found)
    }
}

/// Bytes of a page of x86-64.
const PAGE: u64 = 4096;

/// By which a mapped file is known: its device, inode and path.
pub(super) type Key = ((u32, u32), u64, Vec<u8>);

/// Modules that are kept though no process has them mapped any more: others may have.
const MOST_UNUSED: usize = 256;
/// Of what cannot be read so much is told.
const MOST_UNREAD: usize = 256;

/// All modules that were met.
#[derive(Debug, Default)]
pub(super) struct Modules {
    known: HashMap<Key, Rc<Module>>,
    /// Files that cannot be reached by their paths, by the names of [copies](copy_name).
    pub(super) copies: HashMap<String, File>,
    /// What could not be read, and why.
    unread: BTreeMap<Unread, String>,
}

/// What could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unread {
    /// The file of a module.
    File(Key),
    /// The unwind tables of one.
    Tables(Key),
    /// What a process has mapped.
    Mappings(u32),
}

impl Modules {
    /// The module that a process has mapped.
    pub(super) fn of(&mut self, process: u32, mapping: &CodeMapping) -> Rc<Module> {
        let key = (mapping.device, mapping.inode, mapping.path.clone());
        if let Some(known) = self.known.get(&key).filter(|known| known.is_still(process)) {
            return Rc::clone(known);
        }
        let module = Rc::new(self.read(process, mapping, &key));
        if self.known.len() >= MOST_UNUSED {
            self.known.retain(|_, known| Rc::strong_count(known) > 1);
        }
        self.known.insert(key, Rc::clone(&module));
        module
    }

    /// Notes what could not be read, and why.
    pub(super) fn note_unread(&mut self, what: Unread, why: String) {
        if self.unread.len() < MOST_UNREAD {
            self.unread.insert(what, why);
        }
    }

    /// What could not be read, and why.
    pub(super) fn unread(&self) -> impl Iterator<Item = &String> {
        self.unread.values()
    }

    fn read(&mut self, process: u32, mapping: &CodeMapping, key: &Key) -> Module {
        let path = mapping.path.strip_suffix(b" (deleted)").unwrap_or(&mapping.path);
        let nothing = Module {
            path: path.to_vec(),
            build_id: Vec::new(),
            identity: None,
            read: None,
            code: Vec::new(),
            tables: Tables::default(),
            recipes: Default::default(),
        };
        if path == VDSO {
            let image = vdso().and_then(|image| parse(&image));
            return match image {
                Ok(parts) => parts.into_module(nothing),
                Err(_) => nothing,
            };
        }
        let read = open(process, mapping, path)
            .and_then(|file| Ok((parse(&Bytes::File(&file))?, file.metadata()?, file)));
        let (parts, metadata, file) = match read {
            Ok(read) => read,
            Err(error) => {
                let told = format!("{}: {error}", path.escape_ascii());
                self.note_unread(Unread::File(key.clone()), told);
                let (device, inode) = (device_number(mapping.device), mapping.inode);
                let unknown = FileIdentity { device, inode, ..FileIdentity::default() };
                return Module { identity: Some(unknown), ..nothing };
            }
        };
        self.unread.remove(&Unread::File(key.clone()));
        if let Err(error) = &parts.tables {
            let told = format!("unwind tables of {}: {error}", path.escape_ascii());
            self.note_unread(Unread::Tables(key.clone()), told);
        }
        let identity = FileIdentity::from(&metadata);
        let mut module = Module { read: Some(identity), ..parts.into_module(nothing) };
        if module.build_id.is_empty() {
            module.identity = Some(identity);
        }
        let here = fs::metadata(OsStr::from_bytes(path));
        if !here.is_ok_and(|here| is_same_file(&here, &metadata))
            && let Some(name) = copy_name(&module.build_id, module.identity.as_ref())
        {
            self.copies.insert(name, file);
        }
        module
    }
}

fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn device_number((major, minor): (u32, u32)) -> u64 {
    nix::libc::makedev(major, minor)
}

/// Opens the file of a mapping: by the mapping itself, which needs rights, or where the process, or
/// csprof, has it.
fn open(process: u32, mapping: &CodeMapping, path: &[u8]) -> io::Result<File> {
    let own = PathBuf::from(format!("/proc/{process}"));
    let mapped = own.join(format!("map_files/{:x}-{:x}", mapping.start, mapping.end));
    let places = [place_of(process, path), own.join("exe"), PathBuf::from(OsStr::from_bytes(path))];
    let is_it = |file: &File| {
        file.metadata().is_ok_and(|file| file.is_file() && file.ino() == mapping.inode)
    };
    if let Some(file) = open_file(&mapped).ok().filter(is_it) {
        return Ok(file);
    }
    let mut refusal = None;
    for place in &places {
        match open_file(place) {
            Ok(file) if is_it(&file) => return Ok(file),
            Ok(_) => {}
            // It is not there, or the process is not.
            Err(error) if is_gone(&error) => {}
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.unwrap_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, "its file is gone, or another one")
    }))
}

fn is_gone(error: &io::Error) -> bool {
    use nix::libc::{ENOENT, ENOTDIR, ESRCH};
    [ENOENT, ENOTDIR, ESRCH].map(Some).contains(&error.raw_os_error())
}

/// Where a path of a process leads from here.
fn place_of(process: u32, path: &[u8]) -> PathBuf {
    let relative = path.strip_prefix(b"/").unwrap_or(path);
    PathBuf::from(format!("/proc/{process}/root")).join(OsStr::from_bytes(relative))
}

fn open_file(path: &Path) -> io::Result<File> {
    // A pipe would wait for a writer.
    let flags = (OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).bits();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Where an image of a module can be read.
enum Bytes<'a> {
    File(&'a File),
    Memory(Vec<u8>),
}

/// Most bytes of tables that are read of one module.
const MOST_BYTES: u64 = 256 << 20;

impl Bytes<'_> {
    fn at(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        if length > MOST_BYTES {
            return Err(no_module("its tables are too large"));
        }
        match self {
            Self::File(file) => {
                let length = length.min(file.metadata()?.len().saturating_sub(offset));
                let mut bytes = vec![0; length as usize];
                file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes)
            }
            Self::Memory(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|start| bytes.get(start..));
                let rest = rest.unwrap_or_default();
                Ok(rest.get(..length as usize).unwrap_or(rest).to_vec())
            }
        }
    }
}

fn no_module(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// What is needed of an image.
struct Parts {
    build_id: Vec<u8>,
    code: Vec<(u64, u64, u64)>,
    /// Or why they cannot be read.
    tables: io::Result<Tables>,
}

impl Parts {
    fn into_module(self, nothing: Module) -> Module {
        let Self { build_id, code, tables } = self;
        Module { build_id, code, tables: tables.unwrap_or_default(), ..nothing }
    }
}

type Header = ProgramHeader64<LittleEndian>;

/// Reads program headers, and by them build id and call frame information.
fn parse(image: &Bytes<'_>) -> io::Result<Parts> {
    const E: LittleEndian = LittleEndian;
    let head = image.at(0, size_of::<FileHeader64<LittleEndian>>() as u64)?;
    let (file, _) = from_bytes::<FileHeader64<LittleEndian>>(&head)
        .map_err(|()| no_module("it is no program"))?;
    let is_elf = file.e_ident.magic == elf::ELFMAG && file.e_ident.class == elf::ELFCLASS64;
    let size = u64::from(file.e_phentsize.get(E));
    if !is_elf || size != size_of::<Header>() as u64 {
        return Err(no_module("it is no 64-bit ELF file"));
    }
    let count = file.e_phnum.get(E);
    let bytes = image.at(file.e_phoff.get(E), size * u64::from(count))?;
    let (headers, _) = pod::slice_from_bytes::<Header>(&bytes, count.into())
        .map_err(|()| no_module("its program headers are cut off"))?;
    let of_kind =
        |kind: elf::ProgramType| headers.iter().filter(move |header| header.p_type.get(E) == kind);
    let code = of_kind(elf::PT_LOAD)
        .filter(|header| header.p_flags.get(E).0 & elf::PF_X.0 != 0)
        .map(|header| (header.p_offset.get(E), header.p_filesz.get(E), header.p_vaddr.get(E)))
        .collect();
    let section = |header: &Header| -> io::Result<Section> {
        let bytes = image.at(header.p_offset.get(E), header.p_filesz.get(E))?;
        Ok(Section { address: header.p_vaddr.get(E), bytes })
    };
    let mut build_id = Vec::new();
    for notes in of_kind(elf::PT_NOTE) {
        if build_id.is_empty() {
            build_id = build_id_of(&section(notes)?.bytes).unwrap_or_default().to_vec();
        }
    }
    let header = of_kind(elf::PT_GNU_EH_FRAME).next().map(section).transpose();
    let tables = header.and_then(|header| match header {
        Some(header) => {
            let end = |load: &Header| load.p_vaddr.get(E).saturating_add(load.p_filesz.get(E));
            let place = Tables::frames_of(&header).and_then(|address| {
                let load = of_kind(elf::PT_LOAD)
                    .find(|load| (load.p_vaddr.get(E)..end(load)).contains(&address))?;
                let offset = load.p_offset.get(E).wrapping_add(address - load.p_vaddr.get(E));
                Some((address, offset, end(load) - address))
            });
            let frames = place.map(|(address, offset, length)| {
                image.at(offset, length).map(|bytes| Section { address, bytes })
            });
            Ok(Tables::with_header(header, frames.transpose()?.unwrap_or_default()))
        }
        None => Ok(Tables::without_header(frame_section(image, file)?)),
    });
    Ok(Parts { build_id, code, tables })
}

/// `.eh_frame` by its name among the sections; empty if there is none.
fn frame_section(image: &Bytes<'_>, file: &FileHeader64<LittleEndian>) -> io::Result<Section> {
    const E: LittleEndian = LittleEndian;
    let (size, count) = (u64::from(file.e_shentsize.get(E)), file.e_shnum.get(E));
    if size != size_of::<SectionHeader64<LittleEndian>>() as u64 {
        return Ok(Section::default());
    }
    let bytes = image.at(file.e_shoff.get(E), size * u64::from(count))?;
    let (headers, _) = pod::slice_from_bytes::<SectionHeader64<LittleEndian>>(&bytes, count.into())
        .map_err(|()| no_module("its section headers are cut off"))?;
    let Some(strings) = headers.get(usize::from(file.e_shstrndx.get(E).0)) else {
        return Ok(Section::default());
    };
    let strings = image.at(strings.sh_offset.get(E), strings.sh_size.get(E))?;
    let is_it = |header: &&SectionHeader64<LittleEndian>| {
        let name = strings.get(header.sh_name.get(E) as usize..).unwrap_or_default();
        name.starts_with(b".eh_frame\0")
    };
    headers.iter().find(is_it).map_or(Ok(Section::default()), |header| {
        let bytes = image.at(header.sh_offset.get(E), header.sh_size.get(E))?;
        Ok(Section { address: header.sh_addr.get(E), bytes })
    })
}

/// The GNU build id among notes (elf(5), "Notes").
fn build_id_of(mut notes: &[u8]) -> Option<&[u8]> {
    const GNU_BUILD_ID: u32 = 3;
    loop {
        let (words, rest) = notes.split_first_chunk::<12>()?;
        let word = |at: usize| {
            words
                .get(at..)
                .and_then(|rest| rest.first_chunk())
                .map(|word| u32::from_le_bytes(*word))
        };
        let (name, content, kind) = (word(0)?, word(4)?, word(8)?);
        let padded = |length: u32| (length as usize).checked_next_multiple_of(4);
        let (name, rest) = rest.split_at_checked(padded(name)?)?;
        if kind == GNU_BUILD_ID && name == b"GNU\0" {
            return rest.get(..content as usize);
        }
        notes = rest.get(padded(content)?..)?;
    }
}

/// The vdso, which is one for all processes.
fn vdso() -> io::Result<Bytes<'static>> {
    let maps = fs::read("/proc/self/maps")?;
    let mut mappings = code_mappings(&maps);
    let vdso = mappings.find(|mapping| mapping.path == VDSO);
    let vdso = vdso.ok_or_else(|| no_module("this kernel maps no vdso"))?;
    let mut bytes = vec![0; (vdso.end - vdso.start).min(MOST_BYTES) as usize];
    File::open("/proc/self/mem")?.read_exact_at(&mut bytes, vdso.start)?;
    Ok(Bytes::Memory(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::skip;

    #[test]
    fn the_own_program_has_code_and_tables() {
        let file = File::open("/proc/self/exe").unwrap();
        let parts = parse(&Bytes::File(&file)).unwrap();
        assert!(!parts.code.is_empty());
        let here = the_own_program_has_code_and_tables as *const () as u64;
        let maps = fs::read("/proc/self/maps").unwrap();
        let own = code_mappings(&maps)
            .find(|mapping| (mapping.start..mapping.end).contains(&here))
            .unwrap();
        let module = Modules::default().of(std::process::id(), &own);
        let recipe = module.recipe(here.wrapping_sub(module.bias(&own)));
        assert!(matches!(&*recipe, Recipe::Rules(_)), "{recipe:?}");
        // Programs that are linked statically have no header of the tables.
        let head = fs::read("/proc/self/exe").unwrap();
        let (head, _) = from_bytes::<FileHeader64<LittleEndian>>(&head).unwrap();
        let frames = frame_section(&Bytes::File(&file), head).unwrap();
        let address = here.wrapping_sub(module.bias(&own));
        assert_eq!(Tables::without_header(frames).recipe(address), *recipe);
        assert_eq!(*module.recipe(0), Recipe::None);
    }

    #[test]
    fn a_module_without_readable_tables_is_known_all_the_same() {
        let mut image = fs::read("/bin/true").unwrap();
        let whole = parse(&Bytes::Memory(image.clone())).unwrap();
        let place = size_of::<FileHeader64<LittleEndian>>();
        for header in image[place..].chunks_exact_mut(size_of::<Header>()) {
            if header[..4] == elf::PT_GNU_EH_FRAME.0.to_le_bytes() {
                // `p_filesz`
                header[32..40].copy_from_slice(&(MOST_BYTES + 1).to_le_bytes());
                break;
            }
        }
        let parts = parse(&Bytes::Memory(image)).unwrap();
        assert!(whole.tables.is_ok() && parts.tables.is_err());
        assert_eq!((parts.build_id, parts.code), (whole.build_id, whole.code));
    }

    #[test]
    fn a_file_that_is_written_anew_is_another_module() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::copy("/bin/true", &path).unwrap();
        let mapping = CodeMapping {
            start: 0x1000,
            end: 0x2000,
            offset: 0,
            device: (0, 0),
            inode: fs::metadata(&path).unwrap().ino(),
            path: path.as_os_str().as_bytes().to_vec(),
        };
        let mut modules = Modules::default();
        let mut module = || modules.of(std::process::id(), &mapping);
        let first = module();
        assert!(!first.code.is_empty());
        assert!(Rc::ptr_eq(&first, &module()));
        fs::write(&path, fs::read("/bin/ls").unwrap()).unwrap();
        let second = module();
        assert!(!Rc::ptr_eq(&first, &second));
        assert_ne!(first.code, second.code);
    }

    #[test]
    fn a_file_that_could_not_be_read_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let [path, away] = ["program", "away"].map(|name| folder.path().join(name));
        fs::copy("/bin/true", &away).unwrap();
        let mapping = CodeMapping {
            start: 0x1000,
            end: 0x2000,
            offset: 0,
            device: (0, 0),
            inode: fs::metadata(&away).unwrap().ino(),
            path: path.as_os_str().as_bytes().to_vec(),
        };
        let mut modules = Modules::default();
        assert!(modules.of(std::process::id(), &mapping).code.is_empty());
        let told: Vec<String> = modules.unread().cloned().collect();
        assert_eq!(told, [format!("{}: its file is gone, or another one", path.display())]);
        fs::rename(away, path).unwrap();
        assert!(!modules.of(std::process::id(), &mapping).code.is_empty());
        assert_eq!(modules.unread().count(), 0);
    }

    #[test]
    fn modules_that_nobody_uses_are_kept_in_part() {
        let mut modules = Modules::default();
        let mut module = |inode: u64| {
            let path = b"/no/such/file".to_vec();
            let mapping = CodeMapping { start: 0, end: 1, offset: 0, device: (0, 0), inode, path };
            modules.of(std::process::id(), &mapping)
        };
        let used = module(0);
        for inode in 1..=MOST_UNUSED as u64 + 1 {
            module(inode);
        }
        assert_eq!(modules.unread.len(), MOST_UNREAD);
        assert!(modules.known.len() < MOST_UNUSED);
        assert!(modules.known.values().any(|known| Rc::ptr_eq(known, &used)));
    }

    #[test]
    fn the_vdso_is_read_from_memory() {
        let Ok(image) = vdso() else {
            return skip("the vdso", "this kernel maps none");
        };
        assert!(!parse(&image).unwrap().code.is_empty());
    }

    #[test]
    fn what_is_no_elf_file_is_no_module() {
        for bytes in [&b""[..], b"#!/bin/sh\n", &[0x7f; 4096]] {
            assert!(parse(&Bytes::Memory(bytes.to_vec())).is_err());
        }
        assert_eq!(build_id_of(&[4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0]), None);
    }
}
