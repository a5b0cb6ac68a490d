//! Files from outside that were made to do harm: much memory for few bytes, names that a terminal
//! obeys, names without end.
//!
//! `CSPROF_FUZZ_MINUTES=60 cargo test --release -p csprof --test hostile -- --nocapture fuzz` goes
//! on as long, from another seed each time (`PROPTEST_RNG_SEED` fixes it; `CSPROF_FUZZ_KEEP` names
//! a file that each case is written to), and holds every step to a second of CPU time.

#![expect(clippy::unwrap_used, reason = "a harness of tests: a panic is a failed test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant, SystemTime};

use csprof::tui::keymap;
use csprof_format::profile::Profile;
use csprof_format::write;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::time::{ClockId, clock_gettime};

#[path = "hostile/drive.rs"]
mod drive;
#[path = "hostile/profiles.rs"]
mod profiles;
#[path = "../../format/fuzz/fuzz_targets/seal.rs"]
mod seal;

use profiles::Random;

/// The block kind of the functions at addresses.
const SITES: u16 = 10;

/// Memory that nothing may take more of, in bytes, and how much more for each byte of the file: the
/// [budget](csprof_format::budget) grows with it. A comparison of two files may take both's.
const MOST_MEMORY: u64 = 1 << 30;
const MEMORY_PER_BYTE: u64 = 3 * csprof_format::budget::PER_BYTE;
/// CPU time that no step takes longer than, where steps are timed, besides what its output takes
/// and, but for painting, what goes through all nodes: sixty times for a report of callers in deep
/// recursion.
const MOST_TIME: Duration = Duration::from_secs(1);
/// That of a node, in seconds.
const TIME_PER_NODE: f64 = 8e-6;
/// That of a byte of a function's name, of which 130 MB may come from 40 kB: many modules may have
/// the same long name.
const TIME_PER_NAME_BYTE: f64 = 1e-8;
/// Bytes of output that a step may have for each further second: reports are written as they are
/// made.
const OUTPUT_PER_SECOND: f64 = 25e6;

/// Any bytes, from damaged files of every version and from profiles made to do harm.
#[test]
fn fuzz_from_bytes_to_screens() {
    let (_, hard) = getrlimit(Resource::RLIMIT_DATA).unwrap();
    let minutes = std::env::var("CSPROF_FUZZ_MINUTES").ok().map(|text| text.parse().unwrap());
    let fixed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|text| text.parse().ok());
    let now =
        || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let first = fixed.unwrap_or_else(now);
    let kept = std::env::var_os("CSPROF_FUZZ_KEEP");
    let files = golden_files();
    let until = minutes.map(|minutes: u64| Instant::now() + Duration::from_secs(60 * minutes));
    let cases = 24;
    for case in 0.. {
        if until.map_or(case == cases, |until| Instant::now() > until) {
            println!("{case} cases from seed {first}");
            return;
        }
        let seed = first.wrapping_add(case);
        let bytes = input(&files, seed, minutes.is_some());
        kept.iter().for_each(|kept| fs::write(kept, &bytes).unwrap());
        // Allocations beyond it fail, and end the test.
        let memory = MOST_MEMORY + MEMORY_PER_BYTE * bytes.len() as u64;
        let allow = |memory: u64| setrlimit(Resource::RLIMIT_DATA, memory.min(hard), hard).unwrap();
        allow(memory);
        // So that a case which panics or hangs is known.
        println!("seed {seed}: {} bytes", bytes.len());
        let mut running = ("", cpu_time(), drive::written_so_far());
        drive::drive(&bytes, &mut |step| {
            if step == "compare" {
                allow(2 * memory);
            }
            let (name, began, before) = running;
            let (taken, written) = (cpu_time() - began, drive::written_so_far() - before);
            let (nodes, names) = if name == "paint" { (0, 0) } else { drive::size() };
            let more = written as f64 / OUTPUT_PER_SECOND
                + nodes as f64 * TIME_PER_NODE
                + names as f64 * TIME_PER_NAME_BYTE;
            let most = MOST_TIME + Duration::from_secs_f64(more);
            let is_slow = minutes.is_some() && taken > most;
            assert!(
                !is_slow,
                "seed {seed}: {name} took {taken:?}: {written} bytes, {nodes} nodes, {names} bytes of names"
            );
            running = (step, cpu_time(), drive::written_so_far());
        });
    }
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

