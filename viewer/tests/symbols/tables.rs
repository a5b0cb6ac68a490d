//! Names without DWARF.

use csprof_format::address::FrameKind;

use crate::build::{Binary, Resolved, Workshop, run};

const PLAIN: &str = "
    #include <stdlib.h>
    static __attribute__((noinline)) int hidden(int x) { return rand() + x; }
    __attribute__((noinline)) int shown(int x) { return hidden(x) * 3; }
    int main(int argc, char **argv) { return shown(argc); }
";

#[test]
fn a_symbol_table_names_static_and_global_functions() {
    for pie in ["-pie", "-no-pie"] {
        let shop = Workshop::new();
        let flags = [
            "-O2",
            "-fno-optimize-sibling-calls",
            if pie == "-pie" { "-fPIE" } else { "-fno-pie" },
            pie,
        ];
        let Some(path) = shop.compile("cc", "plain", PLAIN, &flags) else { return };
        let binary = Binary::open(&path);
        let addresses = ["hidden", "shown", "main"].map(|name| binary.address(name) + 4);
        let resolved = Resolved::pcs(&binary, &addresses);
        assert_eq!(resolved.names(), ["hidden", "shown", "main"], "{pie}");
        assert_eq!(resolved.source(), ("symbol table", path.as_str()));
        assert_eq!(resolved.warnings, [""; 0]);
    }
}

#[test]
fn a_source_file_of_ada_makes_names_of_ada() {
    let shop = Workshop::new();
    let unit = "int geometry__norm(int x) { return x * x; } int other__norm(int x) { return x; }";
    let unit = shop.write("geometry.adb", unit);
    let main = "int main(int argc, char **argv) { return geometry__norm(argc) + other__norm(1); }";
    let declared = "int geometry__norm(int), other__norm(int);";
    let main = shop.write("main.c", &format!("{declared} {main}"));
    let path = shop.path("program");
    let arguments = ["-O1", "-x", "c", &unit, &main, "-o", &path];
    let Some(_) = run("cc", &arguments, "") else { return };
    let binary = Binary::open(&path);
    let addresses = ["geometry__norm", "other__norm", "main"].map(|name| binary.address(name));
    let resolved = Resolved::pcs(&binary, &addresses);
    assert_eq!(resolved.names(), ["geometry.norm", "other__norm", "main"]);
}

#[test]
fn a_return_address_belongs_to_the_call_before_it() {
    let shop = Workshop::new();
    let Some(path) = shop.compile("cc", "plain", PLAIN, &["-O2"]) else { return };
    let binary = Binary::open(&path);
    // A call that never returns can be the last instruction of a function.
    let end_of_main = binary.address("main") + 1;
    let calls = Resolved::with_debug_folders(
        binary.profile(FrameKind::Call, &[binary.address("main"), end_of_main]),
        &[],
    );
    assert_ne!(calls.names()[0], "main");
    assert_eq!(calls.names()[1], "main");
}

#[test]
fn stubs_are_named_after_what_they_call() {
    for (flags, section) in [
        (&["-O2", "-fcf-protection=none", "-Wl,-z,lazy"][..], ".plt"),
        (&["-O2", "-fcf-protection=full", "-Wl,-z,ibtplt"][..], ".plt.sec"),
    ] {
        let shop = Workshop::new();
        let Some(path) = shop.compile("cc", "plain", PLAIN, flags) else { return };
        let binary = Binary::open(&path);
        let (start, bytes) = binary.section(section);
        let stubs: Vec<u64> = (start..start + bytes.len() as u64).step_by(16).collect();
        let resolved = Resolved::pcs(&binary, &stubs);
        assert!(resolved.names().contains(&"rand@plt"), "{section}: {:?}", resolved.names());
    }
}

