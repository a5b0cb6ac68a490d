//! Which files symbols come from, and what is refused.

use std::fs;
use std::path::Path;

use csprof::symbols::files::DiskFiles;
use csprof::symbols::request::{FileRequest, FileSource as _};
use csprof_format::address::FrameKind;
use csprof_format::file_identity::{FileIdentity, copy_name};
use csprof_format::ids::{ModuleId, StringId};
use csprof_format::profile::ModuleFile;

use crate::build::{Binary, Resolved, Workshop, run};
use crate::notes::skip;

const SOURCE: &str = "
    #include <stdlib.h>
    static __attribute__((noinline)) int hidden(int x) { return rand() + x; }
    int main(int argc, char **argv) { return hidden(argc) * 3; }
";

/// A program split into a stripped file and a debug file, and the address of `hidden`.
struct Split {
    shop: Workshop,
    program: String,
    debug: String,
    hidden: u64,
}

fn split(flags: &[&str]) -> Option<Split> {
    let shop = Workshop::new();
    let flags = [&["-g", "-O2"], flags].concat();
    let program = shop.compile("cc", "bin/program", SOURCE, &flags)?;
    let hidden = Binary::open(&program).address("hidden");
    let debug = shop.path("bin/program.debug");
    run("objcopy", &["--only-keep-debug", &program, &debug], "")?;
    run("strip", &[&program], "")?;
    let link = format!("--add-gnu-debuglink={debug}");
    run("objcopy", &[&link, &program], "")?;
    Some(Split { shop, program, debug, hidden })
}

impl Split {
    /// Moves the debug file to another place in the workshop.
    fn moved(mut self, to: &str) -> Self {
        let from = std::mem::replace(&mut self.debug, self.shop.path(to));
        fs::create_dir_all(Path::new(&self.debug).parent().unwrap()).unwrap();
        fs::rename(from, &self.debug).unwrap();
        self
    }

    fn resolve(&self, folders: &[&str]) -> Resolved {
        let profile = Binary::open(&self.program).profile(FrameKind::Leaf, &[self.hidden]);
        Resolved::with_debug_folders(profile, folders)
    }

    fn assert_found(&self, folders: &[&str]) {
        let resolved = self.resolve(folders);
        assert_eq!(resolved.source(), ("dwarf", &*self.debug));
        assert_eq!(resolved.rows(0), ["hidden program.c:3"]);
        assert_eq!(resolved.warnings, [""; 0]);
    }
}

#[test]
fn a_debug_link_is_followed_to_the_usual_places() {
    for place in ["bin/program.debug", "bin/.debug/program.debug"] {
        let Some(split) = split(&["-Wl,--build-id"]) else { return };
        split.moved(place).assert_found(&[]);
    }
    // A debug folder mirrors the file system.
    let Some(split) = split(&["-Wl,--build-id"]) else { return };
    let mirrored = format!("debug{}.debug", split.program);
    let split = split.moved(&mirrored);
    split.assert_found(&[&split.shop.path("debug")]);
}

#[test]
fn a_debug_file_is_found_by_build_id() {
    let Some(split) = split(&["-Wl,--build-id"]) else { return };
    let id = hex(&Binary::open(&split.program).build_id());
    let split = split.moved(&format!("debug/.build-id/{}/{}.debug", &id[..2], &id[2..]));
    split.assert_found(&[&split.shop.path("debug")]);
}

#[test]
fn without_build_ids_the_checksum_decides() {
    let Some(split) = split(&["-Wl,--build-id=none"]) else { return };
    split.assert_found(&[]);

    let mut bytes = fs::read(&split.debug).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&split.debug, bytes).unwrap();
    let resolved = split.resolve(&[]);
    assert_eq!(resolved.source().0, "stripped");
    assert!(resolved.warnings.contains(&format!(
        "{}: its checksum is not the one that {} asks for",
        split.debug, split.program
    )));
}

#[test]
fn a_debug_file_of_another_build_is_refused() {
    let Some(split) = split(&["-Wl,--build-id"]) else { return };
    let other = SOURCE.replace("* 3", "* 5");
    let Some(other) = split.shop.compile("cc", "other", &other, &["-g", "-Wl,--build-id"]) else {
        return;
    };
    fs::rename(other, &split.debug).unwrap();
    let resolved = split.resolve(&[]);
    assert_eq!(resolved.source().0, "stripped");
    assert!(
        resolved.warnings.contains(&format!(
            "{}: debug file of another build of {}",
            split.debug, split.program
        ))
    );
}

