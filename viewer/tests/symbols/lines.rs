//! Lines and inlined functions from DWARF.

use std::collections::BTreeSet;

use csprof_format::address::FrameKind;

use crate::build::{Binary, Resolved, Workshop, run};

const INLINED: &str = "\
static inline __attribute__((always_inline)) int innermost(volatile int *x) {
    return *x * 3;
}
static inline __attribute__((always_inline)) int middle(volatile int *x) {
    return innermost(x) + 1;
}
__attribute__((noinline)) int outer(volatile int *x) {
    return middle(x) + 5;
}
int main(int argc, char **argv) {
    volatile int x = argc;
    return outer(&x);
}
";

#[test]
fn an_address_stands_for_the_function_and_what_was_inlined_into_it() {
    for flag in ["-gdwarf-4", "-gdwarf-5", "-gz=zlib"] {
        let shop = Workshop::new();
        let flags = ["-g", flag, "-O2"];
        let Some(path) = shop.compile("cc", "inlined", INLINED, &flags) else { return };
        let rows = rows_of(&Binary::open(&path), "outer");
        let expected = vec!["outer inlined.c:8", "middle inlined.c:5", "innermost inlined.c:2"];
        assert!(rows.iter().any(|rows| *rows == expected), "{flag}: {rows:?}");
        assert!(rows.iter().all(|rows| rows[0].starts_with("outer inlined.c:")), "{rows:?}");
    }
}

#[test]
fn an_inlined_function_and_its_other_copy_are_one_function() {
    let shop = Workshop::new();
    let header = "static inline int twice(volatile int *x) {\n    return *x * 2;\n}\n";
    shop.write("include/twice.h", header);
    shop.write("a/empty", "");
    let source = "
        #include \"a/../include/twice.h\"
        __attribute__((noinline)) int call(int (*f)(volatile int *), volatile int *x) { return f(x); }
        int main(int argc, char **argv) {
            volatile int x = argc;
            return twice(&x) + call(twice, &x);
        }";
    let include = format!("-I{}", shop.path(""));
    let flags = ["-g", "-O2", &include];
    let Some(path) = shop.compile("cc", "copies", source, &flags) else { return };
    let binary = Binary::open(&path);
    let all: Vec<u64> = ["twice", "main"].iter().flat_map(|name| binary.code(name)).collect();
    let resolved = Resolved::pcs(&binary, &all);
    let twice: Vec<_> = (resolved.profile.functions.iter())
        .filter(|function| resolved.string(function.name) == "twice")
        .collect();
    assert_eq!(twice.len(), 1);
    assert_eq!(resolved.string(twice[0].file.unwrap()), shop.path("include/twice.h"));
    assert_eq!(twice[0].line, 1);
    let outermost = resolved.names();
    assert!(outermost.contains(&"twice") && outermost.contains(&"main"));
}

#[test]
fn static_functions_of_one_name_stay_apart() {
    let shop = Workshop::new();
    let first = shop.write(
        "first.c",
        "static __attribute__((noinline)) int same(volatile int *x) { return *x * 3; }
         int first(volatile int *x) { return same(x) + 1; }",
    );
    let second = "
        static __attribute__((noinline)) int same(volatile int *x) { return *x * 5; }
        int first(volatile int *x);
        int main(int argc, char **argv) { volatile int x = argc; return same(&x) + first(&x); }";
    let flags = ["-g", "-O2", &first];
    let Some(path) = shop.compile("cc", "second", second, &flags) else { return };
    let binary = Binary::open(&path);
    let (start, text) = binary.section(".text");
    let addresses: Vec<u64> = (start..start + text.len() as u64).collect();
    let resolved = Resolved::pcs(&binary, &addresses);
    let mut files: Vec<&str> = (resolved.profile.functions.iter())
        .filter(|function| resolved.string(function.name) == "same")
        .map(|function| resolved.string(function.file.unwrap()).rsplit('/').next().unwrap())
        .collect();
    files.sort_unstable();
    assert_eq!(files, ["first.c", "second.c"]);
}

