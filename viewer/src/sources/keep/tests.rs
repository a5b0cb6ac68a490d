use std::os::unix::fs::symlink;

use csprof_format::profile::SourceDoubt;

use super::*;
use crate::surroundings::cpu_time;

/// A profile whose functions are in one file: its lines 12, 33, 300 and 70000 were sampled.
fn profile(path: &Path) -> saved::Profile {
    let bytes = include_bytes!("../../../../tests/golden/v1/small.csprof");
    let mut profile = csprof_format::read::read(bytes).unwrap();
    let own = profile.functions[1].file.unwrap();
    profile.strings[own.index()] = path.to_str().unwrap().into();
    profile.run.start_unix_ns = u64::MAX;
    profile
}

fn kept(profile: &mut saved::Profile, most: u64) -> Keeping {
    let here = Sources::default();
    let keeping = keep(profile, &here, When::OfRun, most, &HashMap::new(), &|| false);
    csprof_format::validate::validate(profile).unwrap();
    keeping
}

fn lines(count: usize) -> String {
    (1..=count).map(|line| format!("l{line}\n")).collect()
}

#[test]
fn small_files_are_whole_and_large_ones_have_what_was_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cpp");
    let mut own = profile(&path);
    let short = own.sites.line.iter().map(|line| (*line).min(300)).collect();
    let long = std::mem::replace(&mut own.sites.line, short);
    fs::write(&path, lines(500)).unwrap();
    let added = vec![path.to_str().unwrap().to_owned()];
    let first = Keeping { added, ..Keeping::default() };
    assert_eq!(kept(&mut own, 1 << 20), first);
    assert_eq!((own.sources[0].text.as_str(), own.sources[0].lines), (&*lines(500), 500));
    // Again, nothing changes; nor does what another version would bring.
    let before = own.sources.clone();
    assert_eq!(kept(&mut own, 0), Keeping::default());
    assert_eq!(own.sources, before);
    fs::write(&path, lines(501)).unwrap();
    assert_eq!(kept(&mut own, 1 << 20), Keeping { other_versions: 1, ..Keeping::default() });
    assert_eq!(own.sources, before);

    fs::write(&path, lines(80_000)).unwrap();
    own.sources.clear();
    own.sites.line = long;
    let cut = kept(&mut own, 64 << 10);
    assert_eq!((cut.added.len(), cut.unfit.len()), (1, 1));
    let file = &own.sources[0];
    let numbers: Vec<u32> = file.numbered().map(|(number, _)| number).collect();
    assert_eq!((file.stretches.len(), numbers[0]), (2, 1));
    assert_eq!(
        numbers[numbers.len() - 7..],
        [69_997, 69_998, 69_999, 70_000, 70_001, 70_002, 70_003]
    );
    assert!(file.numbered().all(|(number, line)| line == format!("l{number}")));
    // With more room there are more of them.
    assert_eq!(kept(&mut own, 8 << 20), Keeping::default());
    assert_eq!(own.sources[0].kept(), 70_030);
    own.sources.clear();
    assert_eq!(kept(&mut own, 5).unfit.len(), 1);
    assert!(own.sources.is_empty());
    // What is kept takes no room a second time.
    let all = lines(70_030).len() as u64;
    assert_eq!(kept(&mut own, all).unfit, [""; 0]);
    let before = own.sources.clone();
    assert_eq!(kept(&mut own, all), Keeping::default());
    assert_eq!(own.sources, before);
    // Of one file 1 MiB is kept, however much room there is.
    own.sources.clear();
    fs::write(&path, (1..=80_000).map(|line| format!("{line:>20}\n")).collect::<String>()).unwrap();
    let long = kept(&mut own, 64 << 20);
    assert_eq!((long.unfit.len(), long.too_long.len()), (0, 1));
    assert!(own.sources[0].text.len() <= 1 << 20);
}

