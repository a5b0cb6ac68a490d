//! Names that are remembered from run to run, and files that change while they are read.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use csprof::symbols::cache::Cache;
use csprof::symbols::files::DiskFiles;
use csprof::symbols::request::{FileBytes, FileRequest, FileSource};
use csprof::symbols::resolve;
use csprof_format::address::FrameKind;
use csprof_format::file_identity::copy_name;
use csprof_format::profile::{Metric, Profile};

use crate::build::{Binary, Resolved, Workshop};
use crate::notes::skip;

const SOURCE: &str = "
    #include <algorithm>
    #include <cstdio>
    #include <map>
    #include <string>
    #include <vector>
    template <class T> struct Sum {
        T total{};
        __attribute__((noinline)) void add(const std::vector<T> &all) {
            for (auto one : all) for (int i = 0; i < 3; i++) total += one * i;
        }
    };
    static __attribute__((noinline)) std::map<std::string, int> words(int count) {
        std::map<std::string, int> found;
        for (int i = 0; i < count; i++) found[std::to_string(i % 7)] += i;
        return found;
    }
    int main(int argc, char **argv) {
        std::vector<long> all;
        for (int i = 0; i < argc * 100; i++) all.push_back(i ^ 5);
        std::sort(all.begin(), all.end(), [](long a, long b) { return a % 10 < b % 10; });
        Sum<long> sum;
        sum.add(all);
        for (auto &[word, count] : words(argc)) std::printf(\"%s %d\\n\", word.c_str(), count);
        return (int)sum.total;
    }
";

fn with_cache(profile: Profile, cache: &Path) -> Resolved {
    let cache = Cache::at(cache.to_owned(), 1 << 30);
    let files = DiskFiles::with_debug_folders(Vec::new()).with_cache(cache);
    Resolved::with(profile, &files)
}

fn entries(cache: &Path) -> Vec<PathBuf> {
    fs::read_dir(cache).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn names_are_the_same_with_a_cache_and_without() {
    let shop = Workshop::new();
    let flags = ["-O2", "-g", "-std=c++17", "-Wl,--build-id"];
    let Some(path) = shop.compile("g++", "program", SOURCE, &flags) else { return };
    let binary = Binary::open(&path);
    let text = binary.text();
    let profile = |every: usize, skipped: usize| {
        let some: Vec<u64> = text.iter().copied().skip(skipped).step_by(every).collect();
        binary.profile(FrameKind::Leaf, &some)
    };
    let alone = Resolved::with_debug_folders(profile(1, 0), &[]).profile;
    assert!(alone.structure.loops.len() > 3 && alone.functions.len() > 50, "{alone:?}");
    for warm in [
        &[][..],
        &[(1, 0)],
        &[(2, 0)],
        &[(3, 1), (5, 2)],
        &[(1, 500)],
        &[(text.len(), text.len() / 2)],
    ] {
        let cache = PathBuf::from(shop.path("cache"));
        let _ = fs::remove_dir_all(&cache);
        for &(every, skipped) in warm {
            let some = with_cache(profile(every, skipped), &cache).profile;
            let own = Resolved::with_debug_folders(profile(every, skipped), &[]).profile;
            assert_eq!(some, own, "{warm:?}");
        }
        for _ in 0..2 {
            let found = with_cache(profile(1, 0), &cache);
            assert_eq!(found.profile, alone, "{warm:?}");
            assert_eq!(found.warnings, [""; 0]);
        }
        assert_eq!(entries(&cache).len(), 1);
    }
}

#[test]
fn what_is_remembered_is_read_instead_of_debug_information() {
    let shop = Workshop::new();
    let flags = ["-O2", "-g", "-Wl,--build-id"];
    let source = "int main(int argc, char **argv) { return argc * 3; }";
    let Some(path) = shop.compile("cc", "program", source, &flags) else { return };
    let binary = Binary::open(&path);
    let profile = || binary.profile(FrameKind::Leaf, &[binary.address("main")]);
    let cache = PathBuf::from(shop.path("cache"));
    with_cache(profile(), &cache);
    // The entry of this key with another name in it. Without the checksum nothing is believed.
    let [entry] = &entries(&cache)[..] else { panic!("one entry") };
    let mut bytes = fs::read(entry).unwrap();
    let at = bytes.windows(6).rposition(|bytes| bytes == b"\"main\"").unwrap();
    bytes[at + 1..at + 5].copy_from_slice(b"niam");
    fs::write(entry, &bytes).unwrap();
    assert_eq!(with_cache(profile(), &cache).names(), ["main"]);

    fs::write(entry, &bytes).unwrap();
    let sum = crc32fast::hash(&bytes[12..]);
    bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    fs::write(entry, &bytes).unwrap();
    assert_eq!(with_cache(profile(), &cache).names(), ["niam"]);
}

/// Of a module without a build id, and of a copy, the next file may be another one.
#[test]
fn what_is_not_known_by_its_build_id_is_not_remembered() {
    let shop = Workshop::new();
    let source = "int main(int argc, char **argv) { return argc * 3; }";
    let cache = PathBuf::from(shop.path("cache"));
    for flag in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let Some(path) = shop.compile("cc", "program", source, &["-g", flag]) else { return };
        let binary = Binary::open(&path);
        let profile = binary.profile(FrameKind::Leaf, &[binary.address("main")]);
        let has_build_id = !binary.build_id().is_empty();
        let copy = shop.path("copy");
        fs::copy(&path, &copy).unwrap();
        if has_build_id {
            assert_eq!(with_cache(profile.clone(), &cache).rows(0), ["main program.c:1"]);
            assert_eq!(entries(&cache).len(), 1);
            fs::remove_dir_all(&cache).unwrap();
            fs::remove_file(&path).unwrap();
        }
        let name = copy_name(&binary.build_id(), None);
        let copies = name.map(|name| (name, File::open(&copy).unwrap()));
        let files = DiskFiles::default().and_copies(copies.into_iter().collect());
        let files = files.with_cache(Cache::at(cache.clone(), 1 << 30));
        assert_eq!(Resolved::with(profile, &files).rows(0), ["main program.c:1"]);
        assert_eq!(entries(&cache).len(), 0, "{flag}");
    }
}

/// Two files with one build id, as strip(1) makes them, or somebody who sets it.
#[test]
fn another_file_of_the_same_build_id_is_read_anew() {
    let shop = Workshop::new();
    let flags = ["-O2", "-g", "-Wl,--build-id=0xabcdef"];
    let first = "int main(int argc, char **argv) { return argc * 3; }";
    let Some(path) = shop.compile("cc", "program", first, &flags) else { return };
    let binary = Binary::open(&path);
    let profile = || binary.profile(FrameKind::Leaf, &[binary.address("main")]);
    let cache = PathBuf::from(shop.path("cache"));
    assert_eq!(with_cache(profile(), &cache).rows(0), ["main program.c:1"]);
    let second = format!("\n\n\n{first}");
    let Some(_) = shop.compile("cc", "program", &second, &flags) else { return };
    assert_eq!(with_cache(profile(), &cache).rows(0), ["main program.c:4"]);
    let Some(_) = crate::build::run("strip", &["--strip-debug", &path], "") else { return };
    assert_eq!(with_cache(profile(), &cache).rows(0), ["main"]);
}

#[test]
fn a_damaged_entry_costs_time_alone() {
    let shop = Workshop::new();
    let flags = ["-O2", "-g", "-Wl,--build-id"];
    let source = "int main(int argc, char **argv) { return argc * 3; }";
    let Some(path) = shop.compile("cc", "program", source, &flags) else { return };
    let binary = Binary::open(&path);
    let profile = || binary.profile(FrameKind::Leaf, &[binary.address("main")]);
    let alone = Resolved::with_debug_folders(profile(), &[]).profile;
    let cache = PathBuf::from(shop.path("cache"));
    with_cache(profile(), &cache);
    let [entry] = &entries(&cache)[..] else { panic!("one entry") };
    let whole = fs::read(entry).unwrap();
    let json = whole.iter().position(|&byte| byte == b'{').unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        // Digits, so that what is whole as JSON has other numbers.
        damaged[at] = if damaged[at].is_ascii_digit() { b'9' } else { b'0' };
        if at > json {
            let sum = crc32fast::hash(&damaged[12..]);
            damaged[8..12].copy_from_slice(&sum.to_le_bytes());
        }
        fs::write(entry, &damaged).unwrap();
        let found = with_cache(profile(), &cache);
        // With a checksum that fits, what is there may differ, but it is in order.
        if at <= json {
            assert_eq!(found.profile, alone, "byte {at}");
        }
        assert!(found.rows(0).len() <= 2 && found.names().len() == 1, "byte {at}");
    }
}

