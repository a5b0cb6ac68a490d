//! What the first bytes of a program say: whether the collector can be preloaded into it.
//!
//! Asked by `csprof record` before it starts a program, and by the collector in every process of
//! the run before that one does. There it may be the child of a vfork, so nothing is allocated
//! here, and a file takes two reads at most.
//!
//! Offsets are those of elf(5), `Elf64_Ehdr` and `Elf64_Phdr`.

use crate::arena::LeftOut;

/// How many bytes of a file [`look`] wants first: the headers, and in most programs the loader's
/// name behind them.
pub const HEAD_BYTES: usize = 1024;

/// How many interpreters execve(2) follows from script to script.
pub const MAX_INTERPRETERS: usize = 5;

/// What a file is, as far as the collector is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program<'a> {
    /// The collector can be preloaded, or nothing speaks against it.
    Open,
    /// A script: this interpreter is executed.
    Script(&'a [u8]),
    /// It cannot.
    Closed(Obstacle),
}

/// Why the collector cannot be preloaded into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Built for another ELF machine: this number, `e_machine`.
    Machine(u16),
    /// x86-64 instructions with pointers of 32 bits.
    X32,
    /// No loader runs.
    Static,
    /// Started by the loader of the C library musl.
    Musl,
    /// Started by some other loader than glibc's.
    Loader,
    /// An emulator that hands its environment on to a program of another machine (qemu-user).
    Emulator,
    /// A tool of valgrind's that does not stand another preloaded library before its own.
    Checker,
}

impl Obstacle {
    /// The reason that is counted.
    #[must_use]
    pub const fn reason(self) -> LeftOut {
        match self {
            Self::Machine(_) | Self::X32 => LeftOut::Machine,
            Self::Static => LeftOut::Static,
            Self::Musl | Self::Loader => LeftOut::Loader,
            Self::Emulator | Self::Checker => LeftOut::Guest,
        }
    }

    /// Whether the variables that lead to the collector do no harm, so that programs which this one
    /// starts can be profiled again: only where nobody reads them.
    #[must_use]
    pub const fn ignores_preloading(self) -> bool {
        matches!(self, Self::Static)
    }

    /// As a clause about the program.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Machine(3) => "it is built for 32-bit x86, and csprof profiles x86-64",
            Self::Machine(40) => "it is built for 32-bit ARM, and csprof profiles x86-64",
            Self::Machine(183) => "it is built for AArch64, and csprof profiles x86-64",
            Self::Machine(21) => "it is built for PowerPC, and csprof profiles x86-64",
            Self::Machine(243) => "it is built for RISC-V, and csprof profiles x86-64",
            Self::Machine(_) => "it is built for another machine, and csprof profiles x86-64",
            Self::X32 => "it is an x32 program (32-bit pointers), and csprof profiles 64-bit",
            Self::Static => "it is statically linked, so no dynamic loader runs",
            Self::Musl => "it uses the C library musl, and csprof's collector needs glibc",
            Self::Loader => "its loader is not glibc's, which csprof's collector needs",
            Self::Emulator => "it emulates another program, which would get the collector",
            Self::Checker => "this tool of valgrind's does not work with the collector",
        }
    }
}