#[test]
fn stubs_of_a_static_program_are_named_after_functions_chosen_at_run_time() {
    let shop = Workshop::new();
    let source = "
        static int small(int x) { return x + 1; }
        static int (*choose(void))(int) { return small; }
        int chosen(int x) __attribute__((ifunc(\"choose\")));
        int main(int argc, char **argv) { return chosen(argc); }";
    let flags = ["-O2", "-static", "-nostartfiles", "-nodefaultlibs", "-Wl,-e,main"];
    let Some(path) = shop.compile("cc", "static", source, &flags) else { return };
    let binary = Binary::open(&path);
    let resolved = Resolved::pcs(&binary, &[binary.section(".plt").0]);
    // The resolver has two names: its own, and that of what it chooses.
    assert_eq!(resolved.names(), ["chosen@plt"]);
}

const LIBRARY: &str = "
    static __attribute__((noinline)) int hidden(int x) { __asm__ volatile (\"nop\"); return x * 7; }
    __attribute__((noinline)) int exported(int x) { __asm__ volatile (\"nop\"); return hidden(x) * 3; }
";

#[test]
fn samples_of_one_function_of_a_stripped_library_meet_under_one_name() {
    let shop = Workshop::new();
    let flags = ["-O2", "-shared", "-fPIC"];
    let Some(path) = shop.compile("cc", "libx.so.1", LIBRARY, &flags) else { return };
    let full = Binary::open(&path);
    let [hidden, exported] = ["hidden", "exported"].map(|name| full.address(name));
    let Some(_) = run("strip", &[&path], "") else { return };

    let stripped = Binary::open(&path);
    let resolved = Resolved::pcs(&stripped, &[hidden, hidden + 1, exported, exported + 1]);
    let made_up = format!("libx.so.1+{hidden:#x}");
    assert_eq!(resolved.names(), [&made_up, &made_up, "exported", "exported"]);
    assert_eq!(resolved.profile.functions.len(), 2);
    assert_eq!(resolved.source(), ("exports", path.as_str()));
    assert_eq!(resolved.rows(0), [made_up]);
}

#[test]
fn a_label_without_size_ends_where_call_frame_information_says_that_another_function_begins() {
    let shop = Workshop::new();
    let source = "
        __asm__(\".text\\n\"
                \".globl label\\n\"
                \"label: nop; nop; ret\\n\"
                \".local_function: .cfi_startproc\\n\"
                \"nop; nop; ret\\n\"
                \".cfi_endproc\\n\");";
    let flags = ["-shared", "-nostdlib"];
    let Some(path) = shop.compile("cc", "libasm.so", source, &flags) else { return };
    let label = Binary::open(&path).address("label");
    let Some(_) = run("strip", &[&path], "") else { return };
    let addresses = [label, label + 2, label + 3, label + 5];
    let resolved = Resolved::pcs(&Binary::open(&path), &addresses);
    let made_up = format!("libasm.so+{:#x}", label + 3);
    assert_eq!(resolved.names(), ["label", "label", &made_up, &made_up]);
}

#[test]
fn code_has_its_name_also_under_odd_symbols() {
    let shop = Workshop::new();
    let source = "
        __asm__(\".text\\n\"
                \".type base_GHCziBase_map_info, @object\\n\"
                \"base_GHCziBase_map_info: nop\\nret\\n\"
                \".size base_GHCziBase_map_info, .-base_GHCziBase_map_info\\n\"
                \".type table, @object\\n\"
                \"table: .quad 7\\n\"
                \".size table, .-table\\n\"
                \".type .omp_outlined., @function\\n\"
                \".omp_outlined.: nop\\nret\\n\"
                \".size .omp_outlined., .-.omp_outlined.\\n\"
                \".type label, @notype\\n\"
                \"label: .quad 7\\n\");
        int main(void) { return 0; }";
    let Some(path) = shop.compile("cc", "odd", source, &["-O1"]) else { return };
    let binary = Binary::open(&path);
    let first = binary.address("base_GHCziBase_map_info");
    let outlined = binary.address(".omp_outlined.");
    let names = Resolved::pcs(&binary, &[first, outlined, first + 2]);
    let names = names.names();
    assert_eq!(names[..2], ["GHC.Base.map", ".omp_outlined."]);
    assert!(!["table", "GHC.Base.map"].contains(&names[2]), "data is no code: {names:?}");
}
