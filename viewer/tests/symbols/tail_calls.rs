//! Functions that left by tail calls, found again.

use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId};
use csprof_format::profile::Frame;

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
    int calls_first(int x) { return first(x) + 1; }
    int calls_second(int x) { return second(x) + 1; }
    int calls_last(int x) { return last(x) + 1; }
    int calls_either(int x) { return either(x) + 1; }
    int calls_skips(int x) { return skips(x) + 1; }
    int calls_open(int x) { return open(x) + 1; }
    int calls_round(int x) { return round(x) + 1; }
    int calls_calls(int x) { return calls(x) + 1; }
    int calls_pointer(int x) { return pointer(x) + 1; }
    int main(int argc, char **argv) {
        pointer = argc > 1 ? other : last;
        return calls_first(argc) + calls_second(1) + calls_last(2) + calls_either(argc)
            + calls_skips(argc) + calls_open(1) + calls_round(argc) + calls_calls(2)
            + calls_pointer(3);
    }
";

/// What left between the only call of `caller` and a sample in `sampled`.
fn between(binary: &Binary, caller: &str, sampled: &str) -> Vec<String> {
    let mut profile = binary.profile(FrameKind::Root, &[]);
    let call = binary.calls(caller).next().map_or(2, |at| at + 5) as u64;
    profile.frames.push(Frame { kind: FrameKind::Root, module: None, offset: 0 });
    profile.nodes.push(0, FrameId(0), 0, 0);
    let places = [
        (FrameKind::Call, binary.address(caller) + call),
        (FrameKind::Leaf, binary.address(sampled)),
    ];
    for (parent, (kind, offset)) in (0..).zip(places) {
        profile.frames.push(Frame { kind, module: Some(ModuleId(0)), offset });
        profile.nodes.push(parent, FrameId(parent + 1), u64::from(kind == FrameKind::Leaf), 0);
    }
    let resolved = Resolved::with_debug_folders(profile, &[]);
    let via = resolved.profile.structure.tail_calls_between(FrameId(1), FrameId(2));
    let functions = via.iter().map(|id| &resolved.profile.functions[id.index()]);
    functions.map(|function| resolved.string(function.name).to_owned()).collect()
}

#[test]
fn what_was_called_and_is_gone_is_found_again() {
    let shop = Workshop::new();
    for compiler in ["cc", "clang"] {
        let flags = ["-g", "-O2", "-fno-ipa-icf"];
        let flags = if compiler == "cc" { &flags[..] } else { &flags[..2] };
        let Some(path) = shop.compile(compiler, compiler, PROGRAM, flags) else { continue };
        let binary = Binary::open(&path);
        let cases: [(&str, &str, &[&str]); 11] = [
            ("calls_first", "last", &["first", "second"]),
            ("calls_second", "last", &["second"]),
            // Two chains of one length, of different lengths, and one that may go in circles.
            ("calls_either", "last", &["either", "third or second"]),
            ("calls_skips", "last", &["skips"]),
            ("calls_round", "last", &["round"]),
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