/// Judges the file called `name`, which begins with `head`. `read` reads more of it at an offset
/// and returns how many bytes there were.
pub fn look<'a>(
    name: &[u8],
    head: &'a [u8],
    mut read: impl FnMut(u64, &mut [u8]) -> usize,
) -> Program<'a> {
    const CLASS_64: u8 = 2;
    const MACHINE_X86_64: u16 = 62;
    const PROGRAM_HEADER: usize = 56;
    const PT_INTERP: u32 = 3;

    if let Some(line) = head.strip_prefix(b"#!") {
        return interpreter(line).map_or(Program::Open, Program::Script);
    }
    if !head.starts_with(b"\x7fELF") {
        return Program::Open;
    }
    let base_name = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    if let Some(obstacle) = by_name(base_name) {
        return Program::Closed(obstacle);
    }
    let Some(machine) = bytes_at(head, 18).map(u16::from_le_bytes) else { return Program::Open };
    if machine != MACHINE_X86_64 {
        return Program::Closed(Obstacle::Machine(machine));
    }
    if head.get(4) != Some(&CLASS_64) {
        return Program::Closed(Obstacle::X32);
    }
    let fields = || {
        let table = u64::from_le_bytes(bytes_at(head, 32)?);
        let size = u16::from_le_bytes(bytes_at(head, 54)?);
        let count = u16::from_le_bytes(bytes_at(head, 56)?);
        (usize::from(size) == PROGRAM_HEADER).then_some((table, count))
    };
    let Some((table, count)) = fields() else { return Program::Open };
    // From the head where it is in there.
    let mut get = |offset: u64, to: &mut [u8]| {
        let known = usize::try_from(offset).ok().and_then(|at| head.get(at..)?.get(..to.len()));
        match known {
            Some(known) => {
                to.copy_from_slice(known);
                to.len()
            }
            None => read(offset, to),
        }
    };
    for number in 0..u64::from(count.min(MOST_HEADERS)) {
        let mut header = [0; PROGRAM_HEADER];
        let at = table.saturating_add(number * PROGRAM_HEADER as u64);
        if get(at, &mut header) < PROGRAM_HEADER {
            return Program::Open;
        }
        if bytes_at(&header, 0).map(u32::from_le_bytes) != Some(PT_INTERP) {
            continue;
        }
        let field = |at| bytes_at(&header, at).map_or(0, u64::from_le_bytes);
        let mut loader = [0; 256];
        let length = usize::try_from(field(32)).unwrap_or(0).min(loader.len());
        let length = get(field(8), &mut loader[..length]);
        let loader = loader.get(..length).unwrap_or_default();
        let loader = loader.split(|byte| *byte == 0).next().unwrap_or(loader);
        let loader = loader.rsplit(|byte| *byte == b'/').next().unwrap_or(loader);
        return match loader {
            // LSB's name is a link to it.
            b"" | b"ld-linux-x86-64.so.2" | b"ld-lsb-x86-64.so.3" => Program::Open,
            _ if loader.starts_with(b"ld-musl") => Program::Closed(Obstacle::Musl),
            _ => Program::Closed(Obstacle::Loader),
        };
    }
    // The loader itself has no loader, and preloads for the program that it is given; so do
    // valgrind's tools, which start one in their own process.
    if base_name.starts_with(b"ld-linux")
        || base_name == b"ld.so"
        || base_name.ends_with(b"-amd64-linux")
    {
        Program::Open
    } else {
        Program::Closed(Obstacle::Static)
    }
}

/// More than any linker makes.
const MOST_HEADERS: u16 = 128;

/// The interpreter in the first line of a script, `#!` already removed.
fn interpreter(line: &[u8]) -> Option<&[u8]> {
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii_start();
    let word = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r' | 0)).next()?;
    (!word.is_empty()).then_some(word)
}

