//! One ELF file, opened: its build id, its links to other files, its sections.
//!
//! The only place that knows how bytes become sections; symbol tables, call frame information and
//! DWARF are read from what it returns. Only 64-bit little-endian files are read, which is what
//! the collector runs in.

use core::cell::{Cell, OnceCell};
use core::ops::Range;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use object::elf::{self, FileHeader64};
use object::read::ReadRef as _;
use object::read::elf::{ElfFile64, ProgramHeader as _, SectionHeader as _, VersionTable};
use object::{LittleEndian, Object as _, ObjectSection as _, SymbolIndex};

use super::bytes::FileBytes;

/// The header types of the files that are read.
type Header = FileHeader64<LittleEndian>;

/// One entry of a symbol table.
pub(super) type RawSymbol = elf::Sym64<LittleEndian>;

/// One relocation.
pub(super) type RawRelocation = elf::Rela64<LittleEndian>;

/// A parsed ELF file.
pub(super) struct Elf<'data> {
    file: ElfFile64<'data, LittleEndian, &'data FileBytes>,
    /// What code names, ordered; read when first needed.
    named: OnceCell<Vec<u64>>,
}

/// A section whose contents are in the file.
pub(super) struct Section<'data> {
    /// ELF virtual address of its first byte.
    pub(super) address: u64,
    /// Its contents, decompressed where needed.
    pub(super) bytes: Cow<'data, [u8]>,
}

/// A symbol table with its strings.
#[derive(Debug)]
pub(super) struct RawSymbols<'data> {
    /// Entries, the null symbol first.
    pub(super) symbols: &'data [RawSymbol],
    /// The last byte is 0, if there is one.
    strings: &'data [u8],
    versions: VersionTable<'data, Header>,
    /// Bytes that may yet be read as names: in a damaged file every symbol may have the same long
    /// one.
    unread: Cell<usize>,
}

/// Bytes of code at most that are gone through from end to end: of a file with holes there may be
/// terabytes. What calls by distances of 32 bits is smaller than 2 GiB.
const MOST_CODE: u64 = 2 << 30;

/// Bytes of a name at most: in a damaged file every symbol could have all strings for its name.
const LONGEST_NAME: usize = 1 << 18;

/// Bytes of all names of a table at most. Symbols and relocations share names, of a few bytes
/// mostly.
fn most_read(strings: &[u8]) -> usize {
    strings.len().saturating_mul(16).saturating_add(1 << 24)
}

impl<'data> RawSymbols<'data> {
    /// A table with the strings of a section; behind the last 0 there is no name.
    fn new(symbols: &'data [RawSymbol], strings: &'data [u8]) -> Self {
        let end = memchr::memrchr(0, strings).map_or(0, |last| last + 1);
        let strings = &strings[..end];
        let versions = VersionTable::default();
        Self { symbols, strings, versions, unread: Cell::new(most_read(strings)) }
    }

    /// The version that the symbol with this number has in `.gnu.version`, and whether it is
    /// hidden: not the one that a program gets that is linked now (gABI supplement of GNU, symbol
    /// versioning).
    pub(super) fn version(&self, index: usize) -> Option<(&'data [u8], bool)> {
        let index = self.versions.version_index(LittleEndian, SymbolIndex(index));
        let version = self.versions.version(index.index()).ok().flatten()?;
        Some((version.name(), index.is_hidden()))
    }

    /// The name of a symbol of this table; `None` if it lies outside the strings, or has more than
    /// 256 KiB, or if names have been read of 16 MiB and 16 times the strings.
    pub(super) fn name(&self, symbol: &RawSymbol) -> Option<&'data [u8]> {
        let tail = self.strings.get(symbol.st_name.get(LittleEndian) as usize..)?;
        let unread = self.unread.get();
        let longest = &tail[..tail.len().min(LONGEST_NAME + 1).min(unread)];
        let end = memchr::memchr(0, longest);
        self.unread.set(unread - end.map_or(longest.len(), |end| end + 1));
        Some(&tail[..end?])
    }
}