/// A damaged file, or a made-up profile, whole or damaged.
fn input(files: &[Vec<u8>], seed: u64, large: bool) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = if random.below(3) == 0 {
        files[random.below(files.len())].clone()
    } else {
        let profile = profiles::hostile(&mut random, large);
        let mut bytes = Vec::new();
        // What no reader would take is not written.
        if write::write(&profile, &mut bytes).is_err() {
            bytes.clear();
        }
        bytes
    };
    if random.below(3) > 0 && !bytes.is_empty() {
        for _ in 0..1 + random.below(8) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes[at] ^= 1 << random.below(8),
                2 => bytes.truncate(at + 1),
                _ => bytes.insert(at, random.below(256) as u8),
            }
        }
        seal::seal(&mut bytes);
    }
    bytes
}

fn golden_files() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let mut paths: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .filter_map(|folder| fs::read_dir(folder.unwrap().path()).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|name| name == "csprof"))
        .collect();
    paths.sort();
    let files: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!files.is_empty());
    files
}

/// All modes of the table of keys are met, and each of their keys is pressed, with hostile texts.
#[test]
fn every_key_is_pressed_on_hostile_texts() {
    let all: BTreeSet<&str> = keymap::modes().map(|mode| mode.title).collect();
    let profile = csprof::profile::Profile::from_saved(profiles::every_text());
    let met = drive::press_all(&profile, (80, 24), (0, 1), (0, 1), &mut |_| ());
    assert_eq!(met, all);
}

/// A folder with two profiles in which every text is hostile, under hostile names.
struct Hostile {
    folder: tempfile::TempDir,
    one: PathBuf,
    two: PathBuf,
}

impl Hostile {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let save = |name: &str, start| {
            let mut profile = profiles::every_text();
            profile.run.start_unix_ns = start;
            let path = folder.path().join(name);
            csprof_format::write::save(&profile, &path).unwrap();
            path
        };
        let one = save("one\u{1b}[31m\u{9b}2J\u{202e}.csprof", 1);
        let two = save("=two\u{7}\u{2066}.csprof", 2);
        let mut sets = one.clone().into_os_string();
        sets.push(".sets");
        fs::write(sets, "@a\u{1b}[31m = \u{202e}{\n@ok = x\u{9b}*\nnonsense \u{1b}]0;x\u{7}\n")
            .unwrap();
        Self { folder, one, two }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let at = |word: &&str| match *word {
            "ONE" => self.one.clone().into_os_string(),
            "TWO" => self.two.clone().into_os_string(),
            word => word.into(),
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_csprof"));
        command.args(arguments.iter().map(at)).current_dir(self.folder.path());
        command.env("HOME", self.folder.path()).env_remove("XDG_CONFIG_HOME");
        command.output().unwrap()
    }
}

/// No byte that leaves csprof makes a terminal do anything, whatever is in a file.
#[test]
fn no_command_sends_what_a_terminal_obeys() {
    let hostile = Hostile::new();
    let bad = "bad\u{1b}[2J\u{202e}";
    let commands: &[&[&str]] = &[
        &["report", "ONE"],
        &["report", "ONE", "--view", "callers"],
        &["report", "ONE", "--view", "flat", "--by", "module"],
        &["report", "ONE", "--view", "threads"],
        &["report", "ONE", "--view", "threads", "--format", "csv"],
        &["report", "ONE", "--view", "threads", "--format", "json"],
        &["report", "ONE", "--format", "csv"],
        &["report", "ONE", "--format", "json"],
        &["report", "ONE", "--source", "f"],
        &["report", "ONE", "--sets"],
        &["report", "ONE", "--metric", bad],
        &["report", "ONE", "--sort", bad],
        &["report", "ONE", "--refine", "through @ok"],
        &["report", "ONE", "--refine", "through evil"],
        &["report", "ONE", "--refine", "through \u{1b}[31mevil"],
        &["report", "ONE", "--view", "tables", "--path", "evil"],
        &["report", "ONE", "TWO"],
        &["report", bad],
        &["report", "ONE", bad],
        &[bad],
        &["--bad\u{1b}[2J"],
        &["report", "ONE", "--view", bad],
        &["info", "ONE"],
        &["info", "ONE", "--format", "json"],
        &["export", "ONE", "--format", "folded"],
        &["diff", "ONE", "TWO"],
        &["diff", "ONE", "TWO", "--metric", bad],
        &["diff", "ONE", "TWO", "--format", "csv"],
        &["diff", "ONE", "TWO", "--format", "json"],
        &["diff", "ONE", bad],
        &["merge", "ONE", "TWO", "-o", "m\u{1b}[31m.csprof"],
        &["merge", "ONE", "ONE", "-o", "n.csprof"],
        &["merge", "ONE", bad, "-o", "n.csprof"],
        &["symbolize", "ONE"],
        &["symbolize", bad],
        &["salvage", bad, "-o", "o.csprof"],
        &["view", "ONE"],
    ];
    for arguments in commands {
        let output = hostile.run(arguments);
        for (stream, bytes) in [("output", &output.stdout), ("messages", &output.stderr)] {
            let text = std::str::from_utf8(bytes).unwrap();
            for line in text.lines() {
                assert_eq!(csprof::print::printable(line), line, "{stream} of {arguments:?}");
            }
            assert!(!text.contains('\r'), "{stream} of {arguments:?}");
        }
        assert!(output.status.code().is_some(), "{arguments:?}: {:?}", output.status);
        if arguments.contains(&"json") {
            let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(read.is_object(), "{arguments:?}");
        }
    }
}