/// Programs that are known by their names.
fn by_name(name: &[u8]) -> Option<Obstacle> {
    // `qemu-system-aarch64`, `qemu-img` and others are programs like any other.
    const MACHINES: [&[u8]; 24] = [
        b"aarch64",
        b"alpha",
        b"arm",
        b"cris",
        b"hexagon",
        b"hppa",
        b"i386",
        b"loongarch",
        b"m68k",
        b"microblaze",
        b"mips",
        b"nios2",
        b"or1k",
        b"ppc",
        b"riscv",
        b"s390x",
        b"sh4",
        b"sparc",
        b"tilegx",
        b"x86_64",
        b"xtensa",
        b"cskyv",
        b"cskyeb",
        b"avr",
    ];
    // Started as a program, it has no loader, and preloads for the program that it is given.
    if name.starts_with(b"ld-musl-x86_64") {
        return Some(Obstacle::Musl);
    }
    let emulated = name.strip_prefix(b"qemu-");
    if emulated.is_some_and(|rest| MACHINES.iter().any(|machine| rest.starts_with(machine))) {
        return Some(Obstacle::Emulator);
    }
    // The tools themselves: `valgrind` executes one of them.
    let is_checker = matches!(name, b"helgrind-amd64-linux" | b"drd-amd64-linux");
    is_checker.then_some(Obstacle::Checker)
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// A program with one program header of this type, behind which its loader's name stands.
    fn elf(class: u8, machine: u16, header_type: u32, loader: &[u8]) -> Vec<u8> {
        let mut file = std::vec![0; 120];
        file[..4].copy_from_slice(b"\x7fELF");
        file[4] = class;
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54..56].copy_from_slice(&56u16.to_le_bytes());
        file[56..58].copy_from_slice(&1u16.to_le_bytes());
        file[64..68].copy_from_slice(&header_type.to_le_bytes());
        file[72..80].copy_from_slice(&120u64.to_le_bytes());
        file[96..104].copy_from_slice(&(loader.len() as u64).to_le_bytes());
        file.extend_from_slice(loader);
        file
    }

    /// Looks at a file of which only so many bytes are in the head.
    fn judged<'a>(name: &str, file: &'a [u8], head: usize) -> Program<'a> {
        look(name.as_bytes(), &file[..head.min(file.len())], |offset, to| {
            let rest = file.get(offset as usize..).unwrap_or_default();
            let length = rest.len().min(to.len());
            to[..length].copy_from_slice(&rest[..length]);
            length
        })
    }

    #[test]
    fn programs_are_judged_by_their_headers() {
        const GLIBC: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
        use Obstacle::{Checker, Emulator, Loader, Machine, Musl, Static, X32};
        for (name, file, expected) in [
            ("prog", elf(2, 62, 3, GLIBC), None),
            ("prog", elf(2, 62, 3, b"/nix/store/x/lib/ld-linux-x86-64.so.2\0"), None),
            ("/lib64/ld-linux-x86-64.so.2", elf(2, 62, 1, b""), None),
            ("/usr/libexec/valgrind/memcheck-amd64-linux", elf(2, 62, 1, b""), None),
            ("prog", elf(2, 62, 1, b""), Some(Static)),
            ("prog", elf(2, 62, 3, b"/lib/ld-musl-x86_64.so.1\0"), Some(Musl)),
            ("/lib/ld-musl-x86_64.so.1", elf(2, 62, 1, b""), Some(Musl)),
            ("prog", elf(2, 62, 3, b"/system/bin/linker64\0"), Some(Loader)),
            ("prog", elf(2, 62, 3, b"/libx32/ld-linux-x32.so.2\0"), Some(Loader)),
            ("prog", elf(1, 62, 3, GLIBC), Some(X32)),
            ("prog", elf(1, 3, 3, GLIBC), Some(Machine(3))),
            ("prog", elf(2, 183, 3, GLIBC), Some(Machine(183))),
            ("/usr/bin/qemu-aarch64-static", elf(2, 62, 1, b""), Some(Emulator)),
            ("qemu-x86_64", elf(2, 62, 3, GLIBC), Some(Emulator)),
            ("qemu-system-x86_64", elf(2, 62, 3, GLIBC), None),
            ("/usr/libexec/valgrind/drd-amd64-linux", elf(2, 62, 1, b""), Some(Checker)),
        ] {
            let expected = expected.map_or(Program::Open, Program::Closed);
            for head in [HEAD_BYTES, 64, 70] {
                assert_eq!(judged(name, &file, head), expected, "{name} {file:x?}");
            }
        }
    }

    /// Files that are cut off, and such as only the kernel can judge, are nobody's obstacle.
    #[test]
    fn what_is_not_known_speaks_against_nothing() {
        let file = elf(2, 62, 3, b"/lib/ld-musl-x86_64.so.1\0");
        for length in [0, 1, 4, 17, 40, 63, 100, 119] {
            assert_eq!(judged("prog", &file[..length], HEAD_BYTES), Program::Open, "{length}");
        }
        assert_eq!(judged("prog", b"echo a script without a first line\n", 64), Program::Open);
        assert_eq!(judged("prog", b"#!\n", 64), Program::Open);
    }

    #[test]
    fn scripts_name_their_interpreters() {
        for (line, expected) in [
            ("#!/bin/sh\nexit 0\n", "/bin/sh"),
            ("#! /usr/bin/env python3\n", "/usr/bin/env"),
            ("#!\t/bin/sh -e\r\n", "/bin/sh"),
        ] {
            let found = judged("prog", line.as_bytes(), HEAD_BYTES);
            assert_eq!(found, Program::Script(expected.as_bytes()), "{line}");
        }
    }
}
