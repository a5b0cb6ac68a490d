//! Damaged ELF and DWARF, from files to screen: `symbolize` and `report` end, in bounded time and
//! memory, without a panic, and no file gives names to a profile of another one.
//!
//! `CSPROF_FUZZ_MINUTES=60 cargo test --release -p csprof --test symbols -- hostile` goes on as
//! long.

use std::ops::Range;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ThreadId};
use csprof_format::profile::{Epoch, Process, Profile, Thread, Tree};
use csprof_format::write;
use object::{Object as _, ObjectSection as _};

use crate::build::{Binary, Workshop};

/// Seconds of CPU time, and KiB of memory, that `symbolize` and `report` may take: of files of 20
/// to 50 KB, in a build without optimization.
const MOST_SECONDS: u32 = 60;
const MOST_KIB: u32 = 2 << 20;

/// Cases in the gate.
const CASES: u64 = 60;

const SOURCE: &str = "
    struct pair { int a; int b; };
    volatile int sink;
    static inline __attribute__((always_inline)) void WORD_inner(int x) { sink = x; sink += 2; }
    __attribute__((noinline)) int WORD_leaf(struct pair p) { WORD_inner(p.a); return p.b + sink; }
    __attribute__((noinline)) int WORD_loop(int n) {
        int all = 0;
        for (int i = 0; i < n; i++) { struct pair p = {i, n}; all += WORD_leaf(p); }
        return all;
    }
    int main(int argc, char **argv) { return WORD_loop(argc); }
";

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Where the parts of a file lie that are read for names: its headers, and sections.
fn parts(bytes: &[u8]) -> Vec<Range<usize>> {
    let file = object::File::parse(bytes).unwrap();
    let read = |name: &str| {
        [
            ".debug",
            ".symtab",
            ".strtab",
            ".dynsym",
            ".dynstr",
            ".eh_frame",
            ".text",
            ".plt",
            ".rela",
        ]
        .iter()
        .any(|start| name.starts_with(start))
    };
    let sections = file.sections().filter(|section| section.name().is_ok_and(read));
    let ranges = sections.filter_map(|section| section.file_range());
    let ranges = ranges.map(|(start, size)| start as usize..(start + size) as usize);
    // The section headers are at the end.
    let end = bytes.len();
    [0..64, 64..1024, end.saturating_sub(64 * 40)..end].into_iter().chain(ranges).collect()
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let parts = parts(bytes);
    for _ in 0..=random.below(8) {
        let part = parts[random.below(parts.len())].clone();
        let at = part.start + random.below(part.len());
        let value = [0, 1, 0x7f, 0x80, 0xff, random.next() as u8][random.below(6)];
        let length = [1, 1, 2, 4, 8, 64][random.below(6)];
        let end = (at + length).min(bytes.len());
        if let Some(bytes) = bytes.get_mut(at.min(end)..end) {
            bytes.fill(value);
        }
    }
    if random.below(12) == 0 {
        bytes.truncate(random.below(bytes.len()));
    }
}

/// A profile with a sample at each address.
fn profile(binary: &Binary, addresses: &[u64]) -> Profile {
    let mut profile = binary.profile(FrameKind::Leaf, addresses);
    profile.metric.period = 1;
    profile.processes.push(Process::default());
    let samples = addresses.len() as u64;
    let (signals, delivered, recorded) = (samples, samples, samples);
    profile.threads.push(Thread { signals, delivered, recorded, ..Thread::default() });
    profile.epochs.push(Epoch::default());
    let root = FrameId::from_index(profile.frames.len());
    let kind = FrameKind::Root;
    profile.frames.push(csprof_format::profile::Frame { kind, module: None, offset: 0 });
    profile.nodes.push(0, root, 0, 0);
    for frame in 0..addresses.len() {
        profile.nodes.push(0, FrameId::from_index(frame), 1, 0);
    }
    let nodes = addresses.len() as u32 + 1;
    profile.trees.push(Tree { thread: ThreadId(0), node_count: nodes, ..Tree::default() });
    profile
}

/// What csprof says, within the limits.
fn csprof(words: &[&str]) -> Output {
    let limits = format!("ulimit -t {MOST_SECONDS}; ulimit -v {MOST_KIB}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limits, env!("CARGO_BIN_EXE_csprof")]).args(words);
    command.env("DEBUGINFOD_URLS", "").env("RUST_BACKTRACE", "0").output().unwrap()
}

#[test]
fn damaged_files_end_and_name_nothing_of_another() {
    let shop = Workshop::new();
    let minutes = std::env::var("CSPROF_FUZZ_MINUTES").ok().map(|text| text.parse().unwrap());
    let until = minutes.map(|minutes: u64| Instant::now() + Duration::from_secs(60 * minutes));
    let mut files = Vec::new();
    let link = "-Wl,--build-id";
    for flags in [&["-g", "-O2", link][..], &["-g", "-gz", link], &["-g", "-gdwarf-4", "-O1", link]]
    {
        for word in ["own", "intruder"] {
            let name = format!("{word}{}", files.len());
            let Some(path) = shop.compile("cc", &name, &SOURCE.replace("WORD", word), flags) else {
                return;
            };
            files.push(path);
        }
    }
    let file = shop.path("a.csprof");
    for seed in 0.. {
        if until.map_or(seed == CASES, |until| Instant::now() > until) {
            break;
        }
        let mut random = Random(seed);
        let pair = 2 * random.below(files.len() / 2);
        let own = Binary::open(&files[pair]);
        let (start, text) = own.section(".text");
        let addresses: Vec<u64> = (start..start + text.len() as u64).step_by(7).collect();
        write::save(&profile(&own, &addresses), file.as_ref()).unwrap();
        // The file itself was damaged, or another is in its place, damaged or not.
        let original = std::fs::read(&own.path).unwrap();
        let is_other = seed % 3 == 2;
        let from = if is_other { &files[pair + 1] } else { &own.path };
        let mut bytes = std::fs::read(from).unwrap();
        if seed > 2 {
            damage(&mut bytes, &mut random);
        }
        std::fs::write(&own.path, &bytes).unwrap();
        let symbolized = csprof(&["symbolize", &file]);
        let shown = csprof(&["report", &file, "--view", "flat", "--threshold", "0"]);
        std::fs::write(&own.path, &original).unwrap();
        for (output, is_report) in [(&symbolized, false), (&shown, true)] {
            let said = String::from_utf8_lossy(&output.stdout);
            let complained = String::from_utf8_lossy(&output.stderr);
            assert!(!complained.contains("panicked"), "seed {seed}: {complained}");
            let code = output.status.code();
            assert!(code.is_some_and(|code| code < 3), "seed {seed}: {code:?} {complained}");
            let is_named = |word: &str| is_report && said.contains(word);
            assert!(!is_named("intruder_"), "seed {seed}: {said}");
            assert!(!(is_other && is_named("own_")), "seed {seed}: {said}");
            assert!(seed > 0 || !is_report || is_named("own_loop"), "{said}");
        }
    }
}
