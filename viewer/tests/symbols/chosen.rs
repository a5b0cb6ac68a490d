//! Names of functions by what calls them: those that are chosen at run time, and those with several
//! names.

use csprof::symbols::cache::Cache;
use csprof::symbols::files::DiskFiles;
use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId, StringId};
use csprof_format::profile::{Frame, Module, Profile, SymbolSource};

use crate::build::{Binary, Resolved, Workshop, run};

/// `small` and `twice` are chosen at run time and share the code of `copy`; `plain` is not, and
/// jumps there. `inside` calls it as the library's own `hidden`, which nobody else can name but
/// which has the resolver of `twice`.
const LIBRARY: &str = "
    static __attribute__((noinline)) int copy(int x) { __asm__ volatile (\"nop\"); return x + 1; }
    static int (*choose(void))(int) { return copy; }
    static int (*choose_twice(void))(int) { return copy; }
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
fn a_function_chosen_at_run_time_is_called_what_its_callers_call_it() {
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
        // The name that clearly most samples were called by, or else always the same one.
        assert_eq!(name(&[(0, small, 1), (0, twice, 3)]), "twice", "{flags:?}");
        assert_eq!(name(&[(0, small, 2), (0, twice, 3)]), "small", "{flags:?}");
        assert_eq!(name(&[(0, small, 4), (0, twice, 3)]), "small", "{flags:?}");
        assert_eq!(name(&[(0, twice, 3), (0, small, 2), (0, checked, 2)]), "small", "{flags:?}");
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

/// Names of one function, as the C library has them.
const ALIASES: &str = "
    __attribute__((noinline)) int work(int x) { __asm__ volatile (\"nop\"); return x + 1; }
    int work64(int x) __attribute__((alias(\"work\")));
    int workforce(int x) __attribute__((weak, alias(\"work\")));
    int __work(int x) __attribute__((alias(\"work\")));
    int plain(int x) { return work(x); }
";

#[test]
fn a_function_with_several_names_is_called_what_its_callers_call_it() {
    let source = "
        int work64(int), workforce(int), __work(int), plain(int);
        int calls_large(int x) { return work64(x) * 3; }
        int calls_force(int x) { return workforce(x) * 3; }
        int calls_reserved(int x) { return __work(x) * 3; }
        int main(int argc, char **argv) {
            return calls_large(1) + calls_force(1) + calls_reserved(argc) + plain(argc);
        }";
    for flags in [&["-O1"][..], &["-O1", "-g"]] {
        let shop = Workshop::new();
        let library = [flags, &["-shared", "-fPIC"]].concat();
        let Some(library) = shop.compile("cc", "libaliases.so", ALIASES, &library) else { return };
        let program = [flags, &["-Wl,--no-as-needed", &library]].concat();
        let Some(program) = shop.compile("cc", "program", source, &program) else { return };
        let (program, library) = (Binary::open(&program), Binary::open(&library));
        let called = library.address("work") + 1;
        let name = |callers: &[(&str, u64)]| {
            let mut paths = Paths::new(&program, &library);
            paths.add(0, 1, called, 1);
            for &(caller, samples) in callers {
                paths.add(0, return_address(&program, caller), called, samples);
            }
            paths.name()
        };
        assert_eq!(name(&[]), "work", "nobody is known to have called it");
        assert_eq!(name(&[("calls_force", 1)]), "workforce");
        assert_eq!(name(&[("calls_large", 3), ("calls_force", 1)]), "work", "as it was written");
        assert_eq!(name(&[("calls_large", 2), ("calls_force", 5)]), "workforce");
        assert_eq!(name(&[("calls_large", 2), ("calls_force", 3)]), "work", "it may be a chance");
        assert_eq!(name(&[("calls_reserved", 2)]), "work");
    }
}

#[test]
fn a_copy_for_some_processors_has_the_name_of_its_function_before_its_own() {
    let library = "
        static __attribute__((noinline)) int __wait_avx2(int x) { __asm__ volatile (\"\"); return x; }
        static int (*choose(void))(int) { return __wait_avx2; }
        int wait(int x) __attribute__((ifunc(\"choose\")));
        int rest(int x) __attribute__((ifunc(\"choose\")));";
    let source = "
        int wait(int), rest(int);
        int calls_rest(int x) { return rest(x) * 3; }
        int main(int argc, char **argv) { return calls_rest(1) + wait(2); }";
    let shop = Workshop::new();
    let flags = ["-O1", "-shared", "-fPIC"];
    let Some(library) = shop.compile("cc", "libcopies.so", library, &flags) else { return };
    let flags = ["-O1", "-Wl,--no-as-needed", &library];
    let Some(program) = shop.compile("cc", "program", source, &flags) else { return };
    let (program, library) = (Binary::open(&program), Binary::open(&library));
    let copy = library.address("__wait_avx2");
    let mut paths = Paths::new(&program, &library);
    paths.add(0, 1, copy, 1);
    assert_eq!(paths.name(), "wait [clone __wait_avx2]", "by its name");
    let mut paths = Paths::new(&program, &library);
    paths.add(0, return_address(&program, "calls_rest"), copy, 1);
    assert_eq!(paths.name(), "rest [clone __wait_avx2]", "by its caller");
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
            println!("skipped: no {library} here");
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
        println!("skipped: the C library here is not stripped and says {name}");
        return;
    }
    assert_eq!(name, "memcpy");
}

/// Two versions of a function have one name, which beats one that begins with `PMPI_`. By what else
/// calls can name them is known apart, also where an earlier run met both.
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
    assert_eq!(name(&[newer]), "work", "a call of the other version names nothing");
    assert_eq!(name(&[older, newer]), "PMPI_older", "they are one function");
    assert_eq!(name(&[newer]), "work");
    assert_eq!(name(&[older]), "PMPI_older");
}
