//! The signal side as it is shipped: what the machine code of the handlers can come to.
//!
//! A handler may have interrupted anything, so it calls no function of another library, and it
//! cannot panic (`sampling`, `sampler`). The compiler sees to neither: a comparison of slices is a
//! call of `bcmp`, an index a possible panic. So the library is disassembled, and everything is
//! visited that can be reached from where the kernel enters: by calls and jumps, and by addresses
//! that are taken. What a call through a pointer leads to cannot be seen; where there is one, it is
//! said here what it may be.

#![expect(clippy::unwrap_used, reason = "a test that cannot run has failed")]

mod built;
#[path = "../../tests/src/notes.rs"]
#[expect(unreachable_pub, reason = "it is public where it is at home")]
mod notes;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::process::Command;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

/// Where the kernel enters, what takes a sample of a call, and what the handlers call through
/// pointers.
const ENTRIES: [&str; 19] = [
    "csprof_collector::sampling::entry::on_profile",
    "csprof_collector::sampling::entry::on_trap",
    "csprof_collector::sampling::entry::on_handled",
    "csprof_collector::sampling::call::sample",
    "csprof_collector::sampling::call::take",
    "csprof_collector::sampling::call::on_requests",
    "csprof_collector::sampling::call::found_handover",
    "csprof_collector::sampling::call::found_handover::find",
    "csprof_collector::preload::alloc::after_malloc",
    "csprof_collector::preload::alloc::resized",
    "csprof_collector::sampler::blocks::given_back",
    "csprof_collector::preload::signals::action::program_handler",
    "csprof_collector::preload::signals::trap::by_default",
    "csprof_collector::modules::frames::in_place::{{closure}}",
    "csprof_collector::modules::frames::only_at::{{closure}}",
    "<csprof_collector::unwind::cfi::direct::InPlace<F> as csprof_collector::unwind::table::Lookup>::lookup",
    "<csprof_collector::unwind::cfi::direct::InPlace<F> as csprof_collector::unwind::table::Lookup>::lookup_all",
    "<csprof_collector::unwind::table::RecipeTable as csprof_collector::unwind::table::Lookup>::lookup",
    "<csprof_collector::unwind::table::RecipeTable as csprof_collector::unwind::table::Lookup>::lookup_all",
];

/// What may call through a pointer, by the beginnings of names, and what that is: one of the
/// entries, or a function that is made for handlers. Which function has which call is up to the
/// compiler.
const BY_POINTER: [(&str, &str); 13] = [
    ("csprof_collector::sampling::entry::", "the program's handler"),
    ("csprof_collector::sampling::pass_on::on_profiling_signal", "program_handler"),
    ("csprof_collector::sampling::pass_on::on_trap_signal", "by_default"),
    ("csprof_collector::sampling::handler::", "Lookup, in_place, glibc's _dl_find_object"),
    ("csprof_collector::sampling::call::", "Lookup, in_place, glibc's _dl_find_object"),
    ("csprof_collector::sampler::sample::", "Lookup, in_place, glibc's _dl_find_object"),
    ("<csprof_collector::sampler::interrupted::", "in_place, glibc's _dl_find_object"),
    ("csprof_collector::sampler::interrupted::", "Lookup, in_place, glibc's _dl_find_object"),
    // Or a table of branches, of which an address is kept on the stack.
    ("csprof_collector::unwind::", "Lookup, in_place, glibc's _dl_find_object"),
    ("csprof_collector::arch::x86_64::stubs::call_on_stack", "call::take, found_handover::find"),
    ("csprof_collector::arch::x86_64::unwind::", "a table of branches"),
    // By the kind of a source.
    ("csprof_collector::sources::signal_info::may_be_own", "a table of branches"),
    // Its address is kept in a register between the turns of a loop.
    ("csprof_collector::thread::registry::end_entries", "PerfSignal::close"),
];

/// Functions that are not gone into: values that the handler only borrows are dropped elsewhere,
/// but the table of their methods names it.
const DROPS: &str = "core::ptr::drop_in_place<";