const CPP: &str = "\
#include <cstdlib>
namespace space {
template <typename T, int N> struct Ring {
    T items[N];
    __attribute__((noinline)) T total(T start) const {
        T sum = start;
        for (const T &item : items) sum += item;
        return sum;
    }
};
namespace {
__attribute__((noinline)) int hidden(int x) { return rand() * x; }
}
}
template <typename F> __attribute__((noinline)) int apply(F f, int x) { return f(x) + rand(); }
int main(int argc, char **argv) {
    space::Ring<int, 8> ring{};
    ring.items[argc & 7] = argc;
    int y = apply([&](int x) { return x * ring.items[x & 7]; }, argc);
    return ring.total(y) + space::hidden(y);
}
";

#[test]
fn cpp_functions_are_named_with_what_encloses_them() {
    let shop = Workshop::new();
    let Some(path) = shop.compile("g++", "cpp", CPP, &["-g", "-O2"]) else { return };
    let rows = all_rows(&Binary::open(&path));
    let names: BTreeSet<&str> =
        rows.iter().flatten().filter_map(|row| Some(row.rsplit_once(' ')?.0)).collect();
    for expected in [
        "main",
        "space::(anonymous namespace)::hidden(int)",
        "space::Ring<int, 8>::total(int) const",
        "apply<main::{lambda(int)#1}>(main::{lambda(int)#1}, int)",
        "main::{lambda#1}::operator()",
    ] {
        assert!(names.contains(expected), "{expected}: {names:#?}");
    }
}

const LAMBDAS: &str = "\
#include <cstdlib>
#define APART __attribute__((noinline))
int main(int argc, char **argv) {
    auto first = [argc](int x) APART { return rand() * argc + x; };
    auto second = [argc](int x) APART { return rand() / argc + x; };
    auto third = [argc](long x) APART { return rand() - argc + x; };
    volatile int sum = 0;
    auto inlined = [&](int x) { sum = sum + x; };
    auto again = [&](int x) { sum = sum * x; };
    inlined(argc);
    again(argc);
    return first(1) + second(2) + third(3);
}
";

#[test]
fn lambdas_of_one_function_are_told_apart() {
    for flags in [&["-g", "-O2"][..], &["-g1", "-O2"], &["-O2"]] {
        let shop = Workshop::new();
        let Some(path) = shop.compile("g++", "lambdas", LAMBDAS, flags) else { return };
        let binary = Binary::open(&path);
        let resolved = Resolved::pcs(&binary, &binary.text());
        let place = |function: &csprof_format::profile::Function| {
            format!("{} :{}", resolved.string(function.name), function.line)
        };
        let functions: BTreeSet<String> = resolved.profile.functions.iter().map(place).collect();
        let has_lines = flags[0] == "-g";
        for (number, line) in [("(int)#1", 4), ("(int)#2", 5), ("(long)#", 6)] {
            // gcc 12 numbers all lambdas of a function together.
            let name = format!("main::{{lambda{number}");
            let place = format!(":{}", if has_lines { line } else { 0 });
            let is_it =
                |function: &String| function.starts_with(&name) && function.ends_with(&place);
            assert!(functions.iter().any(is_it), "{flags:?}, {name}{place}: {functions:#?}");
        }
        for (number, line) in [(4, 8), (5, 9)] {
            let expected = format!("main::{{lambda#{number}}}::operator() :{line}");
            let found = functions.contains(&expected);
            assert_eq!(found, has_lines, "{flags:?}, {expected}: {functions:#?}");
        }
    }
}