#[test]
fn a_program_that_was_rebuilt_after_the_run_names_nothing() {
    let shop = Workshop::new();
    let flags = ["-g", "-O2", "-Wl,--build-id"];
    let Some(path) = shop.compile("cc", "program", SOURCE, &flags) else { return };
    let ran = Binary::open(&path);
    let profile = ran.profile(FrameKind::Leaf, &[ran.address("hidden")]);

    let rebuilt = SOURCE.replace("* 3", "* 5");
    let Some(_) = shop.compile("cc", "program", &rebuilt, &flags) else { return };
    let resolved = Resolved::with_debug_folders(profile, &[]);
    assert_eq!(resolved.names(), ["-"]);
    assert_eq!(resolved.source(), ("build id differs", &*path));
    assert_eq!(resolved.warnings.len(), 1);
    assert!(resolved.warnings[0].contains("was replaced after the run"));
}

#[test]
fn a_program_without_a_build_id_is_known_by_its_file() {
    let shop = Workshop::new();
    let flags = ["-O2", "-Wl,--build-id=none"];
    let Some(path) = shop.compile("cc", "program", SOURCE, &flags) else { return };
    let binary = Binary::open(&path);
    let mut profile = binary.profile(FrameKind::Leaf, &[binary.address("hidden")]);
    // Whatever its age is.
    profile.run.start_unix_ns = 1;
    let now = |path: &str| {
        let request = FileRequest::Path(path.into());
        let file = DiskFiles::default().identity(&request).unwrap();
        ModuleFile { module: ModuleId(0), file }
    };
    profile.files = vec![now(&path)];
    let named = Resolved::with_debug_folders(profile.clone(), &[]);
    assert_eq!((named.names(), named.warnings.len()), (vec!["hidden"], 0));

    let refused = |change: &dyn Fn(&mut FileIdentity)| {
        let mut profile = profile.clone();
        change(&mut profile.files[0].file);
        let resolved = Resolved::with_debug_folders(profile, &[]);
        assert_eq!(resolved.names(), ["-"]);
        let (kind, reason) = resolved.source();
        assert_eq!((kind, resolved.warnings.len()), ("unreadable", 1));
        reason.to_owned()
    };
    assert!(refused(&|file| file.device += 1).contains("another one is there"));
    assert!(refused(&|file| file.inode += 1).contains("another one is there"));
    assert!(refused(&|file| file.size += 1).contains("written to, or replaced"));
    assert!(refused(&|file| file.modified_ns -= 1).contains("written to"));
    assert!(refused(&|file| file.changed_ns -= 1).contains("its inode was changed"));
    assert!(refused(&|file| file.size = 0).contains("gone when it was first seen"));

    // Two files in the runs that were merged.
    let mut two = profile.clone();
    let other = FileIdentity { inode: u64::MAX, ..two.files[0].file };
    two.files.push(ModuleFile { module: ModuleId(0), file: other });
    let resolved = Resolved::with_debug_folders(two, &[]);
    assert_eq!(resolved.names(), ["-"]);
    assert!(resolved.source().1.contains("not the same file in all the runs"));

    // Names that are there give way to better ones of the same file, and to no others.
    let mut named = named.profile;
    let worse = named.modules[0].path;
    named.modules[0].symbols = csprof_format::profile::SymbolSource::Exports(worse);
    let again = Resolved::with_debug_folders(named.clone(), &[]);
    assert_eq!((again.source().0, again.warnings.len()), ("symbol table", 0));
    let other = SOURCE.replace("hidden", "wrongs");
    let Some(_) = shop.compile("cc", "program", &other, &flags) else { return };
    let again = Resolved::with_debug_folders(named, &[]);
    assert_eq!((again.names(), again.source().0), (vec!["hidden"], "exports"));
}

