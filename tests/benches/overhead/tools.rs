//! The profilers: how each is started on a program, and what it has when the program has ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use csprof_tests::binary::csprof;
use csprof_tests::installed::find;
use csprof_tests::workshop::Workshop;
use serde_json::Value;

use crate::programs::Program;

/// A way to run a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Tool {
    /// As it is.
    Alone,
    /// With an empty handler, at so many signals per second.
    Floor(u32, Delivery),
    /// Under csprof with a source, such as `cputime@200`, with the trampoline or without.
    Csprof { source: &'static str, trampoline: bool, delivery: Delivery },
    /// Under `perf record -F RATE --call-graph HOW`.
    Perf { rate: u32, how: &'static str },
    /// Under the CPU profiler of gperftools.
    Gperftools(u32),
    /// Recompiled with `-pg`.
    Gprof,
    /// With gperftools' allocator in the place of the C library's, and no profiler.
    Tcmalloc,
    /// Under that allocator's heap profiler.
    HeapProfiler,
    /// Under heaptrack.
    Heaptrack,
}

/// How a signal comes to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Delivery {
    /// A timer on CPU time, which the kernel looks at when it ticks.
    Tick,
    /// An event that has the thread send itself SIGTRAP.
    Trap,
    /// An event that sends a signal from its interrupt.
    Interrupt,
    /// No signal: the program's own call takes the sample.
    Call,
}

/// What a tool has of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// Samples.
    pub samples: u64,
    /// Of those, samples whose path begins where the thread began. Unknown for some tools.
    pub full: Option<u64>,
    /// Size of the data, in bytes.
    pub bytes: u64,
}

/// What there is to compare here; says what is missing.
pub(crate) fn installed(workshop: &Workshop) -> Vec<Tool> {
    let library = workshop.path("libfloor.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/overhead/floor.c");
    let (library, source) = (library.to_str().expect("UTF-8"), source.to_str().expect("UTF-8"));
    workshop.compile(&format!("cc -O2 -shared -fPIC -o {library} {source}"));
    let event = events_of_csprof(workshop);
    let mut tools = vec![
        Tool::Floor(250, Delivery::Tick),
        Tool::Floor(1000, event),
        Tool::Floor(5000, event),
        Tool::Csprof { source: "cputime@250", trampoline: true, delivery: Delivery::Tick },
    ];
    let sources =
        [("cputime@200", Delivery::Tick), ("task-clock@1000", event), ("task-clock@5000", event)];
    for (source, delivery) in sources {
        for trampoline in [true, false] {
            tools.push(Tool::Csprof { source, trampoline, delivery });
        }
    }
    match find("perf") {
        Some(_) => tools.extend(["fp", "dwarf"].map(|how| Tool::Perf { rate: 1000, how })),
        None => eprintln!("not measured: perf is not installed"),
    }
    match gperftools() {
        Some(_) => tools.push(Tool::Gperftools(1000)),
        None => eprintln!("not measured: libprofiler.so.0 (gperftools) is not installed"),
    }
    tools.push(Tool::Gprof);
    tools
}

/// The same for profilers of memory.
pub(crate) fn installed_for_memory() -> Vec<Tool> {
    let csprof = |source| Tool::Csprof { source, trampoline: true, delivery: Delivery::Call };
    let mut tools = vec![csprof("alloc@512K"), csprof("leak@512K")];
    match tcmalloc() {
        Some(_) => tools.extend([Tool::Tcmalloc, Tool::HeapProfiler]),
        None => eprintln!("not measured: libtcmalloc.so.4 (gperftools) is not installed"),
    }
    match find("heaptrack") {
        Some(_) => tools.push(Tool::Heaptrack),
        None => eprintln!("not measured: heaptrack is not installed"),
    }
    tools
}

/// How `task-clock` samples come here, by csprof's own word.
fn events_of_csprof(workshop: &Workshop) -> Delivery {
    let recording = workshop.record(&["-e", "task-clock@1000"], &["true"]);
    if recording.messages().contains("come by SIGPROF") {
        Delivery::Interrupt
    } else {
        Delivery::Trap
    }
}

fn gperftools() -> Option<PathBuf> {
    library("libprofiler.so.0")
}

fn tcmalloc() -> Option<PathBuf> {
    library("libtcmalloc.so.4")
}

fn library(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/lib"];
    folders.map(|folder| Path::new(folder).join(name)).into_iter().find(|p| p.exists())
}

