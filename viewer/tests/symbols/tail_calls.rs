//! Functions that left by tail calls, found again.

use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId, StringId};
use csprof_format::profile::{Frame, Module, SymbolSource};

use crate::build::{Binary, Resolved, Workshop};

/// `last` never calls, so where it was sampled below `main`, what `main` called is gone.
const PROGRAM: &str = "
    #define APART __attribute__((noinline, noclone))
    volatile int sink;
    int (*volatile pointer)(int);
    APART int last(int x) { sink = x; return x * 3; }
    APART int other(int x) { sink = x; sink = x; return x * 5; }
    APART int third(int x) { sink = 4; return last(x + 4); }
    APART int second(int x) { sink = 2; return last(x + 2); }
    APART int first(int x) { sink = 1; return second(x + 1); }
    APART int either(int x) { if (x > 3) return second(x); sink = 9; return third(x); }
    APART int skips(int x) { if (x > 3) return second(x); sink = 8; return last(x); }
    APART int open(int x) { sink = 7; return pointer(x); }
    APART int round(int x);
    APART int back(int x) { sink = 6; return round(x - 1); }
    APART int round(int x) { if (x > 9) return back(x); sink = 5; return second(x); }
    APART int calls(int x) { return last(x) + 1; }
    APART int pong(int x);
    APART int middle(int x) { sink = 3; return pong(x - 1); }
    APART int ping(int x) { sink = 2; return middle(x); }
    APART int pong(int x) { if (x > 9) return ping(x); sink = x; return x * 7; }
    int calls_first(int x) { return first(x) + 1; }
    int calls_second(int x) { return second(x) + 1; }
    int calls_last(int x) { return last(x) + 1; }
    int calls_either(int x) { return either(x) + 1; }
    int calls_skips(int x) { return skips(x) + 1; }
    int calls_open(int x) { return open(x) + 1; }
    int calls_round(int x) { return round(x) + 1; }
    int calls_calls(int x) { return calls(x) + 1; }
    int calls_pointer(int x) { return pointer(x) + 1; }
    int calls_ping(int x) { return ping(x) + 1; }
    int calls_middle(int x) { return middle(x) + 1; }
    int main(int argc, char **argv) {
        pointer = argc > 1 ? other : last;
        return calls_first(argc) + calls_second(1) + calls_last(2) + calls_either(argc)
            + calls_skips(argc) + calls_open(1) + calls_round(argc) + calls_calls(2)
            + calls_pointer(3) + calls_ping(argc) + calls_middle(argc);
    }
";

/// A profile with a sample in `sampled` below the only call of `caller`, and others.
fn profile(binary: &Binary, caller: &str, sampled: &str, others: &[&str]) -> Resolved {
    let mut profile = binary.profile(FrameKind::Root, &[]);
    let call = binary.calls(caller).next().map_or_else(|| 2, |at| at + 5) as u64;
    profile.frames.push(Frame { kind: FrameKind::Root, module: None, offset: 0 });
    profile.nodes.push(0, FrameId(0), 0, 0);
    let mut add = |parent, kind, offset| {
        let frame = FrameId::from_index(profile.frames.len());
        profile.frames.push(Frame { kind, module: Some(ModuleId(0)), offset });
        profile.nodes.push(parent, frame, u64::from(kind == FrameKind::Leaf), 0);
    };
    add(0, FrameKind::Call, binary.address(caller) + call);
    add(1, FrameKind::Leaf, binary.address(sampled));
    for other in others {
        add(0, FrameKind::Leaf, binary.address(other));
    }
    Resolved::with_debug_folders(profile, &[])
}

impl Resolved {
    /// What left between the first call and the sample below it, with the line of each.
    fn left(&self) -> Vec<(String, u32)> {
        let via = self.profile.structure.tail_calls_between(FrameId(1), FrameId(2));
        let functions = via.iter().map(|id| &self.profile.functions[id.index()]);
        functions.map(|known| (self.string(known.name).to_owned(), known.line)).collect()
    }
}

