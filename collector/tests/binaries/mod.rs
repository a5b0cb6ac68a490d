//! Real programs and libraries of the machine that a test runs on: as files, as readelf sees them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use object::elf::{PF_X, PT_GNU_EH_FRAME, PT_LOAD, ProgramHeader64};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection};

/// One ELF file, read whole. Addresses are the file's own.
pub(crate) struct Binary {
    pub(crate) path: PathBuf,
    data: Vec<u8>,
    program_headers: Vec<ProgramHeader64<LittleEndian>>,
}

impl Binary {
    pub(crate) fn open(path: impl AsRef<Path>) -> Option<Self> {
        let path = path.as_ref().to_owned();
        let data = std::fs::read(&path).ok()?;
        let file: ElfFile64<'_, LittleEndian> = ElfFile64::parse(&*data).expect("64-bit ELF");
        let headers = file.elf_header().program_headers(LittleEndian, &*data);
        let program_headers = headers.expect("program headers").to_vec();
        Some(Self { path, data, program_headers })
    }

    /// From the first to the last address of the executable segments.
    pub(crate) fn text(&self) -> Range<u64> {
        let ranges = self.program_headers.iter().filter(|header| {
            header.p_type(LittleEndian) == PT_LOAD && header.p_flags(LittleEndian).0 & PF_X.0 != 0
        });
        let ends = ranges.map(|header| {
            let start = header.p_vaddr(LittleEndian);
            start..start + header.p_memsz(LittleEndian)
        });
        ends.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).expect("an executable segment")
    }

    /// The bytes of `.eh_frame` and their address.
    pub(crate) fn eh_frame(&self) -> (&[u8], u64) {
        let file: ElfFile64<'_, LittleEndian> = ElfFile64::parse(&*self.data).expect("64-bit ELF");
        let section = file.section_by_name(".eh_frame").expect(".eh_frame");
        (section.data().expect("section data"), section.address())
    }

    /// The bytes of the `PT_GNU_EH_FRAME` segment and their address.
    pub(crate) fn eh_frame_header(&self) -> (&[u8], u64) {
        let header = self
            .program_headers
            .iter()
            .find(|header| header.p_type(LittleEndian) == PT_GNU_EH_FRAME);
        let header = header.expect("PT_GNU_EH_FRAME");
        (header.data(LittleEndian, &*self.data).expect("data"), header.p_vaddr(LittleEndian))
    }

    /// The bytes from `address` to the end of its segment.
    pub(crate) fn segment_from(&self, address: u64) -> Option<&[u8]> {
        self.program_headers.iter().find_map(|header| {
            let start = header.p_vaddr(LittleEndian);
            let inside = header.p_type(LittleEndian) == PT_LOAD
                && (start..start + header.p_filesz(LittleEndian)).contains(&address);
            if !inside {
                return None;
            }
            let offset = header.p_offset(LittleEndian) as usize;
            let bytes = &self.data[offset..offset + header.p_filesz(LittleEndian) as usize];
            bytes.get((address - start) as usize..)
        })
    }
}

/// Those of a list of programs that exist here and `.eh_frame`s of different makers: glibc's
/// hand-written assembly, gcc's C and C++, Perl-generated assembly, rustc and LLVM.
pub(crate) fn on_this_machine() -> Vec<Binary> {
    let mut paths: Vec<PathBuf> = [
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        "/usr/bin/python3",
        "/usr/bin/perl",
        "/usr/bin/xz",
    ]
    .map(PathBuf::from)
    .to_vec();
    paths.push(std::env::current_exe().expect("the path of this test"));
    let mut binaries = Vec::new();
    for path in paths {
        match Binary::open(&path) {
            Some(binary) => binaries.push(binary),
            None => eprintln!("skipped, not installed here: {}", path.display()),
        }
    }
    binaries
}

/// A large program: gcc's C++ compiler proper, if it is installed.
pub(crate) fn compiler() -> Option<Binary> {
    let output = std::process::Command::new("gcc").arg("-print-prog-name=cc1plus").output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    Binary::open(path.trim())
}