/// As a process leaves it of a library that is unlinked while it is mapped.
#[test]
fn a_copy_stands_for_a_file_that_is_gone() {
    let shop = Workshop::new();
    for flag in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let Some(path) = shop.compile("cc", "program", SOURCE, &["-O2", flag]) else { return };
        let binary = Binary::open(&path);
        let mut profile = binary.profile(FrameKind::Leaf, &[binary.address("hidden")]);
        let file = FileIdentity { inode: 7, size: 8, ..FileIdentity::default() };
        if binary.build_id().is_empty() {
            profile.files = vec![ModuleFile { module: ModuleId(0), file }];
        }
        let name = copy_name(&binary.build_id(), Some(&file));
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let copy = shop.path("copy");
        let resolve = |bytes: &[u8], name: &str| {
            fs::write(&copy, bytes).unwrap();
            let copies = [(name.to_owned(), fs::File::open(&copy).unwrap())].into();
            let files = DiskFiles::with_debug_folders(Vec::new()).and_copies(copies);
            Resolved::with(profile.clone(), &files)
        };
        let name = name.unwrap();
        let resolved = resolve(&bytes, &name);
        assert_eq!((resolved.names(), resolved.warnings.len()), (vec!["hidden"], 0));
        assert!(resolved.source().1.contains("(its copy,"), "{:?}", resolved.source());
        assert_eq!(resolve(&bytes, "other.module").names(), ["-"]);
        // Somebody has written it who was killed meanwhile, or who means no good.
        for step in 0..60 {
            let at = bytes.len() * step / 60;
            let _ = resolve(&bytes[..at], &name);
            let mut flipped = bytes.clone();
            flipped[at..].iter_mut().take(8).for_each(|byte| *byte ^= 0xff);
            let resolved = resolve(&flipped, &name);
            assert!(!resolved.warnings.iter().any(|warning| warning.contains("cannot handle")));
        }
        let other = resolve(&fs::read("/proc/self/exe").unwrap(), &name);
        let is_refused = other.names() == ["-"];
        assert!(is_refused || binary.build_id().is_empty(), "{:?}", other.names());
    }
}

#[test]
fn a_program_without_a_build_id_is_suspect_once_it_has_changed() {
    let shop = Workshop::new();
    let flags = ["-O2", "-Wl,--build-id=none"];
    let Some(path) = shop.compile("cc", "program", SOURCE, &flags) else { return };
    let binary = Binary::open(&path);
    let mut profile = binary.profile(FrameKind::Leaf, &[binary.address("hidden")]);
    assert_eq!(Resolved::with_debug_folders(profile.clone(), &[]).warnings, [""; 0]);

    profile.run.start_unix_ns = 1; // long before it was compiled
    let resolved = Resolved::with_debug_folders(profile, &[]);
    assert_eq!(resolved.names(), ["-"]);
    assert!(resolved.warnings[0].contains("it was changed, or put there, after the run began"));
}

#[test]
fn the_debug_file_of_what_ran_outlives_what_ran() {
    let Some(split) = split(&["-Wl,--build-id"]) else { return };
    let ran = Binary::open(&split.program);
    let id = hex(&ran.build_id());
    let split = split.moved(&format!("debug/.build-id/{}/{}.debug", &id[..2], &id[2..]));
    let profile = ran.profile(FrameKind::Leaf, &[split.hidden]);
    fs::remove_file(&split.program).unwrap();
    let resolved = Resolved::with_debug_folders(profile, &[&split.shop.path("debug")]);
    assert_eq!(resolved.rows(0), ["hidden program.c:3"]);
    assert_eq!(resolved.warnings, [""; 0]);
}

#[test]
fn mini_debuginfo_names_local_functions() {
    let shop = Workshop::new();
    let Some(path) = shop.compile("cc", "program", SOURCE, &["-O2"]) else { return };
    let hidden = Binary::open(&path).address("hidden");
    // As rpm's find-debuginfo makes it: the symbol table, without debug sections, packed by xz.
    let mini = shop.path("mini");
    let Some(_) = run("objcopy", &["--only-keep-debug", "--strip-debug", &path, &mini], "") else {
        return;
    };
    let Some(_) = run("xz", &["--keep", &mini], "") else { return };
    let Some(_) = run("strip", &[&path], "") else { return };
    let section = format!(".gnu_debugdata={mini}.xz");
    let Some(_) = run("objcopy", &["--add-section", &section, &path], "") else { return };

    let resolved = Resolved::pcs(&Binary::open(&path), &[hidden]);
    assert_eq!(resolved.names(), ["hidden"]);
    assert_eq!(resolved.source(), ("symbol table", &*format!("{path} (.gnu_debugdata)")));
}