/// What sets the build id may set the times too: of programs that are the same to the byte but for
/// a name, of which one takes the place of the other.
#[test]
fn a_file_that_took_the_place_of_another_is_read_anew() {
    let shop = Workshop::new();
    let flags = ["-O2", "-g", "-Wl,--build-id=0xabcdef"];
    let cache = PathBuf::from(shop.path("cache"));
    let path = shop.path("program");
    for name in ["alpha", "bravo"] {
        let source = format!(
            "__attribute__((noinline)) int {name}(int x) {{ return x * 3; }}\n\
             int main(int argc, char **argv) {{ return {name}(argc); }}"
        );
        let Some(built) = shop.compile("cc", "built/program", &source, &flags) else { return };
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        File::options().write(true).open(&built).unwrap().set_modified(long_ago).unwrap();
        fs::rename(&built, &path).unwrap();
        let binary = Binary::open(&path);
        let profile = binary.profile(FrameKind::Leaf, &[binary.address(name)]);
        assert_eq!(with_cache(profile, &cache).names(), [name]);
    }
}

/// The C library of this machine, and a profile of its code.
fn c_library() -> Option<(Binary, Profile)> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps
        .lines()
        .find_map(|line| line.split(' ').next_back().filter(|path| path.ends_with("/libc.so.6")));
    let Some(path) = path else {
        skip("names of the C library", "this test is linked without a shared one");
        return None;
    };
    let binary = Binary::open(path);
    let some: Vec<u64> = binary.text().into_iter().step_by(97).collect();
    let mut profile = binary.profile(FrameKind::Leaf, &some);
    profile.metric = Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 };
    Some((binary, profile))
}