/// What left between the only call of `caller` and a sample in `sampled`.
fn between(binary: &Binary, caller: &str, sampled: &str) -> Vec<String> {
    let left = profile(binary, caller, sampled, &[]).left();
    left.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn what_was_called_and_is_gone_is_found_again() {
    let shop = Workshop::new();
    for compiler in ["cc", "clang"] {
        let flags = ["-g", "-O2", "-fno-ipa-icf"];
        let flags = if compiler == "cc" { &flags[..] } else { &flags[..2] };
        let Some(path) = shop.compile(compiler, compiler, PROGRAM, flags) else { continue };
        let binary = Binary::open(&path);
        let cases: [(&str, &str, &[&str]); 14] = [
            ("calls_first", "last", &["first", "second"]),
            ("calls_second", "last", &["second"]),
            // Two chains of one length, of different lengths, and one that may go in circles.
            ("calls_either", "last", &["either", "third or second"]),
            ("calls_skips", "last", &["skips"]),
            ("calls_round", "last", &["round"]),
            // What was found may have called it again.
            ("calls_ping", "pong", &["ping"]),
            ("calls_middle", "pong", &["middle"]),
            ("calls_ping", "middle", &["ping"]),
            // A jump through a pointer may have led anywhere, so nothing shows that it led there.
            ("calls_open", "last", &[]),
            ("calls_open", "other", &[]),
            // It is there, or its own frame would be, or no chain leads there.
            ("calls_last", "last", &[]),
            ("calls_calls", "last", &[]),
            ("calls_first", "other", &[]),
            // Nothing says what was called.
            ("calls_pointer", "last", &[]),
        ];
        for (caller, sampled, expected) in cases {
            let via = between(&binary, caller, sampled);
            let mut sorted: Vec<String> = via.clone();
            for name in &mut sorted {
                let mut names: Vec<&str> = name.split(" or ").collect();
                names.sort_by_key(|name| std::cmp::Reverse(*name));
                *name = names.join(" or ");
            }
            assert_eq!(sorted, expected, "{compiler}: {caller} {sampled}: {via:?}");
        }
        // As if the call had arrived in the dynamic loader, by the name of the file.
        let loader = shop.path("ld-2.31.so");
        std::fs::copy(&path, &loader).unwrap();
        let via = between(&Binary::open(&loader), "calls_first", "last");
        assert!(via.is_empty(), "{compiler}: {via:?}");
    }
}

/// Where it was not sampled itself, it is declared where its debug information says: also where
/// another function is inlined at its beginning. Several have no place.
#[test]
fn what_was_found_again_has_a_file_and_a_line() {
    let shop = Workshop::new();
    let source = "
        volatile int sink;
        #define APART __attribute__((noinline, noclone))
        static inline __attribute__((always_inline)) void inner(int x) { sink = x; }
        APART int last(int x) { sink = x; return x * 3; }
        APART int second(int x) { inner(x); return last(x + 2); }
        APART int third(int x) { sink = 4; return last(x + 4); }
        APART int either(int x) { if (x > 3) return second(x); sink = 9; return third(x); }
        int calls_second(int x) { return second(x) + 1; }
        int calls_either(int x) { return either(x) + 1; }
        int main(int argc, char **argv) { return calls_second(argc) + calls_either(argc); }
    ";
    for (flags, line) in [(&["-g", "-O2", "-fno-ipa-icf"], 6), (&["-g0", "-O2", "-fno-ipa-icf"], 0)]
    {
        let Some(path) = shop.compile("cc", &format!("declared{line}"), source, flags) else {
            return;
        };
        let binary = Binary::open(&path);
        let resolved = profile(&binary, "calls_second", "last", &[]);
        assert_eq!(resolved.left(), [("second".to_owned(), line)]);
        let via = resolved.profile.structure.tail_calls_between(FrameId(1), FrameId(2));
        let file = resolved.profile.functions[via[0].index()].file;
        let file = file.map(|file| resolved.string(file).to_owned());
        assert_eq!(file.is_some_and(|file| file.ends_with(".c")), line > 0);
        let resolved = profile(&binary, "calls_either", "last", &[]);
        let lines: Vec<u32> = resolved.left().into_iter().map(|(_, line)| line).collect();
        assert_eq!(lines, if line > 0 { [8, 0] } else { [0, 0] });
    }
}

/// A chain of functions, each of which jumps to the next: all but the last `others` are told.
#[test]
fn of_a_long_chain_the_beginning_is_told() {
    let shop = Workshop::new();
    let mut source = "volatile int sink;\n".to_owned();
    source += "__attribute__((noinline, noclone)) int f0(int x) { sink = x; return x * 3; }\n";
    for number in 1..=40 {
        source += &format!(
            "__attribute__((noinline, noclone)) int f{number}(int x) {{ sink = {number}; return \
             f{}(x + {number}); }}\nint calls_{number}(int x) {{ return f{number}(x) + 1; }}\n",
            number - 1
        );
    }
    source += "int main(int argc, char **argv) { return calls_40(argc) + calls_16(argc); }\n";
    let Some(path) = shop.compile("cc", "long", &source, &["-O2"]) else { return };
    let binary = Binary::open(&path);
    for length in [1, 13, 14, 15, 16, 40] {
        let via = between(&binary, &format!("calls_{length}"), "f0");
        let told = (1..=length).rev().take(15).map(|number| format!("f{number}"));
        assert_eq!(via, told.collect::<Vec<_>>(), "{length}");
    }
}

/// Functions of a library that others may define call each other through its slots.
const LIBRARY: &str = "\
volatile int sink;
__attribute__((noinline)) int last(int x) { sink = x; return x * 3; }
__attribute__((noinline)) int second(int x) { sink = 2; return last(x + 2); }
__attribute__((noinline)) int first(int x) { sink = 1; return second(x + 1); }
int arrives(int x) __attribute__((alias(\"first\")));
int calls_first(int x) { return first(x) + 1; }
int calls_arrives(int x) { return arrives(x) + 1; }
";

#[test]
fn jumps_through_slots_are_followed() {
    let shop = Workshop::new();
    for (name, flags) in [
        ("lazy.so", &["-Wl,-z,lazy"][..]),
        ("now.so", &["-Wl,-z,now"]),
        ("tracked.so", &["-fcf-protection"]),
    ] {
        for compiler in ["cc", "clang"] {
            let all = [&["-g", "-O2", "-fPIC", "-shared"], flags].concat();
            let Some(path) = shop.compile(compiler, name, LIBRARY, &all) else { continue };
            let via = between(&Binary::open(&path), "calls_first", "last");
            assert_eq!(via, ["first", "second"], "{compiler} {name}");
        }
    }
}

/// A library that is preloaded may define what is called, also if nothing of it was sampled.
#[test]
fn what_several_modules_define_is_not_told() {
    let shop = Workshop::new();
    let library = "int bar(int x) { return x * 3; }\nvolatile int sink;\nint foo(int x) { sink = x; \
                   return bar(x + 5); }\n";
    let flags = ["-g", "-O2", "-fPIC", "-shared"];
    let Some(library) = shop.compile("cc", "library.so", library, &flags) else { return };
    let shim = "int (*real)(int);\nint foo(int x) { return real(x + 1); }\n";
    let shim = shop.compile("cc", "shim.so", shim, &flags).unwrap();
    let other = shop.compile("cc", "other.so", "int other;\n", &flags).unwrap();
    let main = "int foo(int);\nint calls_foo(int x) { return foo(x) + 1; }\nint main(int c, char \
                **v) { return calls_foo(c); }\n";
    let Some(main) = shop.compile("cc", "main", main, &["-O2", "-Wl,--no-as-needed", &library])
    else {
        return;
    };
    let (main, library) = (Binary::open(&main), Binary::open(&library));
    for (others, told) in [
        (&[&*other, "[vdso]"][..], Some("foo")),
        (&[&*other, &*shim], None),
        (&["/nonexistent/lib.so"], None),
    ] {
        let mut profile = main.profile(FrameKind::Root, &[]);
        profile.frames.push(Frame { kind: FrameKind::Root, module: None, offset: 0 });
        profile.nodes.push(0, FrameId(0), 0, 0);
        let call = main.calls("calls_foo").next().unwrap() as u64 + 5;
        let places = [
            (FrameKind::Call, main.address("calls_foo") + call),
            (FrameKind::Leaf, library.address("bar")),
        ];
        for (module, (kind, offset)) in (0..).zip(places) {
            profile.frames.push(Frame { kind, module: Some(ModuleId(module)), offset });
            profile.nodes.push(module, FrameId(module + 1), 1, 0);
        }
        for path in [&*library.path].iter().chain(others) {
            let bytes = std::fs::exists(path).unwrap().then(|| Binary::open(path).build_id());
            let path_id = StringId::from_index(profile.strings.len());
            profile.strings.push((*path).into());
            profile.modules.push(Module {
                path: path_id,
                build_id: bytes.unwrap_or_default(),
                symbols: SymbolSource::NotAsked,
            });
        }
        let left = Resolved::with_debug_folders(profile, &[]).left();
        let names = left.iter().map(|(name, _)| &**name).next();
        assert_eq!(names, told, "{others:?}");
    }
}

/// What was called has the name that it has elsewhere, and one that was sampled is the same
/// function. `arrives` is a name by which the library alone calls `first`.
#[test]
fn functions_that_left_are_called_as_others_are() {
    let shop = Workshop::new();
    let flags = ["-g", "-O2", "-fPIC", "-shared"];
    let Some(path) = shop.compile("cc", "named.so", LIBRARY, &flags) else { return };
    let binary = Binary::open(&path);
    let left = |others: &[&str]| profile(&binary, "calls_arrives", "last", others).left();
    let told = |name: &str, line| (name.to_owned(), line);
    assert_eq!(left(&[]), [told("first", 4), told("second", 3)]);
    assert_eq!(left(&["second"]), [told("first", 4), told("second", 3)]);
    // `static` functions of one name are not taken for each other.
    let twin = "static __attribute__((noinline)) int same(int x) { sink = x; return last(x); }";
    let one = format!(
        "extern volatile int sink; int last(int x);\n{twin}\nint calls_one(int x) {{ return \
         same(x) + 1; }}\nint one(int x) {{ return same(x + 1); }}\n"
    );
    let other = shop.write("other.c", &one.replace("one", "other").replace("= x;", "= x + 1;"));
    let library = shop.write("library.c", LIBRARY);
    let flags = ["-g", "-O2", "-fPIC", "-shared", &other, &library];
    let Some(path) = shop.compile("cc", "twins.so", &one, &flags) else { return };
    let binary = Binary::open(&path);
    let code = binary.code_containing("same");
    let starts = code.iter().filter(|&address| !code.contains(&(address - 1)));
    let called = starts.map(|&start| {
        let mut resolved = profile(&binary, "calls_one", "last", &[]);
        let frame = Frame { kind: FrameKind::Leaf, module: Some(ModuleId(0)), offset: start };
        resolved.profile.frames.push(frame);
        let nodes = &mut resolved.profile.nodes;
        nodes.push(0, FrameId(3), 1, 0);
        resolved.profile.sites = Default::default();
        let resolved = Resolved::with_debug_folders(resolved.profile, &[]);
        let via = resolved.profile.structure.tail_calls_between(FrameId(1), FrameId(2));
        let declared = &resolved.profile.functions[via[0].index()];
        let file = resolved.string(declared.file.unwrap()).to_owned();
        let sites = &resolved.profile.sites;
        let sampled = sites.function[sites.rows(FrameId(3)).next().unwrap()];
        (resolved.left(), file.ends_with("/twins.so.c"), sampled == via[0])
    });
    let mut called: Vec<_> = called.collect();
    called.sort();
    let same = || vec![told("same", 2)];
    assert_eq!(called, [(same(), true, false), (same(), true, true)]);
}