#[test]
fn no_cell_of_a_spreadsheet_is_a_formula() {
    let hostile = Hostile::new();
    for arguments in
        [&["report", "ONE"][..], &["report", "ONE", "--view", "threads"], &["diff", "ONE", "TWO"]]
    {
        let output = hostile.run(&[arguments, &["--format", "csv", "--threshold", "0"]].concat());
        let mut formulas = 0;
        let mut rows = csv::ReaderBuilder::new().has_headers(false).from_reader(&output.stdout[..]);
        for cell in rows
            .records()
            .flat_map(|record| record.unwrap().iter().map(str::to_owned).collect::<Vec<_>>())
        {
            let is_number = cell.parse::<f64>().is_ok();
            assert!(is_number || !cell.starts_with(['=', '+', '-', '@']), "{arguments:?}: {cell}");
            formulas += usize::from(cell.starts_with('\''));
        }
        assert!(formulas > 0, "{arguments:?}");
    }
}

/// `csprof report … | head`: the reader goes, and that is no error.
#[test]
fn a_reader_that_goes_early_is_no_error() {
    let hostile = Hostile::new();
    for format in ["text", "json", "csv"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_csprof"))
            .args(["report", "--threshold", "0", "--format", format])
            .arg(&hostile.one)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

/// Where the block of this kind is in a file, by `FORMAT.md`.
fn place_of_block(file: &[u8], kind: u16) -> std::ops::Range<usize> {
    let mut at = 64;
    loop {
        let stored = u32::from_le_bytes(file[at + 0x20..at + 0x24].try_into().unwrap());
        let end = at + 48 + stored as usize;
        if file[at + 4..at + 6] == kind.to_le_bytes() {
            return at..end;
        }
        at = end;
    }
}

/// A valid profile for few bytes that would take gigabytes.
#[test]
fn what_would_take_gigabytes_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bomb.csprof");
    // csprof does not write it, so it is put together.
    let written = |profile: &Profile| {
        let mut bytes = Vec::new();
        write::write(profile, &mut bytes).map(|()| bytes)
    };
    assert!(written(&profiles::inlined(40_000, 512)).is_err());
    let mut nodes = written(&profiles::inlined(40_000, 1)).unwrap();
    let sites = written(&profiles::inlined(0, 512)).unwrap();
    let from = place_of_block(&sites, SITES);
    nodes.splice(place_of_block(&nodes, SITES), sites[from].iter().copied());
    seal::seal(&mut nodes);
    assert!(nodes.len() < 20_000);
    fs::write(&file, nodes).unwrap();
    for arguments in [
        &["report"][..],
        &["info"],
        &["export", "--format", "folded"],
        &["symbolize"],
        &["report", "--salvage"],
    ] {
        let command =
            Command::new(env!("CARGO_BIN_EXE_csprof")).args(arguments).arg(&file).output();
        let output = command.unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.contains("512 functions at its address, 9"), "{arguments:?}: {message}");
    }
}
