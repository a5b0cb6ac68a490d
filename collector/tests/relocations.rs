//! What the library asks the loader for: a program may define any of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot run has failed")]

/// The library under test.
mod built;

use std::collections::BTreeSet;

use built::collector;
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{LittleEndian, Object, ObjectSymbol, elf};

/// The symbols that the loader may bind elsewhere, each with a reason.
const MEANT: [(&str, &str); 2] = [
    ("dlvsym", "finds all other functions of the C library behind this one"),
    ("__environ", "is the environment, wherever the program has it; the name is the C library's"),
];

#[test]
fn nothing_is_bound_by_name_but_what_is_meant_to_be() {
    let bytes = std::fs::read(collector()).unwrap();
    let file: ElfFile64<'_, LittleEndian> = ElfFile64::parse(&*bytes).unwrap();
    let symbols = file.dynamic_symbol_table().unwrap();
    let mut bound = BTreeSet::new();
    for (offset, relocation) in file.dynamic_relocations().unwrap() {
        if let object::RelocationTarget::Symbol(index) = relocation.target() {
            let symbol = object::ObjectSymbolTable::symbol_by_index(&symbols, index).unwrap();
            assert!(!symbol.name().unwrap().is_empty(), "at {offset:#x}");
            bound.insert(symbol.name().unwrap().to_owned());
        }
    }
    assert_eq!(bound, MEANT.iter().map(|(name, _)| (*name).to_owned()).collect());
    let undefined: BTreeSet<_> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_undefined() && !symbol.name().unwrap().is_empty())
        .map(|symbol| symbol.name().unwrap().to_owned())
        .collect();
    assert_eq!(undefined, bound, "undefined symbols");
}

/// The program gets no library that it does not have.
#[test]
fn no_library_is_needed_but_the_c_library() {
    let bytes = std::fs::read(collector()).unwrap();
    let header = elf::FileHeader64::<LittleEndian>::parse(&*bytes).unwrap();
    let sections = header.sections(LittleEndian, &*bytes).unwrap();
    let (entries, strings) = sections.dynamic(LittleEndian, &*bytes).unwrap().unwrap();
    let strings = sections.strings(LittleEndian, &*bytes, strings).unwrap();
    let needed: Vec<_> = entries
        .iter()
        .filter(|entry| entry.tag(LittleEndian) == elf::DT_NEEDED)
        .map(|entry| String::from_utf8_lossy(entry.string(LittleEndian, strings).unwrap()))
        .collect();
    // Before glibc 2.34 `dlvsym` is in a library of its own, which every program can have.
    assert!(needed.iter().all(|name| ["libc.so.6", "libdl.so.2"].contains(&&**name)), "{needed:?}");
}