/// What a csprof does about a cache, as a program: of a file that was not changed just now.
#[test]
fn the_profile_comes_before_the_cache() {
    let shop = Workshop::new();
    let Some((binary, profile)) = c_library() else { return };
    if binary.build_id().is_empty() {
        return skip("the profile before the cache", "the C library has no build id");
    }
    let run = shop.path("run.csprof");
    let out = shop.path("out.csprof");
    csprof_format::write::save(&profile, Path::new(&run)).unwrap();
    let cache = PathBuf::from(shop.path("cache/csprof/names"));
    let symbolize = |limit: u64, size: &str, out: &str| {
        let _ = fs::remove_dir_all(&cache);
        // `exec`, so that a signal is seen.
        let script = format!("ulimit -f {limit}; exec \"$0\" symbolize -f -o \"$1\" \"$2\"");
        let mut command = Command::new("bash");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_csprof"), out, &run]);
        command.env("XDG_CACHE_HOME", shop.path("cache")).env("CSPROF_CACHE_SIZE", size);
        command.output().unwrap()
    };
    let most = 1 << 30;
    assert!(symbolize(most, "1G", &out).status.success());
    let [entry] = &entries(&cache)[..] else { panic!("one entry") };
    let [size, of_entry] = [Path::new(&out), entry].map(|path| path.metadata().unwrap().len());
    let limit = size.div_ceil(1024) + 1;
    assert!(of_entry > limit * 1024, "{of_entry} bytes against {limit} KiB");

    // A file that is larger than the limit would end csprof.
    let _ = fs::remove_file(&out);
    let cut = symbolize(limit, "1G", &out);
    assert!(cut.status.success() && Path::new(&out).exists(), "{cut:?}");
    assert_eq!(entries(&cache), [""; 0].map(PathBuf::from));

    // A profile that cannot be saved leaves the disk as it was.
    let full = symbolize(most, "1G", "/dev/full");
    assert!(!full.status.success(), "{full:?}");
    assert!(!cache.exists());

    let typo = symbolize(most, "256MB", &out);
    let told = String::from_utf8(typo.stderr).unwrap();
    assert!(typo.status.success() && told.contains("CSPROF_CACHE_SIZE=256MB is no size"), "{told}");
}