#[test]
fn split_dwarf_says_as_much_as_dwarf_in_one_file() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let shop = Workshop::new();
        let flags = ["-g", version, "-O2"];
        let Some(whole) = shop.compile("g++", "cpp", CPP, &flags) else { return };
        let whole = functions(&Binary::open(&whole));
        let flags = ["-g", version, "-O2", "-gsplit-dwarf"];
        let Some(split) = shop.compile("g++", "cpp", CPP, &flags) else { return };
        assert_eq!(functions(&Binary::open(&split)), whole, "{version}");
    }
}

/// Functions of the text with the places of their definitions, `name file:line`.
fn functions(binary: &Binary) -> BTreeSet<String> {
    let resolved = Resolved::pcs(binary, &binary.text());
    assert_eq!(resolved.warnings, [""; 0]);
    let place = |function: &csprof_format::profile::Function| {
        let file = function.file.map_or("-", |file| resolved.string(file));
        format!("{} {file}:{}", resolved.string(function.name), function.line)
    };
    resolved.profile.functions.iter().map(place).collect()
}

#[test]
fn a_function_is_called_by_its_public_name() {
    let shop = Workshop::new();
    let source = "
        #include <stdlib.h>
        __attribute__((noinline)) int __impl_of_api(int x) { return rand() * x; }
        int api(int x) __attribute__((alias(\"__impl_of_api\")));
        __attribute__((noinline)) int labeled(int x) __asm__(\"__GI_labeled\");
        int labeled(int x) { return rand() - x; }
        int main(int argc, char **argv) { return __impl_of_api(argc) + labeled(argc); }";
    let Some(path) = shop.compile("cc", "names", source, &["-g", "-O2"]) else { return };
    let binary = Binary::open(&path);
    let addresses = ["__impl_of_api", "__GI_labeled"].map(|name| binary.address(name));
    assert_eq!(Resolved::pcs(&binary, &addresses).names(), ["api", "labeled"]);
}

#[test]
fn the_body_of_a_parallel_loop_is_no_recursion_of_its_function() {
    let source = "
        #include <stdlib.h>
        int main(int argc, char **argv) {
            int sum = 0;
            #pragma omp parallel for reduction(+:sum)
            for (int i = 0; i < argc; i++) sum += rand();
            return sum;
        }";
    for flags in [&["-O1", "-fopenmp"][..], &["-g", "-O1", "-fopenmp"]] {
        let shop = Workshop::new();
        let Some(path) = shop.compile("gcc", "parallel", source, flags) else { return };
        let binary = Binary::open(&path);
        let addresses = ["main", "main._omp_fn.0"].map(|name| binary.address(name) + 1);
        let resolved = Resolved::pcs(&binary, &addresses);
        assert_eq!(resolved.names(), ["main", "main._omp_fn.0"], "{flags:?}");
        let line = resolved.rows(1)[0].ends_with("parallel.c:5");
        assert_eq!(line, flags[0] == "-g", "{flags:?}: {:?}", resolved.rows(1));
    }
}

#[test]
fn fortran_functions_are_named_with_their_module() {
    let shop = Workshop::new();
    let source = "\
module solver
contains
    subroutine step(x)
        real, intent(inout) :: x
        x = x * 2.0
    end subroutine
end module
program main
    use solver
    real :: x
    x = 1.0
    call step(x)
    print *, x
end program
";
    let Some(path) = shop.compile("gfortran", "program", source, &["-g", "-O0"]) else { return };
    let binary = Binary::open(&path);
    let resolved = Resolved::pcs(&binary, &[binary.address("__solver_MOD_step")]);
    assert_eq!(resolved.rows(0), ["solver::step program.f90:3"]);
}

const RUST: &str = "\
#[inline(never)]
fn sum<T: Copy + Into<u64>>(items: &[T]) -> u64 {
    let mut total = 0;
    for &item in items {
        total += std::hint::black_box(item).into();
    }
    total
}
#[inline(never)]
fn apply(f: impl Fn(u64) -> u64, x: u64) -> u64 {
    std::hint::black_box(f(std::hint::black_box(x)))
}
fn main() {
    let bytes: Vec<u8> = std::env::args().map(|text| text.len() as u8).collect();
    let words = [7_u32, 8];
    println!(\"{}\", apply(|x| x * sum(&words), sum(&bytes)));
}
";

#[test]
fn rust_names_have_no_hashes() {
    let shop = Workshop::new();
    let flags = ["-g", "-O", "--crate-name=program", "-Csymbol-mangling-version=v0"];
    let Some(path) = shop.compile("rustc", "program", RUST, &flags) else { return };
    let binary = Binary::open(&path);
    let resolved = Resolved::pcs(&binary, &binary.code_containing("program"));
    let names: BTreeSet<&str> =
        resolved.profile.functions.iter().map(|f| resolved.string(f.name)).collect();
    for expected in ["program::main", "program::main::{closure#1}", "program::sum::<u8>"] {
        assert!(names.contains(expected), "{expected}: {names:#?}");
    }
    let hashed: Vec<_> = names.iter().filter(|name| has_hash(name)).collect();
    assert!(hashed.is_empty(), "{hashed:?}");
}

/// Whether a name ends in `::h` and 16 hexadecimal digits.
fn has_hash(name: &str) -> bool {
    name.rsplit_once("::h")
        .is_some_and(|(_, hash)| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[test]
fn a_caller_has_the_line_of_its_call() {
    let shop = Workshop::new();
    let source = "\
#include <stdlib.h>
int main(int argc, char **argv) {
    int x = rand() + argc;
    return x * rand();
}
";
    let Some(path) = shop.compile("cc", "calls", source, &["-g", "-O0"]) else { return };
    let binary = Binary::open(&path);
    // call rel32 is e8 and four bytes; -O0 makes no other instruction here with that byte first.
    let main = binary.code("main");
    let calls: Vec<u64> = binary.calls("main").map(|at| main[0] + at as u64 + 5).collect();
    let resolved = Resolved::with_debug_folders(binary.profile(FrameKind::Call, &calls), &[]);
    let lines: Vec<String> = (0..calls.len()).flat_map(|frame| resolved.rows(frame)).collect();
    assert_eq!(lines, ["main calls.c:3", "main calls.c:4"]);
}

#[test]
fn every_address_agrees_with_binutils() {
    let shop = Workshop::new();
    let Some(path) = shop.compile("cc", "inlined", INLINED, &["-g", "-O2"]) else { return };
    let binary = Binary::open(&path);
    let addresses: Vec<u64> = ["main", "outer"].iter().flat_map(|name| binary.code(name)).collect();
    let Some(expected) = addr2line(&path, &addresses) else { return };
    let resolved = Resolved::pcs(&binary, &addresses);
    for (index, expected) in expected.iter().enumerate() {
        assert_eq!(resolved.rows(index), *expected, "{:#x}", addresses[index]);
    }
}

#[test]
fn every_line_of_a_cpp_program_agrees_with_binutils() {
    let shop = Workshop::new();
    let source = "\
#include <algorithm>
#include <map>
#include <string>
#include <vector>
int main(int argc, char **argv) {
    std::vector<std::string> words(argv, argv + argc);
    std::sort(words.begin(), words.end(), [](auto &a, auto &b) { return a.size() < b.size(); });
    std::map<std::string, int> counts;
    for (auto &word : words) counts[word]++;
    return counts.size() + counts.begin()->second;
}
";
    let Some(path) = shop.compile("g++", "words", source, &["-gdwarf-4", "-O2"]) else { return };
    let binary = Binary::open(&path);
    let addresses = binary.code_containing("_Z");
    let Some(expected) = addr2line(&path, &addresses) else { return };
    let resolved = Resolved::pcs(&binary, &addresses);
    // Names differ: binutils shows return types, and the enclosing function for some lambdas.
    let places = |rows: &[String]| -> Vec<String> {
        rows.iter().filter_map(|row| Some(row.rsplit_once(' ')?.1.to_owned())).collect()
    };
    let mut compared = 0;
    for (index, expected) in expected.iter().enumerate() {
        if expected.iter().any(|row| row.contains('?')) {
            continue; // line 0: code that belongs to no line
        }
        compared += 1;
        let rows = resolved.rows(index);
        assert_eq!(places(&rows), places(expected), "{:#x}: {rows:#?}", addresses[index]);
    }
    assert!(compared > 1000, "{compared} of {} addresses", addresses.len());
}

/// The rows of every address of a function, without repetitions.
fn rows_of(binary: &Binary, function: &str) -> BTreeSet<Vec<String>> {
    let addresses = binary.code(function);
    let resolved = Resolved::pcs(binary, &addresses);
    (0..addresses.len()).map(|frame| resolved.rows(frame)).collect()
}

/// The rows of every address of a file, without repetitions.
fn all_rows(binary: &Binary) -> BTreeSet<Vec<String>> {
    let addresses = binary.text();
    let resolved = Resolved::pcs(binary, &addresses);
    (0..addresses.len()).map(|frame| resolved.rows(frame)).collect()
}

/// What binutils says of each address, in the form of [`Resolved::rows`].
fn addr2line(path: &str, addresses: &[u64]) -> Option<Vec<Vec<String>>> {
    let input: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let output = run("addr2line", &["-a", "-i", "-f", "-C", "-e", path], &input)?;
    let mut all: Vec<Vec<String>> = Vec::new();
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            all.push(Vec::new());
            continue;
        }
        let place = lines.next().unwrap().split(" (discriminator").next().unwrap();
        let place = place.rsplit('/').next().unwrap();
        all.last_mut().unwrap().insert(0, format!("{line} {place}"));
    }
    Some(all)
}

/// What `-Cdebuginfo=line-tables-only` leaves out has to come from the symbol table.
const STORE: &str = "
mod store {
    pub struct Store(pub Vec<u64>);
    impl Store {
        #[inline(never)]
        pub fn put(&mut self, count: u64) {
            for i in 0..count { self.0.push(step(i)); }
        }
        #[inline(always)]
        pub fn get(&self, at: usize) -> u64 { std::hint::black_box(self.0[at]) }
    }
    impl Drop for Store {
        #[inline(never)]
        fn drop(&mut self) { std::hint::black_box(&self.0); }
    }
    #[inline(never)]
    fn step<T: Copy>(x: T) -> T { std::hint::black_box(x) }
}
fn main() {
    let mut store = store::Store(Vec::new());
    store.put(9);
    println!(\"{}\", store.get(3));
}
";

#[test]
fn rust_with_line_tables_only_has_whole_names() {
    for (mangling, put, drop, step) in [
        (
            "v0",
            "<program::store::Store>::put",
            "<program::store::Store as core::ops::drop::Drop>::drop",
            "program::store::step::<u64>",
        ),
        (
            "legacy",
            "program::store::Store::put",
            "<program::store::Store as core::ops::drop::Drop>::drop",
            "program::store::step",
        ),
    ] {
        let shop = Workshop::new();
        let (source, path) = (shop.write("program.rs", STORE), shop.path("program"));
        let mangling = format!("-Csymbol-mangling-version={mangling}");
        // Legacy mangling was the default before Rust 1.95, so it is in many libraries; newer
        // compilers count it as unstable.
        let command = [
            &["RUSTC_BOOTSTRAP=1", "rustc", "-Zunstable-options", &mangling],
            &["-Cdebuginfo=line-tables-only", "-O", "--crate-name=program"][..],
            &["-o", &path, &source],
        ];
        let Some(_) = run("env", &command.concat(), "") else { return };
        let binary = Binary::open(&path);
        let addresses = binary.code_containing("program");
        let resolved = Resolved::pcs(&binary, &addresses);
        let rows: BTreeSet<String> =
            (0..addresses.len()).flat_map(|frame| resolved.rows(frame)).collect();
        let names: BTreeSet<&str> = rows.iter().map(|row| function_of(row)).collect();
        for expected in [put, drop, step, "program::main"] {
            assert!(names.contains(expected), "{expected}: {names:#?}");
        }
        // Inlined everywhere: nothing says more than its own name.
        assert!(names.contains("get"), "{names:#?}");
        assert!(!names.iter().any(|name| name.starts_with("_") || has_hash(name)), "{names:#?}");
    }
}

#[test]
fn copies_of_a_cpp_function_without_linkage_name_have_the_name_of_its_symbol() {
    let shop = Workshop::new();
    let source = "
        static int twice(volatile int *x) { return *x * 2; }
        __attribute__((noinline)) int call(int (*f)(volatile int *), volatile int *x) { return f(x); }
        int main(int argc, char **argv) {
            volatile int x = argc;
            return twice(&x) + call(twice, &x);
        }";
    let Some(path) = shop.compile("g++", "copies", source, &["-g", "-O2"]) else { return };
    let binary = Binary::open(&path);
    let all = ["twice", "main"].map(|name| binary.code_containing(name)).concat();
    let resolved = Resolved::pcs(&binary, &all);
    let rows: BTreeSet<Vec<String>> = (0..all.len()).map(|frame| resolved.rows(frame)).collect();
    let names: BTreeSet<&str> = rows.iter().flatten().map(|row| function_of(row)).collect();
    assert_eq!(names, BTreeSet::from(["main", "twice(int volatile*)"]));
    assert!(rows.iter().any(|rows| rows.len() == 2), "nothing was inlined: {rows:?}");
}

#[test]
fn a_function_has_one_name_whichever_of_its_addresses_is_first() {
    let shop = Workshop::new();
    let source = r#"
        __attribute__((noinline)) int __outer(volatile int *x) {
            int y = *x;
            __asm__ volatile(".globl inside\n.type inside, @function\ninside: nop\nnop\n.size inside, 2");
            return y + *x;
        }
        int main(int argc, char **argv) { volatile int x = argc; return __outer(&x); }"#;
    let Some(path) = shop.compile("cc", "names", source, &["-g", "-O1"]) else { return };
    let binary = Binary::open(&path);
    let [start, inside] = ["__outer", "inside"].map(|name| binary.address(name));
    assert!(start < inside);
    for addresses in [&[inside + 1][..], &[start], &[start, inside + 1]] {
        let resolved = Resolved::pcs(&binary, addresses);
        assert!(resolved.names().iter().all(|name| *name == "__outer"), "{:?}", resolved.names());
    }
}

#[test]
fn functions_of_d_are_named_as_in_d() {
    let shop = Workshop::new();
    let source = "module app.work;
import core.stdc.stdlib;
struct Ring(T) {
    T[8] items;
    pragma(inline, false) T total(T start) { foreach (x; items) start += x * rand(); return start; }
}
extern (C) int main() {
    auto ring = Ring!int();
    pragma(inline, false) int twice(int x) { return x * 2 + rand(); }
    return ring.total(1) + twice(3);
}
";
    let flags = ["-g", "-O1", "-fno-inline"];
    let Some(path) = shop.compile("gdc", "program", source, &flags) else { return };
    for is_stripped in [false, true] {
        if is_stripped {
            run("strip", &["--strip-debug", &path], "").unwrap();
        }
        let binary = Binary::open(&path);
        let resolved = Resolved::pcs(&binary, &binary.code_containing("_D3app4work"));
        let names = resolved.names();
        assert!(names.contains(&"app.work.Ring!(int).Ring.total(int)"), "{names:?}");
        assert!(names.iter().all(|name| !name.contains("::")), "{names:?}");
    }
}

/// The function of a row, without file and line.
fn function_of(row: &str) -> &str {
    row.rsplit_once(' ').map_or(row, |(function, _)| function)
}
