//! Copies of modules whose files are gone while they are loaded: unlinked after dlopen, replaced by
//! an upgrade, in a memfd. `csprof record` finds functions in them as in the files.
//!
//! Setup side, at the end of a process and before an exec. Of the program, the copy is the file. Of
//! libraries it is made of the segments in memory that nobody writes, as an ELF file with sections
//! of its own: code, call frame information, the symbols for dynamic linking. All processes of a
//! run share a copy.
//!
//! Invariant: the kernel reads what is mapped, never the collector itself. Memory of a file that
//! was made shorter is there no more (SIGBUS, mmap(2)).

use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use csprof_format::file_identity::{FileIdentity, MOST_COPIED, copy_name};

use super::elf::{LoaderModule, named};
use crate::arena::Arena;
use crate::sys::{self, Errno, File, OwnFile};

/// Files that a process makes at most.
const MOST_FILES: u64 = 256;

static BYTES: AtomicU64 = AtomicU64::new(0);
static FILES: AtomicU64 = AtomicU64::new(0);

impl LoaderModule {
    /// Where the kernel says what is mapped there.
    fn links(&self) -> impl Iterator<Item = CString> {
        let pages = self.unwritten.iter().map(|(segment, _)| sys::pages_of(segment));
        pages.filter_map(|pages| sys::link_of_mapping(&pages))
    }

    /// Whether its path leads to another file than the one that is mapped, or to none.
    pub(super) fn is_gone(&self) -> bool {
        // Where somebody has changed the rights of pages, a segment is no longer one mapping.
        let Some(link) = self.links().find_map(|link| sys::read_link(&link)) else { return false };
        let (mapped, is_gone) = named(link);
        let is_moved = || {
            let path = |bytes: &[u8]| CString::new(bytes).ok().and_then(|path| sys::file_at(&path));
            // Where the process has another root by now, its libraries are not gone.
            let Some(own) = path(&mapped) else { return false };
            let there = path(&self.identity.path).map(|file| (file.device, file.inode));
            there != Some((own.device, own.inode))
        };
        is_gone || mapped != self.identity.path && is_moved()
    }

    /// Its file, if it is the program: the kernel always lets the process open that one.
    fn program(&self) -> Option<OwnFile> {
        let mapped = self.links().find_map(|link| sys::read_link(&link))?;
        let file = (sys::read_link(sys::PROGRAM)? == mapped).then(OwnFile::program).flatten()?;
        // The last name's end changes the time of the last change. What an overwritten file has
        // become is not what was loaded, but neither is what is in memory.
        let known = |file: &FileIdentity| (file.device, file.inode, file.size, file.modified_ns);
        let is_same = |ran: FileIdentity| known(&ran) == known(&file.identity);
        self.identity.file.is_none_or(is_same).then_some(file)
    }
}