#[test]
fn only_source_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = lines(80_000);
    for name in ["a.cpp", "secret", "key.pem", ".env"] {
        fs::write(at(name), &text).unwrap();
    }
    symlink(at("secret"), at("linked.c")).unwrap();
    fs::write(at("binary.c"), format!("{text}\0")).unwrap();
    fs::write(at("short.c"), lines(69_999)).unwrap();
    nix::unistd::mkfifo(&at("pipe.c"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::create_dir_all(at("include/c++/14")).unwrap();
    for name in ["include/id_rsa", "include/c++/14/vector", "include/c++/.pgpass", ".a.c"] {
        fs::write(at(name), &text).unwrap();
    }
    fs::File::create(at("large.c")).unwrap().set_len(LARGEST + 1).unwrap();
    fs::write(at("lines.c"), "\n".repeat(1_000_001)).unwrap();
    for (name, files, missing, no_source, other_versions) in [
        ("a.cpp", 1, 0, 0, 0),
        ("include/c++/14/vector", 1, 0, 0, 0),
        ("include/id_rsa", 0, 0, 1, 0),
        ("include/c++/.pgpass", 0, 0, 1, 0),
        (".a.c", 0, 0, 1, 0),
        ("secret", 0, 0, 1, 0),
        ("key.pem", 0, 0, 1, 0),
        (".env", 0, 0, 1, 0),
        ("linked.c", 0, 0, 1, 0),
        ("include/c++/../../secret", 0, 0, 1, 0),
        ("binary.c", 0, 0, 1, 0),
        ("short.c", 0, 0, 0, 1),
        ("none.c", 0, 1, 0, 0),
    ] {
        let mut own = profile(&at(name));
        let expected = Keeping { missing, no_source, other_versions, ..Keeping::default() };
        let keeping = kept(&mut own, 8 << 20);
        assert_eq!(keeping.added.len(), files, "{name}");
        assert_eq!(Keeping { added: Vec::new(), ..keeping }, expected, "{name}");
        assert_eq!(own.sources.len(), files, "{name}");
    }
    // What is there is not said to be missing.
    for (name, why) in [
        ("large.c", "it is larger than 16 MiB"),
        ("lines.c", "it has more than 1000000 lines"),
        ("pipe.c", "it is not a regular file"),
    ] {
        let keeping = kept(&mut profile(&at(name)), 8 << 20);
        let unreadable = vec![format!("{}: {why}", at(name).display())];
        assert_eq!(keeping, Keeping { unreadable, ..Keeping::default() });
    }
}

#[test]
fn what_speaks_against_a_file_is_kept_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cpp");
    fs::write(&path, lines(80_000)).unwrap();
    let doubt = |start: u64, built: u64| {
        let mut own = profile(&path);
        own.run.start_unix_ns = start;
        let built = HashMap::from([(ModuleId(0), built)]);
        let here = Sources::default();
        keep(&mut own, &here, When::OfRun, 8 << 20, &built, &|| false);
        let first = own.sources.clone();
        // What is found of the very file later changes nothing.
        own.run.start_unix_ns = 1;
        keep(&mut own, &here, When::Later, 8 << 20, &HashMap::new(), &|| false);
        assert_eq!(own.sources, first);
        assert!(first[0].is_of_run);
        first[0].doubt
    };
    assert_eq!(doubt(u64::MAX, u64::MAX), SourceDoubt::None);
    assert_eq!(doubt(u64::MAX, 1), SourceDoubt::NewerThanModule);
    assert_eq!(doubt(1, u64::MAX), SourceDoubt::ChangedAfterRun);
    let mut own = profile(&path);
    let here = Sources::default();
    let stopped = keep(&mut own, &here, When::Later, 8 << 20, &HashMap::new(), &|| true);
    assert!(stopped.is_stopped && own.sources.is_empty());
    keep(&mut own, &here, When::Later, 8 << 20, &HashMap::new(), &|| false);
    assert!(!own.sources[0].is_of_run);
}

/// Each of many functions has all lines of a file, which do not find room.
#[test]
fn functions_that_share_lines_cost_no_more_than_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cpp");
    fs::write(&path, "\n".repeat(400_000)).unwrap();
    let text = SourceText::new(fs::read(&path).unwrap());
    let functions = |count| {
        let lines = |number: u32| Lines {
            sampled: [1 + number, 400_000 - number].into(),
            ..Lines::default()
        };
        let functions = (0..count).map(|number| (FunctionId(number), lines(number)));
        Wanted { functions: functions.collect(), ..Wanted::default() }
    };
    let take = |wanted: &Wanted, left: u64, stops: &dyn Fn() -> bool| {
        let mut file = SourceFile { lines: 400_000, ..SourceFile::default() };
        let fit = wanted.take(&text, None, left, &mut file, stops);
        (fit, file.kept())
    };
    let begun = cpu_time();
    let many = functions(10_000);
    assert_eq!(take(&many, 1 << 20, &|| false), (Fit::All, 400_000));
    assert_eq!(take(&many, 399_000, &|| false).0, Fit::NoRoom);
    assert!((cpu_time() - begun).as_secs() < 20, "each function has all lines");
    let asked = std::cell::Cell::new(0);
    let stops = || asked.replace(asked.get() + 1) > 10;
    assert_eq!(take(&many, 1000, &stops).0, Fit::Stopped);
    assert!(asked.get() < 20);
}
