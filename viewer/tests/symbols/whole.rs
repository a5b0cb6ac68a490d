//! Profiles of several modules.

use std::ops::ControlFlow;

use csprof::symbols::files::DiskFiles;
use csprof::symbols::resolve;
use csprof_format::address::FrameKind;
use csprof_format::ids::{FunctionId, ModuleId, StringId};
use csprof_format::profile::{Frame, Function, Module, Profile, SymbolSource};

use crate::build::{Binary, Resolved, Workshop, run};

/// A profile with frames of a program, of a library, of neither, and again of the program.
fn mixed(shop: &Workshop) -> Option<Profile> {
    let library = "int triple(volatile int *x) { return *x * 3; }";
    let library =
        shop.compile("cc", "libtriple.so", library, &["-g", "-O2", "-shared", "-fPIC"])?;
    let program = "int main(int argc, char **argv) { volatile int x = argc; return x; }";
    let program = shop.compile("cc", "program", program, &["-g", "-O2"])?;
    let (program, library) = (Binary::open(&program), Binary::open(&library));
    let (main, triple) = (program.address("main"), library.address("triple"));

    let mut profile = program.profile(FrameKind::Leaf, &[]);
    profile.strings.push(library.path.as_str().into());
    let module = |path, binary: &Binary| Module {
        path: StringId(path),
        build_id: binary.build_id(),
        symbols: SymbolSource::NotAsked,
    };
    // A module that nobody was sampled in stays as it is.
    profile.modules = vec![module(0, &program), module(1, &library), module(0, &program)];
    let frame =
        |kind, module: Option<u32>, offset| Frame { kind, module: module.map(ModuleId), offset };
    profile.frames = vec![
        frame(FrameKind::Root, None, 0),
        frame(FrameKind::Leaf, Some(0), main),
        frame(FrameKind::Partial, None, 1),
        frame(FrameKind::Leaf, Some(1), triple),
        frame(FrameKind::Leaf, None, 0x7fff_0000),
        frame(FrameKind::Call, Some(0), main + 1),
        frame(FrameKind::Leaf, Some(0), 0xdead_beef),
        frame(FrameKind::Call, Some(1), 0),
        frame(FrameKind::Leaf, Some(1), u64::MAX),
    ];
    Some(profile)
}

#[test]
fn each_frame_gets_its_rows_in_its_place() {
    let shop = Workshop::new();
    let Some(profile) = mixed(&shop) else { return };
    let resolved = Resolved::with_debug_folders(profile, &[]);
    assert_eq!(resolved.names(), ["-", "main", "-", "triple", "-", "main", "-", "-", "-"]);
    let modules: Vec<u32> = resolved.profile.functions.iter().map(|f| f.module.0).collect();
    assert_eq!(modules, [0, 1]);
    assert_eq!(resolved.profile.sites.first, [0, 0, 1, 1, 2, 2, 3, 3, 3, 3]);
    assert_eq!(resolved.profile.modules[2].symbols, SymbolSource::NotAsked);
}

#[test]
fn a_profile_resolves_to_the_same_values_every_time() {
    let shop = Workshop::new();
    let Some(profile) = mixed(&shop) else { return };
    let first = Resolved::with_debug_folders(profile.clone(), &[]).profile;
    assert_eq!(Resolved::with_debug_folders(profile, &[]).profile, first);
    // Also what was resolved before.
    assert_eq!(Resolved::with_debug_folders(first.clone(), &[]).profile, first);
}

#[test]
fn progress_ends_with_everything_done() {
    let shop = Workshop::new();
    let Some(mut profile) = mixed(&shop) else { return };
    let mut reports = Vec::new();
    let files = DiskFiles::with_debug_folders(Vec::new());
    resolve(&mut profile, &files, |done, total| {
        reports.push((done, total));
        ControlFlow::Continue(())
    });
    // Two frames of the program share an address, and a call cannot return to address 0.
    assert_eq!(reports.last(), Some(&(4, 4)));
    assert!(reports.is_sorted());
}

/// What is not named then can be named later.
#[test]
fn who_breaks_off_leaves_a_profile_that_can_be_resolved() {
    let shop = Workshop::new();
    let Some(unnamed) = mixed(&shop) else { return };
    let files = DiskFiles::with_debug_folders(Vec::new());
    let mut profile = unnamed.clone();
    assert_eq!(resolve(&mut profile, &files, |_, _| ControlFlow::Break(())), [""; 0]);
    assert_eq!((&profile.nodes, &profile.frames), (&unnamed.nodes, &unnamed.frames));
    let later = Resolved::with_debug_folders(profile, &[]);
    let at_once = Resolved::with_debug_folders(unnamed, &[]);
    assert_eq!(later.warnings, at_once.warnings);
    assert_eq!(later.profile.functions.len(), at_once.profile.functions.len());
}

#[test]
fn an_empty_profile_stays_empty() {
    let resolved = Resolved::with_debug_folders(Profile::default(), &[]);
    assert_eq!(resolved.warnings, [""; 0]);
    assert_eq!(resolved.profile.sites.first, [0]);
    assert_eq!(resolved.profile.functions, []);
}