impl<'data> Elf<'data> {
    /// Reads the headers of a file.
    pub(super) fn parse(bytes: &'data FileBytes) -> Result<Self, String> {
        let file = ElfFile64::parse(bytes)
            .map_err(|error| format!("not a readable 64-bit little-endian ELF file: {error}"))?;
        Ok(Self { file, named: OnceCell::new() })
    }

    /// The GNU build id; empty if the file has none.
    pub(super) fn build_id(&self) -> &'data [u8] {
        self.file.build_id().ok().flatten().unwrap_or_default()
    }

    /// `.gnu_debuglink`: the file name of the separate debug file, and the CRC-32 of its bytes.
    pub(super) fn debug_link(&self) -> Option<(&'data [u8], u32)> {
        self.file.gnu_debuglink().ok().flatten()
    }

    /// `.gnu_debugaltlink`: path and build id of the file that dwz(1) moved shared DWARF to.
    pub(super) fn debug_alt_link(&self) -> Option<(&'data [u8], &'data [u8])> {
        self.file.gnu_debugaltlink().ok().flatten()
    }

    /// Whether the file has DWARF of its own.
    pub(super) fn has_dwarf(&self) -> bool {
        [".debug_info", ".debug_line"].iter().any(|name| {
            // Also finds `.zdebug_info`, as older linkers called it when they compressed it.
            self.file.section_by_name(name).is_some_and(|section| {
                section.elf_section_header().sh_type(LittleEndian) != elf::SHT_NOBITS
            })
        })
    }

    /// Whether the file is loaded at the very addresses that it names.
    pub(super) fn is_fixed(&self) -> bool {
        self.file.elf_header().e_type.get(LittleEndian) == elf::ET_EXEC
    }

    /// The program interpreter that the file asks for.
    pub(super) fn interpreter(&self) -> Option<PathBuf> {
        let segments = self.file.elf_program_headers().iter();
        let mut interpreters =
            segments.filter(|segment| segment.p_type(LittleEndian) == elf::PT_INTERP);
        let segment = interpreters.next()?;
        let (at, size) = (segment.p_offset(LittleEndian), segment.p_filesz(LittleEndian));
        let bytes = self.file.data().read_bytes_at(at, size.min(4096)).ok()?;
        let path = bytes.split(|&byte| byte == 0).next()?;
        Some(PathBuf::from(OsStr::from_bytes(path)))
    }

    /// Whether the file has a full symbol table, not only the one for dynamic linking.
    pub(super) fn has_symbol_table(&self) -> bool {
        !self.file.elf_symbol_table().is_empty()
    }

    /// Whether the file defines functions for others to call.
    pub(super) fn exports_functions(&self) -> bool {
        self.dynamic_symbols().is_ok_and(|table| {
            table.symbols.iter().any(|symbol| {
                matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC)
                    && symbol.st_shndx.get(LittleEndian) != elf::SHN_UNDEF
            })
        })
    }

    /// Whether the file defines a symbol of this name for others.
    pub(super) fn defines(&self, name: &[u8]) -> bool {
        self.dynamic_symbols().is_ok_and(|table| {
            table.symbols.iter().any(|symbol| {
                symbol.st_shndx.get(LittleEndian) != elf::SHN_UNDEF
                    && table.name(symbol) == Some(name)
            })
        })
    }

    /// Contents of the section with this name; `None` if there is none, or (as in separate debug
    /// files) its contents are elsewhere.
    pub(super) fn section(&self, name: &str) -> Result<Option<Section<'data>>, String> {
        let Some(section) = self.file.section_by_name(name) else { return Ok(None) };
        if section.elf_section_header().sh_type(LittleEndian) == elf::SHT_NOBITS {
            return Ok(None);
        }
        let bytes =
            section.uncompressed_data().map_err(|error| format!("section '{name}': {error}"))?;
        Ok(Some(Section { address: section.address(), bytes }))
    }

    /// Address ranges of the sections with code, ordered by address.
    pub(super) fn code(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<_> = self
            .file
            .elf_section_table()
            .iter()
            .filter(|header| {
                header.sh_flags(LittleEndian).contains(elf::SHF_EXECINSTR)
                    && header.sh_addr(LittleEndian) != 0
            })
            .map(|header| {
                let start = header.sh_addr(LittleEndian);
                start..start.saturating_add(header.sh_size(LittleEndian))
            })
            .collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges
    }

    /// The bytes of loaded code at these addresses; `None` if they are not all in the file.
    pub(super) fn code_at(&self, addresses: Range<u64>) -> Option<&'data [u8]> {
        self.loaded_at(addresses, elf::PF_X)
    }

    /// Hands over the segments with code that are in the file as a whole, and where they are
    /// loaded; together no more than the file has, and no more than [`MOST_CODE`].
    fn for_each_code_segment(&self, mut each: impl FnMut(u64, &'data [u8])) {
        let Ok(size) = self.file.data().len() else { return };
        let mut rest = size.min(MOST_CODE);
        for segment in self.file.elf_program_headers() {
            let is_code = segment.p_type(LittleEndian) == elf::PT_LOAD
                && segment.p_flags(LittleEndian).contains(elf::PF_X);
            let (at, size) = (segment.p_offset(LittleEndian), segment.p_filesz(LittleEndian));
            let Some(left) = rest.checked_sub(size).filter(|_| is_code) else { continue };
            if let Ok(bytes) = self.file.data().read_bytes_at(at, size) {
                rest = left;
                each(segment.p_vaddr(LittleEndian), bytes);
            }
        }
    }

    /// The first of these addresses that code names as the beginning of something.
    pub(super) fn named_in(&self, addresses: Range<u64>) -> Option<u64> {
        let named = self.named.get_or_init(|| {
            let mut named = Vec::new();
            self.for_each_code_segment(|start, bytes| named_relatively(start, bytes, &mut named));
            if self.is_fixed() {
                self.for_each_code_segment(|_, bytes| named_absolutely(bytes, &mut named));
            }
            named.sort_unstable();
            named.dedup();
            named
        });
        let first = named.partition_point(|&address| address < addresses.start);
        named.get(first).copied().filter(|&address| address < addresses.end)
    }

    /// The bytes of whatever is loaded at these addresses, likewise.
    pub(super) fn data_at(&self, addresses: Range<u64>) -> Option<&'data [u8]> {
        self.loaded_at(addresses, elf::PF_R)
    }

    /// The bytes at addresses of a segment with these rights.
    fn loaded_at(&self, addresses: Range<u64>, rights: elf::ProgramFlags) -> Option<&'data [u8]> {
        let size = addresses.end.checked_sub(addresses.start)?;
        let holds = |segment: &&elf::ProgramHeader64<LittleEndian>| {
            let start = segment.p_vaddr(LittleEndian);
            segment.p_type(LittleEndian) == elf::PT_LOAD
                && segment.p_flags(LittleEndian).contains(rights)
                && addresses.start >= start
                && addresses.end <= start.saturating_add(segment.p_filesz(LittleEndian))
        };
        let segment = self.file.elf_program_headers().iter().find(holds)?;
        let distance = addresses.start - segment.p_vaddr(LittleEndian);
        let at = segment.p_offset(LittleEndian).checked_add(distance)?;
        self.file.data().read_bytes_at(at, size).ok()
    }

    /// The full symbol table, `.symtab`.
    pub(super) fn symbols(&self) -> Result<RawSymbols<'data>, String> {
        self.raw_symbols(self.file.elf_symbol_table(), ".symtab")
    }

    /// The symbols for dynamic linking, `.dynsym`.
    pub(super) fn dynamic_symbols(&self) -> Result<RawSymbols<'data>, String> {
        let mut table = self.raw_symbols(self.file.elf_dynamic_symbol_table(), ".dynsym")?;
        let versions = self.file.elf_section_table().versions(LittleEndian, self.file.data());
        // Without them the names still tell something.
        table.versions = versions.ok().flatten().unwrap_or_default();
        Ok(table)
    }

    fn raw_symbols(
        &self,
        table: &object::read::elf::SymbolTable<'data, Header, &'data FileBytes>,
        name: &str,
    ) -> Result<RawSymbols<'data>, String> {
        if table.is_empty() {
            return Ok(RawSymbols::new(&[], &[]));
        }
        // The strings in one read: asking the table for each name would seek for each.
        let strings = self
            .file
            .elf_section_table()
            .section(table.string_section())
            .and_then(|header| header.data(LittleEndian, self.file.data()))
            .map_err(|error| format!("strings of '{name}': {error}"))?;
        Ok(RawSymbols::new(table.symbols(), strings))
    }

    /// Relocations that are applied when the module is loaded, of all sections; those of malformed
    /// sections are left out. Their symbols are the dynamic ones.
    pub(super) fn dynamic_relocations(&self) -> Vec<&'data RawRelocation> {
        let sections = self.file.elf_section_table().iter();
        // Sections that are not loaded hold what the linker was told to keep with `--emit-relocs`.
        sections
            .filter(|header| header.sh_flags(LittleEndian).contains(elf::SHF_ALLOC))
            .filter_map(|header| header.rela(LittleEndian, self.file.data()).ok().flatten())
            .flat_map(|(relocations, _)| relocations)
            .collect()
    }
}

