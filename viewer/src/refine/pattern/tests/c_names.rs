//! Names of C and of languages that write paths with dots.

use super::{matches, matches_of};
use crate::refine::pattern::c_names::writes_dots;

#[test]
fn c_names_match_as_they_were_called() {
    for glob in ["memcpy", "memcpy*", "__memcpy*", "__memcpy_avx512_unaligned_erms"] {
        assert!(matches(glob, "__memcpy_avx512_unaligned_erms"), "{glob}");
    }
    assert!(matches("strlen", "__strlen_evex"));
    assert!(matches("write", "__write"));
    for (glob, name) in [
        ("scan", "scan.part.0"),
        ("scan.part.0", "scan.part.0"),
        ("main", "main._omp_fn.0"),
        ("tan", "tan [clone __tan_fma]"),
        ("memcpy*", "memcpy [clone __memmove_avx_unaligned_erms]"),
        ("*memmove_avx*", "memcpy [clone __memmove_avx_unaligned_erms]"),
        ("tan [clone __tan_fma]", "tan [clone __tan_fma]"),
        ("__tan_fma", "tan [clone __tan_fma]"),
        ("tan_f*", "tan [clone __tan_fma]"),
        ("memmove", "memcpy [also memmove]"),
        ("memmove", "memcpy [also memmove] [clone __memcpy_avx_unaligned]"),
        ("memcpy", "memcpy [also memmove] [clone __memcpy_avx_unaligned]"),
        ("memcpy [also memmove]", "memcpy [also memmove]"),
        ("work", "work(long) [also a::force(int, int)] [clone __work_c]"),
        ("work(long)", "work(long) [also a::force(int, int)] [clone __work_c]"),
        ("force", "work(long) [also a::force(int, int)] [clone __work_c]"),
        ("a::force(int, int)", "work(long) [also a::force(int, int)]"),
        ("__work_c", "work(long) [also a::force(int, int)] [clone __work_c]"),
        ("work(long) [also a::force(int, int)]", "work(long) [also a::force(int, int)]"),
        ("PMPI_Send", "MPI_Send [also workforce, PMPI_Send]"),
        ("work", "work.bmi_bmi2"),
        ("work", "work.arch_x86-64-v3.0"),
        ("_int_free", "_int_free.isra.0"),
        ("int_free", "_int_free.constprop.0.isra.0"),
        ("dgemm", "dgemm_"),
        ("dgemm_", "dgemm_"),
        ("step", "__grid_MOD_step"),
        ("step*", "__grid_MOD_step"),
    ] {
        assert!(matches(glob, name), "{glob} {name}");
    }
    assert!(!matches("Init", "Init_") && !matches("libc", "libc.so.6+0x1234"));
    assert!(!matches("memcpy", "memcpy_s"));
    assert!(!matches("memmov", "memcpy [also memmove]") && !matches("also", "f [also g]"));
    assert!(!matches("write", "fwrite"));
}