#[test]
fn a_failure_changes_nothing() {
    let shop = Workshop::new();
    let Some(unnamed) = mixed(&shop) else { return };
    let files = DiskFiles::with_debug_folders(Vec::new());
    for before in [Resolved::with_debug_folders(unnamed.clone(), &[]).profile, unnamed] {
        let mut profile = before.clone();
        let warnings = resolve(&mut profile, &files, |_, _| panic!("an error in csprof"));
        assert_eq!(profile, before);
        let said = "csprof failed while it looked for symbols, so no function was named";
        assert_eq!(warnings, [said]);
    }
}

/// Without a build id nothing shows whether a file is what ran.
#[test]
fn a_file_without_build_id_names_nothing_that_has_a_name() {
    let shop = Workshop::new();
    let build = |source: &str, level: &str| {
        let flags = ["-O1", level, "-Wl,--build-id=none"];
        shop.compile("cc", "program", source, &flags)
    };
    let Some(program) = build("int main(void) { return 1; }", "-g0") else { return };
    let binary = Binary::open(&program);
    let address = binary.address("main");
    let mut first = Resolved::pcs(&binary, &[address, address + 1]);
    assert_eq!(first.names(), ["main", "main"]);
    // Another program at the same path, with more to tell.
    build("int other(void) { return 2; } int main(void) { for (;;) other(); }", "-g").unwrap();
    let second = Resolved::with_debug_folders(first.profile.clone(), &[]);
    assert_eq!(second.profile, first.profile);
    let told = "has no build id, and the profile does not tell which file it was, so the one that \
                is there now may be another; its names stay as they are";
    assert!(second.warnings.iter().any(|warning| warning.ends_with(told)), "{:?}", second.warnings);

    // Merged runs of two builds: one address is two functions.
    let profile = &mut first.profile;
    profile.frames[1].offset = address;
    profile.strings.push("main_of_the_other_build".into());
    let name = StringId(u32::try_from(profile.strings.len()).unwrap() - 1);
    profile.functions.push(Function { name, ..profile.functions[0].clone() });
    *profile.sites.function.last_mut().unwrap() = FunctionId(1);
    let names: Vec<String> = first.names().into_iter().map(str::to_owned).collect();
    assert_eq!(names, ["main", "main_of_the_other_build"]);
    let third = Resolved::with_debug_folders(first.profile.clone(), &[]);
    assert_eq!(third.names(), names);
}

/// A debug file knows neither stubs nor functions without symbols; the program's own file did.
#[test]
fn what_a_better_file_does_not_name_keeps_its_name() {
    let shop = Workshop::new();
    let source = "#include <stdlib.h>\nint main(void) { return atoi(getenv(\"X\")); }\n";
    let flags = ["-O1", "-g", "-Wl,--build-id=sha1", "-Wl,-z,lazy", "-fcf-protection=none"];
    let Some(program) = shop.compile("cc", "program", source, &flags) else { return };
    let debug = shop.path("program.debug");
    let Some(_) = run("objcopy", &["--only-keep-debug", &program, &debug], "") else { return };
    let Some(_) = run("strip", &["--strip-all", &program], "") else { return };
    let binary = Binary::open(&program);
    let (start, code) = binary.section(".plt");
    let stubs: Vec<u64> = (start..start + code.len() as u64).step_by(16).collect();
    let first = Resolved::pcs(&binary, &stubs);
    assert!(first.names().iter().any(|name| name.ends_with("@plt")), "{:?}", first.names());
    let id = binary.build_id().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let installed = shop.write(&format!("debug/.build-id/{}/{}.debug", &id[..2], &id[2..]), "");
    std::fs::rename(debug, &installed).unwrap();
    std::fs::remove_file(&program).unwrap();
    let second = Resolved::with_debug_folders(first.profile.clone(), &[&shop.path("debug")]);
    assert_eq!(second.source().0, "dwarf");
    assert_eq!(second.names(), first.names());
}

#[test]
fn names_outlive_their_files_and_better_ones_replace_them() {
    let shop = Workshop::new();
    let Some(profile) = mixed(&shop) else { return };
    let library = shop.path("libtriple.so");
    let debug = shop.path("libtriple.so.debug");
    let Some(_) = run("objcopy", &["--only-keep-debug", &library, &debug], "") else { return };
    let Some(_) = run("strip", &["--strip-all", &library], "") else { return };
    // `triple` is exported; its line is in the debug file, which is not found yet.
    let first = Resolved::with_debug_folders(profile, &[]);
    assert_eq!(
        (first.rows(1)[0].as_str(), first.rows(3)[0].as_str()),
        ("main program.c:1", "triple")
    );

    // The program is gone, and the debug file of the library has come.
    std::fs::remove_file(shop.path("program")).unwrap();
    let id = first.profile.modules[1].build_id.iter().map(|byte| format!("{byte:02x}"));
    let id = id.collect::<String>();
    let installed = shop.write(&format!("debug/.build-id/{}/{}.debug", &id[..2], &id[2..]), "");
    std::fs::rename(debug, &installed).unwrap();
    let second = Resolved::with_debug_folders(first.profile.clone(), &[&shop.path("debug")]);
    assert_eq!(second.rows(1), first.rows(1));
    assert_eq!(second.rows(3), ["triple libtriple.so.c:1"]);
    assert_eq!(second.profile.modules[0], first.profile.modules[0]);
    assert_eq!(second.warnings, [""; 0]);
    // Nothing more to find: nothing changes.
    assert_eq!(Resolved::with_debug_folders(second.profile.clone(), &[]).profile, second.profile);
}