impl Tool {
    /// Its name in the tables.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Alone => "alone".to_owned(),
            Self::Floor(rate, _) => format!("empty handler @{rate}"),
            Self::Csprof { source, trampoline, .. } => {
                let without = if *trampoline { "" } else { " --no-trampoline" };
                format!("csprof -e {source}{without}")
            }
            Self::Perf { rate, how } => format!("perf record -F {rate} --call-graph {how}"),
            Self::Gperftools(rate) => format!("gperftools @{rate}"),
            Self::Gprof => "gprof (recompiled)".to_owned(),
            Self::Tcmalloc => "tcmalloc, no profiler".to_owned(),
            Self::HeapProfiler => "gperftools' heap profiler".to_owned(),
            Self::Heaptrack => "heaptrack".to_owned(),
        }
    }

    /// Whether others are held against it.
    pub(crate) const fn is_reference(&self) -> bool {
        matches!(self, Self::Alone | Self::Floor(..) | Self::Tcmalloc)
    }

    /// The floor of this tool's samples: the same delivery, at the rate that arrives.
    pub(crate) fn floor(&self) -> Option<Self> {
        match *self {
            Self::Csprof { source: "task-clock@1000", delivery, .. } => {
                Some(Self::Floor(1000, delivery))
            }
            Self::Csprof { source: "task-clock@5000", delivery, .. } => {
                Some(Self::Floor(5000, delivery))
            }
            Self::Csprof { source: "cputime@250", delivery, .. } => {
                Some(Self::Floor(250, delivery))
            }
            Self::Gperftools(_) => Some(Self::Floor(250, Delivery::Tick)),
            _ => None,
        }
    }

    /// How its samples come.
    pub(crate) const fn delivery(&self) -> &'static str {
        match self {
            Self::Floor(_, delivery) | Self::Csprof { delivery, .. } => match delivery {
                Delivery::Tick => "signal at the tick",
                Delivery::Trap => "SIGTRAP to itself",
                Delivery::Interrupt => "signal from the interrupt",
                Delivery::Call => "none: in the program's call",
            },
            Self::Perf { .. } => "ring buffer",
            Self::Gperftools(_) | Self::Gprof => "signal at the tick",
            Self::HeapProfiler | Self::Heaptrack => "none: each call is followed",
            Self::Alone | Self::Tcmalloc => "",
        }
    }

    /// Whether it works on this program.
    pub(crate) const fn can_run(&self, program: &Program) -> bool {
        !matches!(self, Self::Gprof) || program.for_gprof.is_some()
    }

    /// The command that runs `program` by way of `target`, the words that pin and measure it, and
    /// leaves data at `out`.
    pub(crate) fn command(&self, program: &Program, target: &[&str], out: &Path) -> Vec<String> {
        let data = out.to_str().expect("UTF-8");
        let preload = |library: &Path, settings: &[String]| {
            let mut words = vec!["env".to_owned(), format!("LD_PRELOAD={}", library.display())];
            words.extend(settings.iter().cloned());
            words
        };
        // Before and after the words of `target`.
        let (mut words, inside): (Vec<String>, Vec<String>) = match self {
            Self::Alone | Self::Gprof => (Vec::new(), Vec::new()),
            Self::Floor(rate, delivery) => {
                let by = match delivery {
                    Delivery::Tick | Delivery::Call => "tick",
                    Delivery::Trap => "trap",
                    Delivery::Interrupt => "interrupt",
                };
                let settings = [
                    format!("FLOOR_RATE={rate}"),
                    format!("FLOOR_BY={by}"),
                    format!("FLOOR_OUT={data}"),
                ];
                (Vec::new(), preload(&out.with_file_name("libfloor.so"), &settings))
            }
            Self::Csprof { source, trampoline, .. } => {
                let csprof = csprof().to_str().expect("UTF-8");
                let mut words = vec![csprof, "record", "--quiet", "-f", "-o", data, "-e", source];
                if !trampoline {
                    words.push("--no-trampoline");
                }
                words.push("--");
                (words.into_iter().map(str::to_owned).collect(), Vec::new())
            }
            Self::Perf { rate, how } => {
                let line = format!("perf record -q -e cpu-clock -F {rate} --call-graph {how} -o");
                let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
                words.extend([data.to_owned(), "--".to_owned()]);
                (words, Vec::new())
            }
            Self::Gperftools(rate) => {
                let library = gperftools().expect("it was there");
                let settings =
                    [format!("CPUPROFILE={data}"), format!("CPUPROFILE_FREQUENCY={rate}")];
                (Vec::new(), preload(&library, &settings))
            }
            Self::Tcmalloc => (Vec::new(), preload(&tcmalloc().expect("it was there"), &[])),
            Self::HeapProfiler => {
                let library = tcmalloc().expect("it was there");
                (Vec::new(), preload(&library, &[format!("HEAPPROFILE={data}")]))
            }
            Self::Heaptrack => {
                // It follows no child, so the process that writes its data counts as the program.
                let words = ["heaptrack", "-o", data];
                (Vec::new(), words.map(str::to_owned).to_vec())
            }
        };
        words.extend(target.iter().map(|&word| word.to_owned()));
        words.extend(inside);
        match (self, &program.for_gprof) {
            (Self::Gprof, Some(path)) => words.push(path.to_str().expect("UTF-8").to_owned()),
            _ => words.extend(program.words.iter().cloned()),
        }
        words
    }

    /// What the run left at `out`.
    pub(crate) fn taken(
        &self,
        workshop: &Workshop,
        program: &Program,
        out: &Path,
    ) -> Option<Taken> {
        let bytes = fs::metadata(out).map_or(0, |data| data.len());
        match self {
            Self::Alone | Self::Gprof | Self::Tcmalloc => None,
            // Their data is in files whose names begin with this.
            Self::HeapProfiler | Self::Heaptrack => None,
            Self::Floor(..) => {
                let counts = fs::read_to_string(out).ok()?;
                let samples = counts.lines().filter_map(|line| line.parse::<u64>().ok()).sum();
                Some(Taken { samples, ..Taken::default() })
            }
            Self::Csprof { .. } => Some(Taken { bytes, ..by_csprof(out) }),
            Self::Perf { .. } => Some(Taken { bytes, ..by_perf(workshop, out) }),
            Self::Gperftools(_) => by_gperftools(&fs::read(out).ok()?, program),
        }
    }
}