/// Keeps a copy of a module that was loaded; why not, if there is none. `is_there` says whether it
/// still is.
pub(super) fn keep(
    module: &LoaderModule,
    arena: &Arena,
    is_there: &dyn Fn() -> bool,
) -> Result<(), String> {
    let identity = &module.identity;
    let Some(name) = copy_name(&identity.build_id, identity.file.as_ref()) else {
        return Err("what file it was is not known".into());
    };
    if arena.has_beside(name.as_bytes()) {
        // Another process of the run has made it.
        return Ok(());
    }
    // Relaxed, here and below: bounds, and the setup side is one thread at a time.
    if FILES.load(Ordering::Relaxed) >= MOST_FILES {
        return Err(format!("{MOST_FILES} others were copied before"));
    }
    let left = || MOST_COPIED.saturating_sub(BYTES.load(Ordering::Relaxed));
    let write = |size: u64, fill: &dyn Fn(&File) -> Option<u64>| {
        if size > left() {
            return Err(format!("it has {} MiB, and {} may be copied", size >> 20, left() >> 20));
        }
        match arena.write_beside(name.as_bytes(), size, fill) {
            Ok(written) => {
                BYTES.fetch_add(written, Ordering::Relaxed);
                FILES.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(Errno(libc::EIO)) => Err("it could not be read, or was being unloaded".into()),
            Err(Errno(errno)) => Err(format!("no copy could be made (error {errno})")),
        }
    };
    if let Some(file) = module.program() {
        let size = file.identity.size;
        let fill = |to: &File| file.append_to(to, size).filter(|copied| *copied == size);
        if write(size, &fill).is_ok() {
            return Ok(());
        }
    }
    let image = Image::of(module).ok_or("it cannot be read")?;
    let fill = |to: &File| {
        let is_whole = to.append(&image.head)
            && image.segments.iter().all(|segment| to.append_memory(segment))
            && is_there();
        is_whole.then_some(image.size)
    };
    write(image.size, &fill)
}

/// An ELF file made of segments in memory: headers, then the segments one after the other.
struct Image {
    head: Vec<u8>,
    segments: Vec<Range<u64>>,
    /// Of all, in bytes.
    size: u64,
}

/// A section header (ELF gABI, sections), but for its place in the file.
struct Section {
    /// Where its name begins in [`NAMES`].
    name: u32,
    kind: u32,
    flags: u64,
    /// Runtime addresses; of what is in the head, offsets there.
    range: Range<u64>,
    link: u32,
    entry: u64,
}

const NAMES: &[u8] = b"\0.shstrtab\0.note\0.eh_frame\0.dynstr\0.dynsym\0.text\0";

const HEADER: u64 = size_of::<libc::Elf64_Ehdr>() as u64;
const SEGMENT: u64 = size_of::<libc::Elf64_Phdr>() as u64;
const SECTION: u64 = size_of::<libc::Elf64_Shdr>() as u64;

/// Types and flags of sections (ELF gABI).
const PROGRAM_BITS: u32 = 1;
const STRINGS: u32 = 3;
const NOTE: u32 = 7;
const DYNAMIC_SYMBOLS: u32 = 11;
const ALLOCATED: u64 = 2;
const EXECUTABLE: u64 = 4;

impl Image {
    fn of(module: &LoaderModule) -> Option<Self> {
        let segments = &module.unwritten;
        let in_segment = |range: &Range<u64>| {
            let holds = |(segment, _): &(Range<u64>, bool)| {
                segment.start <= range.start && range.end <= segment.end
            };
            segments.iter().any(holds).then(|| range.clone())
        };
        let mut note = Vec::new();
        if !module.identity.build_id.is_empty() {
            let size = module.identity.build_id.len() as u32;
            [4, size, 3].iter().for_each(|word: &u32| note.extend(word.to_le_bytes()));
            note.extend(b"GNU\0");
            note.extend(&module.identity.build_id);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        let section = |name: &[u8], kind, flags, range| {
            let at = NAMES.windows(name.len()).position(|part| part == name).unwrap_or(0);
            Section { name: at as u32, kind, flags, range, link: 0, entry: 0 }
        };
        let names_at = HEADER + segments.len() as u64 * SEGMENT;
        let note_at = (names_at + NAMES.len() as u64).next_multiple_of(4);
        let table_at = (note_at + note.len() as u64).next_multiple_of(8);
        let mut sections = alloc::vec![
            section(b"\0", 0, 0, 0..0),
            section(b".shstrtab\0", STRINGS, 0, names_at..names_at + NAMES.len() as u64),
        ];
        let in_head = 3;
        sections.push(section(b".note\0", NOTE, 0, note_at..note_at + note.len() as u64));
        if let Some(range) = module.eh_frame().and_then(|range| in_segment(&range)) {
            sections.push(section(b".eh_frame\0", PROGRAM_BITS, ALLOCATED, range));
        }
        if let Some((symbols, strings)) = module.dynamic_symbols()
            && let (Some(symbols), Some(strings)) = (in_segment(&symbols), in_segment(&strings))
        {
            let link = sections.len() as u32;
            sections.push(section(b".dynstr\0", STRINGS, ALLOCATED, strings));
            let table = section(b".dynsym\0", DYNAMIC_SYMBOLS, ALLOCATED, symbols);
            sections.push(Section { link, entry: 24, ..table });
        }
        for (code, _) in segments.iter().filter(|(_, is_code)| *is_code) {
            let flags = ALLOCATED | EXECUTABLE;
            sections.push(section(b".text\0", PROGRAM_BITS, flags, code.clone()));
        }
        let head_size = table_at + sections.len() as u64 * SECTION;

        let mut head = Vec::new();
        // ELF, 64 bits, little-endian, version 1; shared object of this machine.
        head.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        let put_u16 = |head: &mut Vec<u8>, value: u64| head.extend((value as u16).to_le_bytes());
        let put_u32 = |head: &mut Vec<u8>, value: u64| head.extend((value as u32).to_le_bytes());
        let put_u64 = |head: &mut Vec<u8>, value: u64| head.extend(value.to_le_bytes());
        put_u16(&mut head, libc::ET_DYN.into());
        put_u16(&mut head, crate::arch::ELF_MACHINE.into());
        put_u32(&mut head, 1);
        [0, HEADER, table_at].iter().for_each(|value| put_u64(&mut head, *value));
        put_u32(&mut head, 0);
        let counts = [HEADER, SEGMENT, segments.len() as u64, SECTION, sections.len() as u64, 1];
        counts.iter().for_each(|value| put_u16(&mut head, *value));
        let virtual_address = |address: u64| address.wrapping_sub(module.bias);
        let mut places = Vec::new();
        let mut end = head_size;
        for (segment, is_code) in segments {
            let size = segment.end - segment.start;
            put_u32(&mut head, libc::PT_LOAD.into());
            put_u32(&mut head, (libc::PF_R | if *is_code { libc::PF_X } else { 0 }).into());
            let address = virtual_address(segment.start);
            [end, address, address, size, size, 1].iter().for_each(|v| put_u64(&mut head, *v));
            places.push((segment.clone(), end));
            end = end.checked_add(size)?;
        }
        head.extend(NAMES);
        head.resize(note_at as usize, 0);
        head.extend(&note);
        head.resize(table_at as usize, 0);
        for (number, section) in sections.iter().enumerate() {
            let Section { name, kind, flags, range, link, entry } = section;
            let place = places.iter().find(|(segment, _)| segment.contains(&range.start));
            let (address, offset) = match place.filter(|_| number >= in_head) {
                Some((segment, at)) => {
                    (virtual_address(range.start), at + (range.start - segment.start))
                }
                None => (0, range.start),
            };
            [*name, *kind].iter().for_each(|value| put_u32(&mut head, (*value).into()));
            let size = range.end - range.start;
            [*flags, address, offset, size].iter().for_each(|v| put_u64(&mut head, *v));
            // The first symbol is the only local one (gABI, symbol table).
            let info = u64::from(*kind == DYNAMIC_SYMBOLS);
            [(*link).into(), info].iter().for_each(|value| put_u32(&mut head, *value));
            [1, *entry].iter().for_each(|value| put_u64(&mut head, *value));
        }
        let segments = segments.iter().map(|(segment, _)| segment.clone()).collect();
        Some(Self { head, segments, size: end })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::prelude::rust_2024::*;

    use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

    use super::*;
    use crate::modules::discovery::WithCode;
    use crate::modules::tests::loaded_modules;

    fn built(image: &Image) -> Vec<u8> {
        let mut file = image.head.clone();
        let mut memory = std::fs::File::open("/proc/self/mem").unwrap();
        for segment in &image.segments {
            std::io::Seek::seek(&mut memory, std::io::SeekFrom::Start(segment.start)).unwrap();
            memory.by_ref().take(segment.end - segment.start).read_to_end(&mut file).unwrap();
        }
        assert_eq!(file.len() as u64, image.size);
        file
    }

    /// What the files of this test have for the dynamic linker and the unwinder, the images have.
    #[test]
    fn an_image_has_what_the_file_has() {
        let modules = loaded_modules();
        let mut symbols = 0;
        for (module, _) in modules {
            let path = String::from_utf8(module.identity.path.clone()).unwrap();
            let Ok(file) = std::fs::read(&path) else { continue };
            let file = object::File::parse(&*file).unwrap();
            let image = built(&Image::of(&module).unwrap());
            let image = object::File::parse(&*image).unwrap();
            assert_eq!(image.build_id().unwrap(), file.build_id().unwrap(), "{path}");
            let exported = |file: &object::File<'_>| -> Vec<(String, u64, u64)> {
                let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
                let of =
                    |s: object::Symbol<'_, '_>| (s.name().unwrap().into(), s.address(), s.size());
                symbols.map(of).collect()
            };
            // The hash table, which tells how many there are, has what is defined.
            assert_eq!(exported(&image), exported(&file), "{path}");
            symbols += exported(&image).len();
            for name in [".eh_frame", ".text"] {
                let (own, there) = (file.section_by_name(name), image.section_by_name(name));
                let (Some(own), Some(there)) = (own, there) else { continue };
                if name == ".eh_frame" {
                    assert_eq!(there.address(), own.address(), "{path}");
                }
                let at = (own.address() - there.address()) as usize;
                let (own, there) = (own.data().unwrap(), there.data().unwrap());
                assert!(there[at..].starts_with(own), "{path}: {name}");
            }
        }
        assert!(symbols > 1000, "{symbols}");
    }

    #[test]
    fn files_that_are_there_are_not_gone() {
        let modules = loaded_modules();
        let is_gone = |module: &&WithCode| module.0.is_gone();
        let gone: Vec<_> = modules.iter().filter(is_gone).map(|m| &m.0.identity).collect();
        assert!(gone.is_empty(), "{gone:?}");
    }
}