#[test]
fn debug_information_shared_by_dwz_is_followed() {
    let shop = Workshop::new();
    // dwz shares what several files have in common, if there is enough of it.
    let header = shop.write(
        "common.h",
        "struct Shared { int a, b, c, d; struct Shared *next; };
         static inline int first_of(volatile struct Shared *s) {
             int sum = 0;
             for (int i = 0; i < 4; i++) sum += s->a * s->b + i;
             return sum;
         }",
    );
    let source = |by: u32| {
        format!(
            "#include \"common.h\"
             int main(int argc, char **argv) {{
                 volatile struct Shared s = {{ argc, 2, 3, 4, 0 }};
                 return first_of(&s) * {by};
             }}"
        )
    };
    let include = format!("-I{}", header.trim_end_matches("common.h"));
    let flags = ["-gdwarf-4", "-O2", "-Wl,--build-id", &include];
    let Some(one) = shop.compile("cc", "one", &source(3), &flags) else { return };
    let Some(two) = shop.compile("cc", "two", &source(5), &flags) else { return };
    let shared = shop.path("shared.debug");
    let Some(_) = run("dwz", &["-m", &shared, "-M", &shared, &one, &two], "") else { return };
    assert!(fs::exists(&shared).unwrap(), "dwz found nothing to share");

    let binary = Binary::open(&one);
    let addresses = binary.code("main");
    let rows = |resolved: &Resolved| -> Vec<String> {
        (0..addresses.len()).flat_map(|frame| resolved.rows(frame)).collect()
    };
    let resolved = Resolved::pcs(&binary, &addresses);
    assert!(rows(&resolved).contains(&"first_of common.h:4".to_owned()), "{:?}", rows(&resolved));
    assert_eq!(resolved.warnings, [""; 0]);

    fs::remove_file(&shared).unwrap();
    let resolved = Resolved::pcs(&binary, &addresses);
    assert!(resolved.warnings[0].contains("shares with other files"), "{:?}", resolved.warnings);
    assert!(rows(&resolved).iter().all(|row| row.starts_with("main ")), "{:?}", rows(&resolved));
}

#[test]
fn what_cannot_be_read_says_why() {
    let shop = Workshop::new();
    let text =
        shop.write("text", "no ELF file, but long enough to hold the header of one, if it were");
    let missing = shop.path("missing");
    let folder = shop.path("");
    for (path, reason) in [
        (text.as_str(), "not a readable 64-bit little-endian ELF file"),
        (missing.as_str(), "there is no such file"),
        (folder.as_str(), "not a regular file"),
        ("", "the loader gave it no path"),
        ("[heap]", "it is no file"),
    ] {
        let mut profile = Binary::open("/proc/self/exe").profile(FrameKind::Leaf, &[0x1000]);
        profile.strings[0] = path.into();
        let resolved = Resolved::with_debug_folders(profile, &[]);
        let (kind, text) = resolved.source();
        assert_eq!(kind, "unreadable", "{path}");
        assert!(text.contains(reason), "{path}: {text}");
        assert!(resolved.warnings[0].contains(reason), "{:?}", resolved.warnings);
    }
}

#[test]
fn a_relative_path_starts_where_the_program_started() {
    let shop = Workshop::new();
    let Some(path) = shop.compile("cc", "program", SOURCE, &["-O2"]) else { return };
    let binary = Binary::open(&path);
    let mut profile = binary.profile(FrameKind::Leaf, &[binary.address("hidden")]);
    profile.run.directory = shop.path("").into_bytes();
    profile.strings[0] = "./program".into();
    assert_eq!(Resolved::with_debug_folders(profile, &[]).names(), ["hidden"]);
}

#[test]
fn the_vdso_of_the_running_kernel_has_names() {
    let mut profile = Binary::open("/proc/self/exe").profile(FrameKind::Leaf, &[]);
    profile.strings[0] = "[vdso]".into();
    profile.modules[0].build_id.clear();
    // Its code is no longer than a few pages; every byte is asked for.
    profile.frames = (0..0x4000)
        .map(|offset| csprof_format::profile::Frame {
            kind: FrameKind::Leaf,
            module: Some(csprof_format::ids::ModuleId(0)),
            offset,
        })
        .collect();
    let resolved = Resolved::with_debug_folders(profile.clone(), &[]);
    if resolved.source().0 == "unreadable" {
        return skip("names of the vdso", resolved.source().1);
    }
    let names = resolved.names();
    let clock = ["clock_gettime", "__vdso_clock_gettime"];
    assert!(names.iter().any(|name| clock.contains(name)), "no {clock:?}");

    profile.modules[0].build_id = vec![0xab; 20];
    let other_kernel = Resolved::with_debug_folders(profile, &[]);
    assert_eq!(other_kernel.source(), ("build id differs", "[vdso]"));
}

#[test]
fn damaged_files_cost_their_names_only() {
    let shop = Workshop::new();
    let Some(path) = shop.compile("cc", "program", SOURCE, &["-g", "-O2"]) else { return };
    let whole = Binary::open(&path);
    let profile = whole.profile(FrameKind::Leaf, &whole.text());
    let bytes = fs::read(&path).unwrap();

    // Cut at, and flipped at, places all over the file.
    for step in 0..100 {
        let at = bytes.len() * step / 100;
        fs::write(&path, &bytes[..at]).unwrap();
        check_damaged(&profile);
        let mut flipped = bytes.clone();
        for byte in flipped[at..].iter_mut().take(8) {
            *byte ^= 0xff;
        }
        fs::write(&path, flipped).unwrap();
        check_damaged(&profile);
    }
}