/// Adds the addresses that code names by `lea address(%rip), register`. Bytes that only look so are
/// among them.
fn named_relatively(start: u64, code: &[u8], named: &mut Vec<u64>) {
    for opcode in memchr::memchr_iter(0x8d, code).filter(|&opcode| opcode > 0) {
        // REX.W; ModR/M: mode 0 with r/m 5 is an address relative to the next instruction (Intel
        // SDM, volume 2, 2.2.1.6).
        if let Some([0x48 | 0x4c, _, mode, distance @ ..]) = code.get(opcode - 1..opcode + 6)
            && mode & 0xc7 == 5
        {
            let next = start.wrapping_add(opcode as u64 + 6);
            let distance = distance.first_chunk().map(|value| i32::from_le_bytes(*value));
            named.extend(distance.map(|distance| next.wrapping_add_signed(distance.into())));
        }
    }
}

/// Adds those that it names by `jmp *address(,register,8)` or `mov address(,register,8), register`,
/// likewise. Only code that is loaded where it was linked does: 32 bits hold no other address.
fn named_absolutely(code: &[u8], named: &mut Vec<u64>) {
    for opcode in memchr::memchr2_iter(0x8b, 0xff, code) {
        // ModR/M: mode 0 with r/m 4 and a base of 5 is an address of 32 bits (Intel SDM, volume 2,
        // 2.1.5).
        if let Some([_, mode, index, address @ ..]) = code.get(opcode..opcode + 7)
            && mode & 0xc7 == 4
            && index & 0xc7 == 0xc5
        {
            let address = address.first_chunk().map(|value| i32::from_le_bytes(*value));
            named.extend(address.map(|address| i64::from(address).cast_unsigned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use object::U32;

    use super::*;

    fn symbol(name: usize) -> RawSymbol {
        let name = U32::new(LittleEndian, u32::try_from(name).unwrap());
        RawSymbol { st_name: name, ..RawSymbol::default() }
    }

    #[test]
    fn names_end_at_zeros() {
        let table = RawSymbols::new(&[], b"\0main\0\0tail");
        let names = [(0, ""), (1, "main"), (3, "in"), (5, ""), (6, "")];
        for (at, name) in names {
            assert_eq!(table.name(&symbol(at)), Some(name.as_bytes()), "{at}");
        }
        assert!([7, 9, 11, 12].iter().all(|&at| table.name(&symbol(at)).is_none()));
    }

    /// Addresses of 32 bits in code are places in the file only where that is loaded where it was
    /// linked.
    #[test]
    fn absolute_addresses_are_of_programs_that_stay_where_they_were_linked() {
        for (of, expected) in [(2, Some(0x2000)), (3, None)] {
            let word = |value: u64| value.to_le_bytes();
            let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
            bytes.extend([of, 0, 0x3e, 0, 1, 0, 0, 0]);
            bytes.extend([0, 64, 0].map(word).concat());
            bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
            let rights = elf::PF_R.0 | elf::PF_X.0;
            bytes.extend([elf::PT_LOAD.0, rights].map(u32::to_le_bytes).concat());
            bytes.extend([120, 0x1000, 0x1000, 14, 14, 1].map(word).concat());
            bytes.extend([0xff, 0x24, 0xc5, 0, 0x20, 0, 0]); // jmp *0x2000(,%rax,8)
            bytes.extend([0x4c, 0x8d, 0x05, 0xf2, 0x1f, 0, 0]); // lea 0x3000(%rip), %r8
            let bytes = FileBytes::of_memory(bytes);
            let elf = Elf::parse(&bytes).unwrap();
            assert_eq!(elf.named_in(0x2000..0x3000), expected);
            assert_eq!(elf.named_in(0x3000..0x4000), Some(0x3000));
        }
    }

    /// A file of 8 GiB with holes costs no more than what is in it.
    #[test]
    fn code_without_end_is_not_gone_through() {
        use std::io::Write as _;
        let mut file = tempfile::tempfile().unwrap();
        let word = |value: u64| value.to_le_bytes();
        let segment = |at: u64, address: u64, size: u64| {
            let start = [elf::PT_LOAD.0, elf::PF_R.0 | elf::PF_X.0].map(u32::to_le_bytes).concat();
            [start, [at, address, address, size, size, 1].map(word).concat()].concat()
        };
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
        bytes.extend([0, 64, 0].map(word).concat());
        bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 2, 0, 64, 0, 0, 0, 0, 0]);
        bytes.extend(segment(0x1000, 0x1000, 16));
        bytes.extend(segment(0x2000, 0x2000, 8 << 30));
        // Each names what is 0x100 bytes behind it.
        let code = [0x48, 0x8d, 0x05, 0xf9, 0, 0, 0];
        for at in [0x1000, 0x2000] {
            bytes.resize(at, 0);
            bytes.extend(code);
        }
        file.write_all(&bytes).unwrap();
        file.set_len(9 << 30).unwrap();
        let bytes = FileBytes::of_file(file).unwrap();
        let elf = Elf::parse(&bytes).unwrap();
        assert_eq!(elf.code_at(0x2000..0x2007), Some(&code[..]));
        assert_eq!(elf.named_in(0x1000..0x8000), Some(0x1100));
        assert_eq!(elf.named_in(0x1101..0x8000), None);
    }

    /// As many symbols as bytes: nothing of a damaged file is gone through for each of them.
    #[test]
    fn strings_without_zeros_are_no_names() {
        let mut strings = vec![b'x'; 1 << 21];
        let table = RawSymbols::new(&[], &strings);
        assert!((0..strings.len()).all(|at| table.name(&symbol(at)).is_none()));
        *strings.last_mut().unwrap() = 0;
        let table = RawSymbols::new(&[], &strings);
        let first = strings.len() - 1 - LONGEST_NAME;
        assert_eq!(table.name(&symbol(first)).map(<[u8]>::len), Some(LONGEST_NAME));
        assert!((0..first).step_by(1000).all(|at| table.name(&symbol(at)).is_none()));
    }

    /// In a damaged file many symbols may have one long name.
    #[test]
    fn names_that_many_symbols_have_are_read_so_often() {
        let mut strings = vec![b'x'; LONGEST_NAME];
        strings.push(0);
        let table = RawSymbols::new(&[], &strings);
        let named = (0..1000).filter(|_| table.name(&symbol(0)).is_some()).count();
        assert_eq!(named, most_read(&strings) / strings.len());
        assert_eq!(table.unread.get(), 0, "the rest of the symbols looked at nothing more");
        assert_eq!(table.name(&symbol(LONGEST_NAME - 1)), None);
    }
}