#[test]
fn handlers_call_nobody_and_cannot_panic() {
    let Some(library) = Library::disassembled() else {
        notes::skip("handlers call nobody", "objdump is not installed");
        return;
    };
    let mut wrong = BTreeSet::new();
    let mut callers: BTreeMap<u64, Option<u64>> = BTreeMap::new();
    let mut unseen: Vec<(u64, Option<u64>)> =
        ENTRIES.iter().map(|name| (library.function_named(name), None)).collect();
    while let Some((start, caller)) = unseen.pop() {
        if callers.contains_key(&start) || library.name(start).starts_with(DROPS) {
            continue;
        }
        callers.insert(start, caller);
        let way = || {
            let callers = std::iter::successors(Some(start), |at| callers[at]);
            callers.map(|at| library.name(at)).collect::<Vec<_>>().join(" <- ")
        };
        if library.name(start).contains("::panicking::") {
            wrong.insert(format!("a panic: {}", way()));
            continue;
        }
        let Function { leads_to, imports, has_pointer, .. } = &library.functions[&start];
        wrong.extend(imports.iter().map(|import| format!("{import}: {}", way())));
        let is_told = BY_POINTER.iter().any(|(name, _)| library.name(start).starts_with(name));
        if *has_pointer && !is_told {
            wrong.insert(format!("a call through a pointer: {}", way()));
        }
        unseen.extend(leads_to.iter().map(|to| (library.function_at(*to), Some(start))));
    }
    assert!(callers.len() > 50, "only {} functions are reached", callers.len());
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

/// The same from the constructor, which does call and may panic: that the test above can find it.
#[test]
fn what_is_forbidden_is_found_elsewhere() {
    let Some(library) = Library::disassembled() else {
        notes::skip("what is forbidden is found", "objdump is not installed");
        return;
    };
    let start = library.function_named("csprof_collector::preload::construct");
    let mut reached = BTreeSet::new();
    let mut unseen = vec![start];
    while let Some(start) = unseen.pop() {
        if reached.insert(start) {
            let leads_to = library.functions[&start].leads_to.iter();
            unseen.extend(leads_to.map(|to| library.function_at(*to)));
        }
    }
    let imports: BTreeSet<&str> = reached
        .iter()
        .flat_map(|start| library.functions[start].imports.iter().map(String::as_str))
        .collect();
    for expected in ["dlvsym", "__environ"] {
        assert!(imports.contains(expected), "{imports:?}");
    }
    assert!(reached.iter().any(|start| library.name(*start).contains("::panicking::")));
    assert!(reached.iter().any(|start| library.functions[start].has_pointer));
}

/// The library's code.
struct Library {
    /// By address.
    functions: BTreeMap<u64, Function>,
    names: BTreeMap<u64, String>,
}

/// What one function may come to.
#[derive(Default)]
struct Function {
    /// Addresses in the library's code.
    leads_to: BTreeSet<u64>,
    /// Functions of other libraries.
    imports: BTreeSet<String>,
    /// Whether it calls what a register or a word of memory says.
    has_pointer: bool,
    /// The register in which an address was read off a table of branches last, and whether it is
    /// whole.
    branch: Option<(String, bool)>,
}

impl Library {
    /// `None` without objdump.
    fn disassembled() -> Option<Self> {
        let output = Command::new("objdump")
            .args(["-d", "-w", "--no-show-raw-insn", "-M", "intel"])
            .arg(built::collector())
            .env("LC_ALL", "C")
            .output()
            .ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let bytes = std::fs::read(built::collector()).unwrap();
        let file: ElfFile64<'_> = ElfFile64::parse(&*bytes).unwrap();
        let words = Words::of(&file);
        let text = file.section_by_name(".text").unwrap();
        let text = text.address()..text.address() + text.size();
        let mut library = Self { functions: BTreeMap::new(), names: BTreeMap::new() };
        for symbol in file.symbols().filter(|symbol| text.contains(&symbol.address())) {
            let name = rustc_demangle::demangle(symbol.name().unwrap());
            library.names.insert(symbol.address(), format!("{name:#}"));
            library.functions.insert(symbol.address(), Function::default());
        }
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let Some((address, instruction)) = line.trim_start().split_once(":\t") else {
                continue;
            };
            let address = u64::from_str_radix(address, 16).unwrap();
            if !text.contains(&address) {
                continue;
            }
            let start = library.function_at(address);
            let function = library.functions.get_mut(&start).unwrap();
            function.note(instruction, &words, &text);
        }
        Some(library)
    }

    /// The start of the function that holds this code.
    fn function_at(&self, address: u64) -> u64 {
        *self.functions.range(..=address).next_back().unwrap().0
    }

    fn function_named(&self, name: &str) -> u64 {
        let found = self.names.iter().find(|(_, known)| *known == name);
        *found.unwrap_or_else(|| panic!("no {name}; the list is out of date")).0
    }

    fn name(&self, start: u64) -> &str {
        &self.names[&start]
    }
}