fn check_damaged(profile: &csprof_format::profile::Profile) {
    let resolved = Resolved::with_debug_folders(profile.clone(), &[]);
    let sites = &resolved.profile.sites;
    assert_eq!(sites.first.len(), profile.frames.len() + 1);
    assert_eq!(*sites.first.last().unwrap() as usize, sites.function.len());
    let in_range = |id: StringId| id.index() < resolved.profile.strings.len();
    assert!(resolved.profile.functions.iter().all(|function| in_range(function.name)));
    // A panic inside is caught and reported with these words.
    let caught = resolved.warnings.iter().find(|warning| warning.contains("cannot handle"));
    assert_eq!(caught, None);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const INLINED: &str = "\
static inline __attribute__((always_inline)) int inner(volatile int *x) {
    return *x * 3;
}
int main(int argc, char **argv) {
    volatile int x = argc;
    return inner(&x) + 1;
}
";

#[test]
fn split_dwarf_is_found_where_it_was_made_beside_the_program_and_packed() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let shop = Workshop::new();
        let flags = ["-gsplit-dwarf", version, "-O2"];
        let Some(made) = shop.compile("cc", "made/program", INLINED, &flags) else { return };
        assert_eq!(inlined(&made), (true, vec![]), "{version}, where it was made");

        fs::rename(shop.path("made"), shop.path("moved")).unwrap();
        let moved = shop.path("moved/program");
        assert_eq!(inlined(&moved), (true, vec![]), "{version}, beside the program");

        let is_unit = |path: &Path| path.extension().is_some_and(|extension| extension == "dwo");
        let unit = fs::read_dir(shop.path("moved")).unwrap().map(|entry| entry.unwrap().path());
        let unit = unit.into_iter().find(|path| is_unit(path)).unwrap();
        let package = format!("{moved}.dwp");
        let pack = [unit.to_str().unwrap(), "-o", &package];
        let Some(_) = run("llvm-dwp", &pack, "") else { continue };
        fs::remove_file(&unit).unwrap();
        assert_eq!(inlined(&moved), (true, vec![]), "{version}, packed");

        fs::remove_file(&package).unwrap();
        let (found, warnings) = inlined(&moved);
        assert!(!found);
        assert!(warnings[0].contains("1 of 1 split debug files"), "{warnings:?}");
    }
}

#[test]
fn a_package_of_another_build_hides_no_split_units() {
    let shop = Workshop::new();
    let flags = ["-gsplit-dwarf", "-gdwarf-5", "-O2"];
    let Some(program) = shop.compile("cc", "program", INLINED, &flags) else { return };
    let unit = |shop: &Workshop| {
        let files = fs::read_dir(shop.path("")).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.extension().is_some_and(|e| e == "dwo")).unwrap()
    };
    let other_shop = Workshop::new();
    let other = format!("{INLINED}\nint more(int x) {{ return x * 2; }}");
    let Some(_) = other_shop.compile("cc", "program", &other, &flags) else { return };
    let (unit, other) = (unit(&shop), unit(&other_shop));
    let package = format!("{program}.dwp");
    let Some(_) = run("llvm-dwp", &[other.to_str().unwrap(), "-o", &package], "") else { return };
    let (found, warnings) = inlined(&program);
    assert!(found, "the unit is beside the package: {warnings:?}");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.contains("program.dwp: has 0 of 1 units"), "{warning}");
    assert!(warning.contains("1 of the others"), "{warning}");
    assert!(warning.ends_with("pack it anew with dwp or llvm-dwp, or remove it"), "{warning}");

    fs::remove_file(unit).unwrap();
    let (found, warnings) = inlined(&program);
    assert!(!found);
    assert!(warnings[0].contains("0 of the others"), "{warnings:?}");

    fs::write(&package, "not a package").unwrap();
    assert!(!inlined(&program).0);
}

/// Whether a program made of [`INLINED`] has rows for the inlined function, and the warnings.
fn inlined(path: &str) -> (bool, Vec<String>) {
    let binary = Binary::open(path);
    let addresses = binary.code("main");
    let resolved = Resolved::pcs(&binary, &addresses);
    assert!(resolved.names().iter().all(|name| *name == "main"));
    let expected = ["main program.c:6", "inner program.c:2"];
    let found = (0..addresses.len()).any(|frame| resolved.rows(frame) == expected);
    (found, resolved.warnings)
}