fn by_csprof(out: &Path) -> Taken {
    let info = Command::new(csprof()).args(["info", "--format", "json"]).arg(out).output();
    let info: Value = serde_json::from_slice(&info.expect("info").stdout).expect("JSON");
    let number = |key: &str| info["samples"][key].as_u64().expect("a number of samples");
    let full = number("recorded") - number("partial");
    Taken { samples: number("delivered"), full: Some(full), bytes: 0 }
}

/// `perf script` prints a block of lines for each sample: the event, the frames from the leaf on,
/// and an empty line.
fn by_perf(workshop: &Workshop, out: &Path) -> Taken {
    const STARTS: [&str; 5] = ["_start", "__libc_start", "clone", "clone3", "start_thread"];
    let script =
        workshop.run(&["perf", "script", "-F", "ip,sym", "-i", out.to_str().expect("UTF-8")]);
    let said = script.said();
    let samples = said.split("\n\n").filter(|block| !block.trim().is_empty());
    let mut taken = Taken { full: Some(0), ..Taken::default() };
    for sample in samples {
        taken.samples += 1;
        let outermost =
            sample.trim_end().lines().last().and_then(|line| line.split_whitespace().nth(1));
        if outermost.is_some_and(|name| STARTS.iter().any(|start| name.starts_with(start))) {
            taken.full = taken.full.map(|full| full + 1);
        }
    }
    taken
}

/// The legacy CPU profile of gperftools (docs/cpuprofile-fileformat.html): words of eight bytes, a
/// header of five whose second says how many follow it, then for each path its samples, its length,
/// and its addresses from the leaf on; the last path has no samples and the address 0. The text of
/// `/proc/self/maps` follows. A path is full when it ends in `_start`, at the program's entry.
fn by_gperftools(data: &[u8], program: &Program) -> Option<Taken> {
    let word = |index: u64| {
        let at = usize::try_from(index).ok()?.checked_mul(8)?;
        Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?))
    };
    let mut taken = Taken { full: Some(0), bytes: data.len() as u64, ..Taken::default() };
    let mut at = 2 + word(1)?;
    let mut paths = Vec::new();
    loop {
        let (samples, length) = (word(at)?, word(at + 1)?);
        let outermost = word(at + 1 + length)?;
        if samples == 0 {
            break;
        }
        paths.push((samples, outermost));
        at += 2 + length;
    }
    let maps = String::from_utf8_lossy(&data[usize::try_from(at).ok()? * 8 + 24..]).into_owned();
    let start = entry(&maps, &program.words[0])?;
    for (samples, outermost) in paths {
        taken.samples += samples;
        if (start..start + 0x40).contains(&outermost) {
            taken.full = taken.full.map(|full| full + samples);
        }
    }
    Some(taken)
}

/// Where the program began, by its ELF header (`e_entry`, at byte 24) and where it was loaded.
fn entry(maps: &str, program: &str) -> Option<u64> {
    let path = fs::canonicalize(program).ok()?;
    let path = path.to_str()?;
    let header = fs::read(path).ok()?;
    let entry = u64::from_le_bytes(header.get(24..32)?.try_into().ok()?);
    // ET_DYN (e_type 3) is loaded anywhere, its first page at the lowest address.
    let is_fixed = header.get(16) == Some(&2);
    let first = maps.lines().find(|line| line.ends_with(path))?;
    let base = u64::from_str_radix(first.split('-').next()?, 16).ok()?;
    Some(if is_fixed { entry } else { base + entry })
}