/// What the loader puts into words of the library, by the address of the word.
struct Words {
    imports: BTreeMap<u64, String>,
    addresses: BTreeMap<u64, u64>,
}

impl Words {
    fn of(file: &ElfFile64<'_>) -> Self {
        let mut words = Self { imports: BTreeMap::new(), addresses: BTreeMap::new() };
        let symbols = file.dynamic_symbol_table().unwrap();
        for (place, relocation) in file.dynamic_relocations().unwrap() {
            if let RelocationTarget::Symbol(symbol) = relocation.target() {
                let name = symbols.symbol_by_index(symbol).unwrap().name().unwrap();
                words.imports.insert(place, name.to_owned());
            } else {
                words.addresses.insert(place, relocation.addend().cast_unsigned());
            }
        }
        words
    }
}

impl Function {
    /// Notes what an instruction leads to, as objdump has it:
    ///
    /// ```text
    /// call   2c830 <child>
    /// jmp    9dc10 <execv@plt>
    /// lea    rdi,[rip+0x46c53]        # 9ece8 <CONSTRUCTOR+0x58>
    /// call   QWORD PTR [rax+0x18]
    /// ```
    fn note(&mut self, instruction: &str, words: &Words, text: &Range<u64>) {
        let (operation, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
        let operands = operands.trim_start();
        let goes = operation == "call" || operation.starts_with('j');
        let number = |text: &str| u64::from_str_radix(text.split(' ').next().unwrap(), 16).ok();
        if let Some(place) = operands.split_once("# ").and_then(|(_, place)| number(place)) {
            self.imports.extend(words.imports.get(&place).cloned());
            let known = words.addresses.get(&place).copied();
            self.leads_to
                .extend([Some(place), known].into_iter().flatten().filter(|to| text.contains(to)));
            self.has_pointer |= goes && known.is_none() && !words.imports.contains_key(&place);
        } else if goes {
            match number(operands) {
                Some(to) if text.contains(&to) => _ = self.leads_to.insert(to),
                Some(_) => _ = self.imports.insert(operands.to_owned()),
                None => self.has_pointer |= !self.is_of_table(operands),
            }
        }
        self.follow_table(operation, operands);
    }

    /// Follows the register in which the address of a branch is made from a table of distances:
    /// `movsxd rcx,[rdx+rcx*4]`, `add rcx,rdx`, `jmp rcx`.
    fn follow_table(&mut self, operation: &str, operands: &str) {
        let register = operands.split(',').next().unwrap().to_owned();
        match operation {
            "movsxd" if operands.contains("*4]") => self.branch = Some((register, false)),
            "add" => {
                if let Some((known, is_made)) = &mut self.branch {
                    *is_made |= *known == register;
                }
            }
            _ => {}
        }
    }

    fn is_of_table(&self, register: &str) -> bool {
        self.branch.as_ref().is_some_and(|(known, is_made)| *is_made && known == register)
    }
}