#[test]
fn paths_with_dots_match_from_each_part_on() {
    for (name, typed) in [
        ("Stdlib.List.map", &["map", "List.map", "Stdlib.List.map", "list.map", "List.*"][..]),
        ("Stdlib.List.(>>=)", &["(>>=)", "List.(>>=)", "Stdlib.*"]),
        ("GHC.Base.map", &["map", "Base.map", "GHC.Base.*"]),
        ("Re.Group.fun_1161", &["fun_1161", "Group.fun*"]),
        ("ada.text_io.put", &["put", "text_io.put", "ada.text_io.*"]),
        ("std.algorithm.sorting.sort", &["sort", "sorting.sort"]),
        ("app.Matrix!(double).row", &["row", "Matrix!(double).row", "app.*"]),
        ("runtime.mallocgc", &["mallocgc", "runtime.mallocgc"]),
        ("bytes.(*Buffer).Write", &["Write", "(*Buffer).Write", "bytes.*"]),
        ("main.Map[go.shape.int]", &["Map", "main.Map", "main.Map[go.shape.int]"]),
        ("main.(*List[go.shape.int]).Push", &["Push", "(*List).Push", "main.(*List).Push"]),
        ("java.util.HashMap.<init>", &["<init>", "HashMap.<init>", "util.HashMap.*"]),
        ("solver.step [clone .cold]", &["step", "solver.step"]),
        ("caml.step.isra.0", &["step", "caml.step"]),
        (".omp_outlined.", &[".omp_outlined."]),
        // What stands behind the arguments may be left out from each dot on, as of C++.
        ("app.S.f(int) const", &["f", "S.f", "f(int)", "S.f(int)", "app.S.f(int)", "f(int) const"]),
        ("app.S.f(int) shared inout", &["f", "S.f", "f(int)", "app.S.f", "S.f(int)"]),
        ("app.S.f(int) [clone .part.0] [clone .cold]", &["S.f(int)", "f(int) [clone .part.0]*"]),
        ("app.f!(a.B, int).f(a.B, int)", &["f!(a.B, int).f(a.B, int)", "f(a.B, int)"]),
        // Names of functions that are also the ends of names of files.
        ("counter.inc", &["inc", "counter.inc"]),
        ("core.time.d", &["d", "time.d"]),
        ("main.go", &["go"]),
        ("Config.default", &["default", "Config.default"]),
        ("app.units.resolver", &["resolver", "units.resolver"]),
        ("app.avx2Sum", &["avx2Sum"]),
        // Copies that a compiler makes of one function.
        ("run.default.1", &["run"]),
        ("run.avx2.0", &["run", "run.avx2.0"]),
        ("run.arch_x86_64_v3", &["run"]),
        // A word may be one as well as a function.
        ("run.resolver", &["run", "resolver"]),
        ("work.popcnt", &["work", "popcnt"]),
        ("work.bmi2", &["work"]),
        ("run.cold", &["run", "cold"]),
        ("run.cold.part.0", &["run", "run.cold", "cold"]),
        ("main.warmup", &["warmup", "main.warmup"]),
        ("Model.cold_start", &["cold_start", "cold*", "Model.*"]),
        ("main.ssearch", &["ssearch"]),
        ("cache.extractedKey", &["extractedKey"]),
        ("f.part.0+0x12", &["f"]),
        ("run.__uniq.1234.llvm.7", &["run"]),
    ] {
        for typed in typed {
            assert!(matches(typed, name), "{typed} is {name}");
        }
    }
    for (name, typed) in [
        ("Stdlib.List.map", &["List", "ap", "Stdlib.map", "st.map"][..]),
        ("libc.so.6+0x1234", &["so.6+0x1234", "so*"]),
        ("scan.part.0", &["part.0", "0"]),
        ("bytes.(*Buffer).Write", &["Buffer.Write", "Buffer).Write"]),
        ("f(a.b)", &["b", "b)"]),
        ("main.Map[go.shape.int]", &["shape.int]", "int]"]),
        ("py::run:/tmp/x.py", &["py", "x.py"]),
        ("[partial: a.b]", &["b]", "b*"]),
        ("run.default.1", &["default*", "default.1"]),
        ("run.avx2.0", &["avx2*", "avx*"]),
        // Words that only begin like marks, or are none without a number.
        ("main.warmup", &["main"]),
        ("main.coldStart", &["main"]),
        ("Model.cold_start", &["Model"]),
        ("main.ssearch", &["main"]),
        ("cache.extractedKey", &["cache"]),
        ("main.part", &["main"]),
        ("main.cold.func1", &["main", "cold"]),
        ("app.units.cold", &["app", "app.units"]),
        ("run.__uniq.1234", &["__uniq*", "__uniq.1234"]),
        ("app.S.f(int) shared", &["int", "shared", "f(char)", "app.S"]),
        ("bytes.(*Buffer).Write", &[".Write"]),
    ] {
        for typed in typed {
            assert!(!matches(typed, name), "{typed} is not {name}");
        }
    }
}

/// In a language that writes paths with dots, what a compiler of C calls a part or a copy is a
/// function, unless it has a number.
#[test]
fn words_of_other_languages_are_no_marks() {
    for (name, typed, others) in [
        ("main.resolver", &["resolver", "main.resolver"][..], &["main"][..]),
        ("main.cold", &["cold"], &["main"]),
        ("Model.warm", &["warm", "Model.warm"], &["Model"]),
        ("app.default", &["default", "app.default"], &["app"]),
        ("arena.avx", &["avx"], &["arena"]),
        ("Config.default", &["default"], &["Config"]),
        ("main.run.part.0", &["run", "main.run"], &["main", "part*"]),
        ("Solver.step [clone .cold]", &["step"], &["Solver"]),
    ] {
        for typed in typed {
            assert!(matches_of(typed, name, true), "{typed} is {name}");
        }
        for typed in others {
            assert!(!matches_of(typed, name, true), "{typed} is not {name}");
        }
    }
    for (file, is_one) in [
        ("/home/me/main.go", true),
        ("p.py", true),
        ("cache.ml", true),
        ("work.c", false),
        ("work.cc", false),
        ("go", false),
        ("", false),
    ] {
        assert_eq!(writes_dots(file), is_one, "{file}");
    }
}
