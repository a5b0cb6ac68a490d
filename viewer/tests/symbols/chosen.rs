//! Names of functions by what calls them: those that are chosen at run time, and those with several
//! names.

use csprof::symbols::cache::Cache;
use csprof::symbols::files::DiskFiles;
use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId, StringId};
use csprof_format::profile::{Frame, Module, Profile, SymbolSource};

use crate::build::{Binary, Resolved, Workshop, run};
use crate::notes::skip;

/// `small` and `twice` are chosen at run time and share the code of `copy`, which their resolvers
/// ask `pick` for, so nothing but calls tells; `plain` is not, and jumps there. `inside` calls it
/// as the library's own `hidden`, which nobody else can name but which has the resolver of `twice`.
const LIBRARY: &str = "
    static __attribute__((noinline)) int copy(int x) { __asm__ volatile (\"nop\"); return x + 1; }
    static __attribute__((noinline)) int (*pick(int x))(int) {
        __asm__ volatile (\"nop\");
        return x ? copy : 0;
    }
    static int (*choose(void))(int) { return pick(1); }
    static int (*choose_twice(void))(int) { return pick(2); }
    int small(int x) __attribute__((ifunc(\"choose\")));
    int __small_chk(int x) __attribute__((ifunc(\"choose\")));
    int twice(int x) __attribute__((ifunc(\"choose_twice\")));
    __attribute__((visibility(\"hidden\"), ifunc(\"choose_twice\"))) int hidden(int x);
    int inside(int x) { return hidden(x) * 2; }
    int plain(int x) { return copy(x); }
";

const PROGRAM: &str = "
    int small(int x), __small_chk(int x), twice(int x), plain(int x), inside(int x);
    int calls_small(int x) { return small(x) * 3; }
    int calls_checked(int x) { return __small_chk(x) * 3; }
    int calls_twice(int x) { return twice(x) * 3; }
    int calls_plain(int x) { return plain(x) * 3; }
    int main(int argc, char **argv) {
        return calls_small(1) + calls_checked(1) + calls_twice(argc) + calls_plain(1) + inside(2);
    }
";

/// Paths of two frames each: a caller in one module, and what was sampled in another.
struct Paths {
    profile: Profile,
}

impl Paths {
    fn new(program: &Binary, library: &Binary) -> Self {
        let mut profile = program.profile(FrameKind::Root, &[]);
        profile.strings.push(library.path.as_str().into());
        let module = |path, binary: &Binary| Module {
            path: StringId(path),
            build_id: binary.build_id(),
            symbols: SymbolSource::NotAsked,
        };
        profile.modules = vec![module(0, program), module(1, library)];
        profile.frames.push(Frame { kind: FrameKind::Root, module: None, offset: 0 });
        profile.nodes.push(0, FrameId(0), 0, 0);
        Self { profile }
    }

    /// Adds a path: `samples` of `sampled` in the library, below a call in module `caller`.
    fn add(&mut self, caller: u32, return_address: u64, sampled: u64, samples: u64) {
        let mut parent = 0;
        for (kind, module, offset, samples) in
            [(FrameKind::Call, caller, return_address, 0), (FrameKind::Leaf, 1, sampled, samples)]
        {
            let frame = FrameId::from_index(self.profile.frames.len());
            self.profile.frames.push(Frame { kind, module: Some(ModuleId(module)), offset });
            parent = self.profile.nodes.push(parent, frame, samples, 0);
        }
    }

    /// The name of what was sampled by the last path.
    fn name(self) -> String {
        let resolved = Resolved::with_debug_folders(self.profile, &[]);
        resolved.names().last().unwrap().to_string()
    }
}

/// Return address of the first call of a function, found by its first bytes.
fn return_address(binary: &Binary, function: &str) -> u64 {
    let (start, text) = binary.section(".text");
    let code = binary.code(function);
    let byte = |address: u64| text[(address - start) as usize];
    let returns = code.windows(6).filter_map(|window| {
        let [first, second] = [byte(window[0]), byte(window[1])];
        match (first, second) {
            (0xff, 0x15) => Some(window[0] + 6),
            (0xe8, _) => Some(window[0] + 5),
            _ => None,
        }
    });
    returns.min().unwrap()
}

/// The program, and the library without names for what it does not export, with the address of
/// `copy` and the return address of the call of `inside`.
fn build(shop: &Workshop, flags: &[&str]) -> Option<(Binary, Binary, u64, u64)> {
    let library = shop.compile("cc", "libchosen.so", LIBRARY, &["-O1", "-shared", "-fPIC"])?;
    let full = Binary::open(&library);
    let (copy, inside) = (full.address("copy"), return_address(&full, "inside"));
    run("strip", &[&library], "")?;
    let program = [flags, &["-O1", "-Wl,--no-as-needed", &library]].concat();
    let program = shop.compile("cc", "program", PROGRAM, &program)?;
    Some((Binary::open(&program), Binary::open(&library), copy, inside))
}

#[test]
fn a_function_that_no_resolver_names_is_called_what_its_callers_call_it() {
    for flags in [
        &["-fcf-protection=none", "-Wl,-z,lazy"][..], // call a stub in .plt
        &["-fcf-protection=full", "-Wl,-z,ibtplt"],   // call a stub in .plt.sec
        &["-fno-plt"],                                // call through the slot
    ] {
        let shop = Workshop::new();
        let Some((program, library, copy, inside)) = build(&shop, flags) else { return };
        let name = |paths: &[(u32, u64, u64)]| {
            let mut all = Paths::new(&program, &library);
            for &(caller, return_address, samples) in paths {
                all.add(caller, return_address, copy + 1, samples);
            }
            all.name()
        };
        let [small, checked, twice, plain] =
            ["calls_small", "calls_checked", "calls_twice", "calls_plain"]
                .map(|function| return_address(&program, function));
        assert_eq!(name(&[(0, small, 1)]), "small", "{flags:?}");
        assert_eq!(name(&[(0, checked, 1)]), "small", "{flags:?}");
        // The same one, however many samples have another.
        assert_eq!(name(&[(0, small, 1), (0, twice, 3)]), "small", "{flags:?}");
        assert_eq!(name(&[(0, twice, 300), (0, small, 1), (0, checked, 2)]), "small", "{flags:?}");
        // From within the library: a relocation that names the resolver.
        assert_eq!(name(&[(1, inside, 1)]), "twice", "{flags:?}");
        // `plain` jumped there: nobody asked for this very function.
        let made_up = format!("libchosen.so+{copy:#x}");
        assert_eq!(name(&[(0, plain, 5)]), made_up, "{flags:?}");
        assert_eq!(name(&[(0, small + 1, 5)]), made_up, "{flags:?}");
        assert_eq!(name(&[(0, 1, 5), (0, u64::MAX, 5)]), made_up, "{flags:?}");
        assert_eq!(name(&[(0, plain, 5), (0, twice, 1)]), "twice", "{flags:?}");
    }
}

/// `small` and `twice` share a copy, which their resolvers name. `inside` calls it by the resolver
/// of `twice`. `__alone_c` has a copy of its own, `other` one that others call by its own name.
const SHARED: &str = "
    static __attribute__((noinline)) int __shared_c(int x) { __asm__ volatile (\"nop\"); return x + 1; }
    static __attribute__((noinline)) int __alone_c(int x) { __asm__ volatile (\"nop\"); return x + 2; }
    __attribute__((noinline)) int known(int x) { __asm__ volatile (\"nop\"); return x + 3; }
    static int (*choose(void))(int) { return __shared_c; }
    static int (*choose_twice(void))(int) { return __shared_c; }
    static int (*choose_alone(void))(int) { return __alone_c; }
    static int (*choose_other(void))(int) { return known; }
    int small(int x) __attribute__((ifunc(\"choose\")));
    int __small_chk(int x) __attribute__((ifunc(\"choose\")));
    int twice(int x) __attribute__((ifunc(\"choose_twice\")));
    int alone(int x) __attribute__((ifunc(\"choose_alone\")));
    int other(int x) __attribute__((ifunc(\"choose_other\")));
    #ifdef INSIDE
    __attribute__((visibility(\"hidden\"), ifunc(\"choose_twice\"))) int hidden(int x);
    int inside(int x) { return hidden(x) * 2; }
    #endif
";

/// A program that calls these.
fn caller(called: &[&str]) -> String {
    let declared: String = called.iter().map(|name| format!("int {name}(int);\n")).collect();
    let calls: String = called.iter().map(|name| format!(" + {name}(argc)")).collect();
    format!("{declared}int main(int argc, char **argv) {{ return 0{calls}; }}")
}

#[test]
fn a_copy_is_called_what_is_imported_of_the_names_of_its_resolvers() {
    for stripped in [false, true] {
        for (inside, called, shown) in [
            ("", &["twice"][..], "twice"),
            ("", &["small"], "small"),
            ("", &["__small_chk"], "small"),
            ("", &["__small_chk", "twice"], "small [also twice]"),
            ("", &["twice", "small"], "small [also twice]"),
            ("-DINSIDE", &["small"], "small [also twice]"),
            ("", &["alone"], "small"),
        ] {
            let shop = Workshop::new();
            let flags = ["-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic", inside];
            let flags: Vec<&str> = flags.into_iter().filter(|flag| !flag.is_empty()).collect();
            let Some(path) = shop.compile("cc", "libshared.so", SHARED, &flags) else { return };
            let full = Binary::open(&path);
            let sampled = ["__shared_c", "__alone_c", "known"].map(|name| full.address(name));
            if stripped && run("strip", &[&path], "").is_none() {
                return;
            }
            let flags = ["-O1", "-Wl,--no-as-needed", &path];
            let program = shop.compile("cc", "program", &caller(called), &flags).unwrap();
            let mut paths = Paths::new(&Binary::open(&program), &Binary::open(&path));
            // Nobody is known to have called them, and nothing of the program was sampled.
            sampled.iter().for_each(|&at| paths.add(1, 1, at, 1));
            let resolved = Resolved::with_debug_folders(paths.profile, &[]);
            let clone = |own| if stripped { String::new() } else { format!(" [clone {own}]") };
            let names: Vec<&str> = resolved.names().into_iter().skip(2).step_by(2).collect();
            let shown = format!("{shown}{}", clone("__shared_c"));
            let alone = format!("alone{}", clone("__alone_c"));
            assert_eq!(names, [&*shown, &alone, "known"], "{called:?} {inside} {stripped}");
        }
    }
}

/// What a resolver gives to a function that it calls is no copy, nor is a number that is an address
/// only by chance.
#[test]
fn only_what_a_resolver_may_return_is_a_copy() {
    let shop = Workshop::new();
    let source = "
        #include <stdlib.h>
        static int first(int x) { __asm__ volatile (\"nop\"); return x + 1; }
        static int second(int x) { __asm__ volatile (\"nop\"); return x + 2; }
        static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
        static void init(void) { __asm__ volatile (\"nop\"); }
        int numbers[2];
        __attribute__((noinline)) static void once(int *done, void (*call)(void)) {
            if (!*done) call();
            __asm__ volatile (\"\" : : \"r\" (call) : \"memory\");
        }
        static int (*choose(void))(int) {
            int (*found)(int) = first;
            once(numbers, init);
            qsort(numbers, 2, sizeof(int), compare);
            if (numbers[0]) found = second;
            return found;
        }
        int work(int x) __attribute__((ifunc(\"choose\")));
        int calls(int x) { return work(x); }";
    for flags in [&["-O0"][..], &["-O1"], &["-O2", "-fno-inline"]] {
        let flags = [flags, &["-shared", "-fPIC"]].concat();
        let Some(path) = shop.compile("gcc", "libhelped.so", source, &flags) else { return };
        let library = Binary::open(&path);
        let symbols = ["first", "second", "compare", "init"];
        let addresses = symbols.map(|symbol| library.address(symbol));
        let mut sorted = addresses;
        sorted.sort_unstable();
        let resolved = Resolved::pcs(&library, &sorted);
        let names = resolved.names();
        let names = addresses.map(|at| names[sorted.binary_search(&at).unwrap()]);
        let expected = ["work [clone first]", "work [clone second]", "compare", "init"];
        assert_eq!(names, expected, "{flags:?}");
    }
}

/// In a library a number is no address.
#[test]
fn numbers_in_resolvers_are_addresses_where_code_is_not_moved() {
    let shop = Workshop::new();
    let source = |number: u64| {
        format!(
            "static int quick(int x) {{ __asm__ volatile (\"nop\"); return x + 1; }}
            int other(int x) {{ __asm__ volatile (\"nop\"); return x + 2; }}
            static int hidden(int x) {{ __asm__ volatile (\"nop\"); return x + 3; }}
            long sink;
            static int (*choose(void))(int) {{
                long value;
                __asm__ volatile (\"mov ${number:#x}, %%eax\" : \"=a\" (value));
                __asm__ volatile (\"\" : : \"a\" (value));
                return value == 1 ? (void *)value : quick;
            }}
            int work(int x) __attribute__((ifunc(\"choose\")));
            int calls(int x) {{ return work(x) + hidden(x) + other(x); }}"
        )
    };
    let flags = ["-O1", "-fno-inline", "-shared", "-fPIC"];
    let Some(path) = shop.compile("gcc", "libnumber.so", &source(0x1000), &flags) else { return };
    // The same size, so the same place.
    let hidden = Binary::open(&path).address("hidden");
    let path = shop.compile("gcc", "libnumber.so", &source(hidden), &flags).unwrap();
    let library = Binary::open(&path);
    assert_eq!(library.address("hidden"), hidden);
    let mut sorted = [hidden, library.address("quick")];
    sorted.sort_unstable();
    let resolved = Resolved::pcs(&library, &sorted);
    let mut names = resolved.names();
    names.sort_unstable();
    assert_eq!(names, ["hidden", "work [clone quick]"]);
}

/// Symbols of C++ are shown as it writes names.
#[test]
fn copies_in_a_stripped_library_of_another_language_have_its_names() {
    let shop = Workshop::new();
    let source = "
        __attribute__((target_clones(\"default\", \"bmi2\"))) long work(long x) {
            __asm__ volatile (\"nop\");
            return x * 3;
        }
        long calls(long x) { return work(x) + 1; }";
    let flags = ["-O1", "-shared", "-fPIC"];
    let Some(path) = shop.compile("g++", "libclones.so", source, &flags) else { return };
    let copy = Binary::open(&path).address("_Z4workl.bmi2");
    let Some(_) = run("strip", &[&path], "") else { return };
    let resolved = Resolved::pcs(&Binary::open(&path), &[copy]);
    assert_eq!(resolved.names(), ["work(long)"]);
}

/// A program's own functions that are chosen at run time are in no table for others. What compilers
/// make of `target_clones` has names that say whose copies they are.
#[test]
fn copies_in_a_program_are_known_by_its_resolvers() {
    let shop = Workshop::new();
    let source = "
        static int quick(int x) { __asm__ volatile (\"nop\"); return x + 1; }
        static int (*choose(void))(int) { return quick; }
        int work(int x) __attribute__((ifunc(\"choose\")));
        __attribute__((target_clones(\"default\", \"bmi2\", \"arch=haswell\"))) int many(int x) {
            __asm__ volatile (\"nop\");
            return x * 3;
        }
        int main(int argc, char **argv) { return work(argc) + many(argc); }";
    for flags in [&["-O1", "-fPIE", "-pie"][..], &["-O1", "-fno-pie", "-no-pie"]] {
        let Some(path) = shop.compile("gcc", "program", source, flags) else { return };
        let program = Binary::open(&path);
        let symbols = ["quick", "many.default", "many.bmi2", "many.arch_haswell"];
        let addresses = symbols.map(|symbol| program.address(symbol));
        let mut sorted = addresses;
        sorted.sort_unstable();
        let resolved = Resolved::pcs(&program, &sorted);
        let names = resolved.names();
        let name = |at: &u64| names[sorted.binary_search(at).unwrap()];
        let names: Vec<&str> = addresses.iter().map(name).collect();
        assert_eq!(names[0], "work [clone quick]", "{flags:?}");
        assert_eq!(names[1..], symbols[1..], "{flags:?}");
    }
}

/// Names of one function, as the C library has them.
const ALIASES: &str = "
    __attribute__((noinline)) int work(int x) { __asm__ volatile (\"nop\"); return x + 1; }
    int work64(int x) __attribute__((alias(\"work\")));
    int workforce(int x) __attribute__((weak, alias(\"work\")));
    int __work(int x) __attribute__((alias(\"work\")));
    int PMPI_work(int x) __attribute__((alias(\"work\")));
    int plain(int x) { return work(x); }
";

#[test]
fn a_function_with_several_names_is_called_what_is_imported() {
    for flags in [&["-O1"][..], &["-O1", "-g"]] {
        for (called, shown) in [
            (&["plain"][..], "work"),
            (&["workforce"], "workforce"),
            (&["work64"], "work"),
            (&["__work"], "work"),
            (&["PMPI_work"], "PMPI_work"),
            (&["workforce", "__work"], "workforce"),
            (&["PMPI_work", "work"], "work [also PMPI_work]"),
            (&["workforce", "work64", "PMPI_work", "__work"], "work [also workforce, PMPI_work]"),
        ] {
            let shop = Workshop::new();
            let library = [flags, &["-shared", "-fPIC"]].concat();
            let Some(library) = shop.compile("cc", "libaliases.so", ALIASES, &library) else {
                return;
            };
            let program = [flags, &["-Wl,--no-as-needed", &library]].concat();
            let program = shop.compile("cc", "program", &caller(called), &program).unwrap();
            let (program, library) = (Binary::open(&program), Binary::open(&library));
            let mut paths = Paths::new(&program, &library);
            paths.add(1, 1, library.address("work") + 1, 1);
            assert_eq!(paths.name(), shown, "{called:?} {flags:?}");
        }
    }
}

/// Which names are imported is not known any more when the program is gone: a name that the profile
/// has stays, also where debug symbols came.
#[test]
fn a_name_that_was_chosen_stays_where_the_importing_file_is_gone() {
    let shop = Workshop::new();
    let flags = ["-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-Wl,--build-id"];
    let source = [SHARED, ALIASES].concat();
    let Some(path) = shop.compile("cc", "libshared.so", &source, &flags) else { return };
    let full = Binary::open(&path);
    let sampled = ["__shared_c", "work"].map(|name| full.address(name));
    let debug = shop.path("libshared.so.debug");
    let Some(_) = run("objcopy", &["--only-keep-debug", &path, &debug], "") else { return };
    let link = format!("--add-gnu-debuglink={debug}");
    let Some(_) = run("objcopy", &["--strip-all", &link, &path], "") else { return };
    let away = shop.path("away");
    std::fs::rename(&debug, &away).unwrap();
    let flags = ["-O1", "-Wl,--no-as-needed", "-Wl,--build-id", &path];
    let names = ["twice", "workforce", "PMPI_work"];
    let program = shop.compile("cc", "program", &caller(&names), &flags).unwrap();
    let mut paths = Paths::new(&Binary::open(&program), &Binary::open(&path));
    sampled.iter().for_each(|&at| paths.add(1, 1, at, 1));
    let names = |resolved: &Resolved| -> Vec<String> {
        resolved.names().into_iter().skip(2).step_by(2).map(str::to_owned).collect()
    };
    let first = Resolved::with_debug_folders(paths.profile, &[]);
    assert_eq!(names(&first), ["twice", "workforce [also PMPI_work]"]);
    std::fs::remove_file(&program).unwrap();
    std::fs::rename(&away, &debug).unwrap();
    let later = Resolved::with_debug_folders(first.profile, &[]);
    assert_eq!(names(&later), ["twice [clone __shared_c]", "workforce [also PMPI_work]"]);
}

#[test]
fn functions_of_the_c_library_have_their_standard_names() {
    for (library, names) in [
        (
            "/lib/x86_64-linux-gnu/libm.so.6",
            &["fmod", "fmax", "pow", "cosh", "acoshl", "frexp", "fdim", "nextafter", "cpow"][..],
        ),
        (
            "/lib/x86_64-linux-gnu/libc.so.6",
            &["open", "strtol", "strtoul", "strtod", "lseek", "fopen", "glob", "mmap", "raise"],
        ),
    ] {
        if !std::path::Path::new(library).exists() {
            skip("functions that are chosen", &format!("no {library}"));
            continue;
        }
        let library = Binary::open(library);
        let addresses: Vec<u64> = names.iter().map(|name| library.address(name)).collect();
        assert_eq!(Resolved::pcs(&library, &addresses).names(), names);
    }
}

#[test]
fn the_c_library_without_debug_symbols_has_memcpy() {
    let shop = Workshop::new();
    let source = "
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        __attribute__((noinline)) char copies(char *to, char *from, size_t size) {
            memcpy(to, from, size);
            return to[size / 2];
        }
        int main(int argc, char **argv) {
            size_t size = 1 << (20 + argc);
            char *from = calloc(1, size), *to = malloc(size);
            Dl_info libc;
            /* What the loader chose. */
            if (!dladdr((void *) memcpy, &libc) || copies(to, from, size)) return 1;
            printf(\"%s %#lx\\n\", libc.dli_fname, (char *) memcpy - (char *) libc.dli_fbase);
        }";
    let flags = ["-O1", "-fPIE", "-pie", "-fno-builtin"];
    let Some(path) = shop.compile("cc", "copies", source, &flags) else { return };
    let Some(answer) = run(&path, &[], "") else { return };
    let (libc, memcpy) = answer.trim().split_once(" 0x").unwrap();
    let memcpy = u64::from_str_radix(memcpy, 16).unwrap();
    let (program, libc) = (Binary::open(&path), Binary::open(libc));

    let called = return_address(&program, "copies");
    let mut paths = Paths::new(&program, &libc);
    paths.add(0, called, memcpy + 8, 1);
    // The name is that of the whole function, also where nobody is known to have called it.
    paths.add(0, 1, memcpy, 1);
    let name = paths.name();
    if libc.has_symbol_table() {
        let reason = format!("the C library is not stripped and says {name}");
        return skip("memcpy without debug symbols", &reason);
    }
    // The library itself calls `memmove`, which shares the code.
    assert!(name == "memcpy" || name.starts_with("memcpy [also memmove"), "{name}");
}

/// Two versions of a function have one name, which beats one that begins with `PMPI_`. What else
/// they are called is known apart.
#[test]
fn further_names_of_one_version_are_none_of_the_other() {
    let shop = Workshop::new();
    let library = "
        __asm__(\".symver first, work@ONE\\n.symver second, work@@TWO\");
        int first(int x) { return x + 1; }
        int second(int x) { return x * 3; }
        int PMPI_older(int x) __attribute__((alias(\"first\")));
        int PMPI_newer(int x) __attribute__((alias(\"second\")));
    ";
    let map = "ONE { global: work; PMPI_older; PMPI_newer; local: *; }; TWO { global: work; } ONE;";
    let script = format!("-Wl,--version-script={}", shop.write("map", map));
    let flags = ["-O1", "-shared", "-fPIC", "-Wl,--build-id", &script];
    let Some(library) = shop.compile("cc", "libwork.so", library, &flags) else { return };
    let Some(_) = run("strip", &[&library], "") else { return };
    let source =
        "int PMPI_older(int x); int main(int argc, char **argv) { return PMPI_older(argc) * 3; }";
    let flags = ["-O1", "-fno-plt", "-Wl,--build-id", "-Wl,--no-as-needed", &library];
    let Some(program) = shop.compile("cc", "program", source, &flags) else { return };
    let (program, library) = (Binary::open(&program), Binary::open(&library));
    let call = return_address(&program, "main");
    let [older, newer] = ["PMPI_older", "PMPI_newer"].map(|name| library.address(name));
    let cache = tempfile::tempdir().unwrap();
    let name = |sampled: &[u64]| {
        let mut paths = Paths::new(&program, &library);
        for &sampled in sampled {
            paths.add(0, call, sampled, 1);
        }
        let cache = Cache::at(cache.path().to_owned(), 1 << 30);
        let files = DiskFiles::with_debug_folders(Vec::new()).with_cache(cache);
        Resolved::with(paths.profile, &files).names().last().unwrap().to_string()
    };
    assert_eq!(name(&[newer]), "work", "what is imported is a name of the other version");
    assert_eq!(name(&[older, newer]), "work", "whatever else was sampled");
    assert_eq!(name(&[older]), "PMPI_older");
}