/// Changes each file when it has been opened.
struct Cut<'f>(&'f (dyn Fn(&Path) + Sync));

impl FileSource for Cut<'_> {
    fn open(&self, request: &FileRequest) -> io::Result<FileBytes> {
        let FileRequest::Path(path) = request else { return Err(io::ErrorKind::NotFound.into()) };
        let bytes = FileBytes::of_file(File::open(path)?);
        (self.0)(path);
        bytes
    }

    fn debug_folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// The same files, of which something is changed once they are found.
struct ChangedLater<'f>(&'f (dyn Fn() + Sync), Cache);

impl FileSource for ChangedLater<'_> {
    fn open(&self, request: &FileRequest) -> io::Result<FileBytes> {
        Cut(&|_| ()).open(request)
    }

    fn debug_folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn cache(&self) -> Option<&Cache> {
        (self.0)();
        Some(&self.1)
    }
}

#[test]
fn a_file_that_is_changed_names_nothing_though_all_is_remembered() {
    let shop = Workshop::new();
    let flags = ["-O2", "-g", "-Wl,--build-id"];
    let source = "int main(int argc, char **argv) { return argc * 3; }";
    let Some(path) = shop.compile("cc", "program", source, &flags) else { return };
    let binary = Binary::open(&path);
    let profile = || binary.profile(FrameKind::Leaf, &[binary.address("main")]);
    let cache = PathBuf::from(shop.path("cache"));
    assert_eq!(with_cache(profile(), &cache).names(), ["main"]);
    assert_eq!(entries(&cache).len(), 1);
    let whole = fs::read(&path).unwrap();
    for (change, names) in [(false, "main"), (true, "-")] {
        let changed = || {
            if change {
                fs::write(&path, &whole).unwrap();
            }
        };
        let mut profile = profile();
        let files = ChangedLater(&changed, Cache::at(cache.clone(), 1 << 30));
        let warnings = resolve(&mut profile, &files, |_, _| ControlFlow::Continue(()));
        let found = Resolved { profile, warnings };
        assert_eq!(found.names(), [names]);
        assert_eq!(found.warnings.len(), usize::from(change), "{:?}", found.warnings);
    }
}

#[test]
fn a_file_that_is_changed_while_it_is_read_names_nothing() {
    let shop = Workshop::new();
    let flags = ["-O2", "-g", "-std=c++17", "-Wl,--build-id"];
    let Some(path) = shop.compile("g++", "program", SOURCE, &flags) else { return };
    let binary = Binary::open(&path);
    let whole = fs::read(&path).unwrap();
    let resolved = |change: &(dyn Fn(&Path) + Sync)| {
        fs::write(&path, &whole).unwrap();
        let mut profile = binary.profile(FrameKind::Leaf, &binary.text());
        let warnings = resolve(&mut profile, &Cut(change), |_, _| ControlFlow::Continue(()));
        Resolved { profile, warnings }
    };
    let untouched = resolved(&|_| ());
    assert!(untouched.names().contains(&"main"));
    for part in 0..64 {
        let size = whole.len() as u64 * part / 64;
        let cut = |path: &Path| File::options().write(true).open(path).unwrap().set_len(size);
        let found = resolved(&|path| cut(path).unwrap());
        assert!(found.names().iter().all(|name| *name == "-"), "{part}");
        assert_eq!(found.source().0, "unreadable", "{part}");
        assert!(found.warnings[0].contains("was changed while it was read"), "{part}");
    }
    let other: Vec<u8> = whole.iter().map(|byte| byte ^ 1).collect();
    let found = resolved(&|path| fs::write(path, &other).unwrap());
    assert!(found.names().iter().all(|name| *name == "-"));
    // Who replaces a file leaves the one that is read.
    let found = resolved(&|path| {
        let beside = path.with_extension("new");
        fs::write(&beside, &other).unwrap();
        fs::rename(&beside, path).unwrap();
    });
    assert_eq!(found.profile.sites, untouched.profile.sites);
}
