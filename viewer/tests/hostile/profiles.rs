//! Valid profiles that no program ever made.

use csprof_format::address::FrameKind;
use csprof_format::file_identity::FileIdentity;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile::{
    Epoch, Exit, Frame, Function, FurtherMetric, Mapping, Metric, Module, ModuleFile, Process,
    Profile, SourceDoubt, SourceFile, SymbolSource, Thread, ThreadShare, Tree,
};

/// Numbers that are the same for a seed everywhere (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Mostly small, now and then as large as allowed.
    fn size(&mut self, most: usize) -> usize {
        let bits = self.below(most.max(2).ilog2() as usize + 1);
        self.below((1 << bits) + 1).min(most)
    }
}

/// What names are made of.
const PIECES: &[&str] = &[
    "a",
    "main",
    "::",
    "<",
    ">",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    " ",
    "operator",
    "operator<",
    "<<",
    "->",
    "\u{1b}[31m",
    "\u{1b}]52;c;eA==\u{7}",
    "\u{9b}2J",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{301}",
    "\u{feff}",
    "\u{e0041}",
    "\n",
    "\r",
    "\t",
    "\0",
    "名",
    "🦀",
    "👩\u{200d}💻",
    ";",
    ",",
    "\"",
    "'",
    "=HYPERLINK(\"http://x\")",
    "+1",
    "-1",
    "@SUM(1)",
    "/",
    "..",
    "std::",
    "std::basic_string<char, ",
    "(anonymous namespace)",
    "{closure#0}",
    "<T as U>::",
    "+0x12",
    " const",
    "\u{85}",
    "\u{2028}",
    "ﷺ",
    "i̇",
    "\\",
    "|",
    "*",
    "?",
    "libcsprof_collector.so",
    "dlopen",
];

fn name(random: &mut Random, large: bool) -> String {
    let mut text = String::new();
    let pieces = random.size(12);
    for _ in 0..pieces {
        let piece = PIECES[random.below(PIECES.len())];
        let times = match random.below(12) {
            0 => 1 + random.size(if large { 1 << 18 } else { 1 << 12 }),
            _ => 1,
        };
        text.push_str(&piece.repeat(times));
    }
    text
}

fn bytes(random: &mut Random) -> Vec<u8> {
    let mut bytes = name(random, false).into_bytes();
    if random.below(3) == 0 {
        bytes.extend([0xff, 0xc3, 0x1b, 0x9b, 0xe2, 0x80]);
    }
    bytes
}

/// A profile with all tables filled somehow, but valid.
pub(crate) fn hostile(random: &mut Random, large: bool) -> Profile {
    let mut profile = Profile {
        metric: Metric {
            source: name(random, false),
            unit: ["ns", "", "\u{1b}[1mx"][random.below(3)].to_owned(),
            period: [1, 5_000_000, u64::MAX][random.below(3)],
        },
        ..Profile::default()
    };
    if random.below(3) == 0 {
        let source = profile.metric.source.clone() + "2";
        let metric = Metric { source, unit: "ns".into(), period: 7 };
        profile.further.push(FurtherMetric { metric, ..FurtherMetric::default() });
    }
    let run = &mut profile.run;
    run.command = (0..random.size(5)).map(|_| bytes(random)).collect();
    run.directory = bytes(random);
    run.host = name(random, false);
    run.cpu = name(random, false);
    run.kernel = name(random, false);
    run.csprof_version = name(random, false);
    run.warnings = (0..random.size(4)).map(|_| name(random, large)).collect();
    run.start_unix_ns = random.next() >> random.below(64);
    run.duration_ns = random.next() >> random.below(64);
    run.cpu_ns = random.next() >> random.below(64);
    run.trampoline = random.below(2) == 0;
    let strings = 1 + random.size(60);
    profile.strings = (0..strings).map(|_| name(random, large).into()).collect();
    let string = |random: &mut Random| StringId(random.below(strings) as u32);
    let modules = 1 + random.size(40);
    for _ in 0..modules {
        let symbols = match random.below(4) {
            0 => SymbolSource::NotAsked,
            1 => SymbolSource::Dwarf(string(random)),
            2 => SymbolSource::Unreadable(string(random)),
            _ => SymbolSource::Stripped(string(random)),
        };
        let build_id = vec![7; random.below(30)];
        for _ in 0..if build_id.is_empty() { random.below(3) } else { 0 } {
            let module = ModuleId::from_index(profile.modules.len());
            let inode = random.next();
            let file = FileIdentity { inode, ..FileIdentity::default() };
            profile.files.push(ModuleFile { module, file });
        }
        profile.modules.push(Module { path: string(random), build_id, symbols });
    }
    profile.files.sort_unstable();
    let functions = 1 + random.size(300);
    for _ in 0..functions {
        profile.functions.push(Function {
            name: string(random),
            module: ModuleId(random.below(modules) as u32),
            file: (random.below(2) == 0).then(|| string(random)),
            line: random.next() as u32 >> random.below(32),
        });
    }
    for _ in 0..random.size(6) {
        let mut file = SourceFile {
            path: string(random),
            digest: random.next() >> random.below(64),
            doubt: [SourceDoubt::None, SourceDoubt::ChangedAfterRun][random.below(2)],
            modules: (0..modules).map(ModuleId::from_index).collect(),
            ..SourceFile::default()
        };
        let mut number = 0_u64;
        for _ in 0..random.size(if large { 100_000 } else { 50 }) {
            number += 1 + (random.next() >> (32 + random.below(32)));
            let Ok(number) = u32::try_from(number + 1) else { break };
            file.push(number - 1, &name(random, false).replace('\n', " "));
            file.lines = number.saturating_add(random.size(1 << 30) as u32);
        }
        profile.sources.push(file);
    }
    profile.sources.sort_by_key(|file| (file.path, file.digest, file.lines));
    profile.sources.dedup_by_key(|file| (file.path, file.digest, file.lines));
    profile.frames.push(Frame { kind: FrameKind::Root, module: None, offset: 0 });
    let frames = 1 + random.size(500);
    let deep = if random.below(4) == 0 { 600 } else { 3 };
    let sites = &mut profile.sites;
    sites.first.extend([0, 0]);
    for _ in 0..frames {
        let kind = [FrameKind::Call, FrameKind::Leaf, FrameKind::Partial, FrameKind::Interrupted]
            [random.below(4)];
        let in_module = kind != FrameKind::Partial && random.below(8) > 0;
        let module = in_module.then(|| ModuleId(random.below(modules) as u32));
        profile.frames.push(Frame { kind, module, offset: random.next() >> random.below(64) });
        for _ in 0..if in_module { random.size(deep) } else { 0 } {
            sites.function.push(FunctionId(random.below(functions) as u32));
            sites.file.push((random.below(2) == 0).then(|| string(random)));
            sites.line.push(random.next() as u32 >> random.below(32));
        }
        sites.first.push(sites.function.len() as u32);
    }
    let processes = 1 + random.size(20);
    for process in 0..processes {
        profile.processes.push(Process {
            pid: random.next() as u32,
            rank: (random.below(2) == 0).then(|| random.next() as u32 >> random.below(32)),
            command: (0..random.size(4)).map(|_| bytes(random)).collect(),
            exit: if random.below(2) == 0 { Exit::Status(0) } else { Exit::Signal(9) },
            start_ns: random.next() >> random.below(64),
            end_ns: random.next() >> random.below(64),
            messages: (0..random.size(3)).map(|_| name(random, large)).collect(),
            ..Process::default()
        });
        profile.epochs.push(Epoch {
            process: ProcessId(process as u32),
            load_map: vec![Mapping { start: 1, end: 2, bias: 0, module: ModuleId(0) }],
            ..Epoch::default()
        });
        for _ in 0..random.size(4) {
            let most = if large { 200_000 } else { 3_000 };
            thread(&mut profile, process, frames, most, random);
        }
    }
    profile
}

/// Adds a thread and its tree.
fn thread(profile: &mut Profile, process: usize, frames: usize, most: usize, random: &mut Random) {
    let first = profile.nodes.len() as u32;
    let nodes = 1 + random.size(most);
    let shape = random.below(3);
    let mut path = vec![first];
    profile.nodes.push(first, FrameId(0), 0, 0);
    let (mut recorded, mut share) = (0, 0);
    for _ in 1..nodes {
        let depth = match shape {
            0 => path.len(),
            1 => 1,
            _ => 1 + random.below(path.len()),
        };
        path.truncate(depth);
        let samples =
            if random.below(2) == 0 { 0 } else { random.next() >> (20 + random.below(44)) };
        let frame = FrameId(1 + random.below(frames) as u32);
        let parent = *path.last().unwrap();
        let edges = random.next() >> random.below(64);
        path.push(profile.nodes.push(parent, frame, samples, edges));
        recorded += samples;
        if let Some(further) = profile.further.first_mut().filter(|_| samples > 0) {
            further.samples.push((path[path.len() - 1], 1 + samples / 2));
            share += 1 + samples / 2;
        }
    }
    let id = ThreadId(profile.threads.len() as u32);
    profile.threads.push(Thread {
        process: ProcessId(process as u32),
        tid: random.next() as u32,
        name: bytes(random),
        signals: recorded,
        delivered: recorded,
        recorded,
        cpu_ns: random.next() >> random.below(64),
        start_ns: random.next() >> random.below(64),
        end_ns: random.next() >> random.below(64),
        ..Thread::default()
    });
    if let Some(further) = profile.further.first_mut() {
        let share = ThreadShare { signals: share, delivered: share, recorded: share, partial: 0 };
        further.threads.push(share);
    }
    let node_count = profile.nodes.len() as u32 - first;
    let epoch = EpochId(process as u32);
    profile.trees.push(Tree { thread: id, epoch, first_node: first, node_count });
}

/// A profile in which every text that there is would make a terminal do something.
pub(crate) fn every_text() -> Profile {
    const EVIL: &str =
        "evil\u{1b}[31m\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{2066}\u{200b}\u{85}\r\ncsprof: x";
    let evil = |text: &str| format!("{text}{EVIL}");
    let mut profile = Profile {
        metric: Metric { source: evil("cpu"), unit: evil("u"), period: 5 },
        ..Profile::default()
    };
    let metric = Metric { source: evil("=real"), unit: evil("v"), period: 6 };
    profile.further.push(FurtherMetric { metric, ..FurtherMetric::default() });
    let run = &mut profile.run;
    run.command = vec![evil("./run").into_bytes(), b"\xff\x1b[2J\x9b".to_vec()];
    run.directory = evil("/").into_bytes();
    (run.host, run.cpu, run.kernel) = (evil("h"), evil("c"), evil("k"));
    (run.csprof_version, run.warnings) = (evil("1"), vec![evil("w"), evil("/lib: ")]);
    run.trampoline = true;
    let names = ["=HYPERLINK(\"x\")", "+f", "-g", "@h", "ns::f<int>(int)", "/lib", "/src/a.c"];
    profile.strings = names.map(|name| evil(name).into()).to_vec();
    profile.strings[0] = names[0].into();
    for symbols in [SymbolSource::Unreadable(StringId(1)), SymbolSource::Dwarf(StringId(5))] {
        profile.modules.push(Module { path: StringId(5), build_id: vec![1], symbols });
    }
    let modules = vec![ModuleId(0), ModuleId(1)];
    let path = StringId(6);
    let mut file = SourceFile { path, lines: 900, modules, ..SourceFile::default() };
    for line in [1, 2, 3, 4, 700] {
        file.push(line, &evil("a();").replace('\n', " "));
    }
    profile.sources.push(file);
    profile.frames.push(Frame { kind: FrameKind::Root, module: None, offset: 0 });
    profile.sites.first.extend([0, 0]);
    for name in 0..5 {
        let (file, module) = (Some(StringId(6)), ModuleId(name % 2));
        profile.functions.push(Function { name: StringId(name), module, file, line: 3 });
        let offset = u64::from(name) + 1;
        profile.frames.push(Frame { kind: FrameKind::Call, module: Some(module), offset });
        profile.sites.function.push(FunctionId(name));
        profile.sites.file.push(file);
        profile.sites.line.push(name);
        profile.sites.first.push(name + 1);
    }
    // One without a name, which is called by its module.
    profile.frames.push(Frame { kind: FrameKind::Leaf, module: Some(ModuleId(0)), offset: 99 });
    profile.sites.first.push(5);
    for process in 0..2 {
        profile.processes.push(Process {
            pid: 7 + process,
            rank: Some(process),
            command: vec![evil("=cmd").into_bytes()],
            exit: Exit::Signal(9),
            messages: vec![evil("m")],
            ..Process::default()
        });
        let process = ProcessId(process);
        profile.epochs.push(Epoch { process, ..Epoch::default() });
        let first = profile.nodes.len() as u32;
        let mut parent = profile.nodes.push(first, FrameId(0), 0, 0);
        let mut share = 0;
        for frame in 1..=6 {
            parent = profile.nodes.push(parent, FrameId(frame), 100, 3);
            profile.further[0].samples.push((parent, 40));
            share += 40;
        }
        profile.threads.push(Thread {
            process,
            tid: 9 + process.0,
            name: evil("@thread").into_bytes(),
            signals: 600,
            delivered: 600,
            recorded: 600,
            ..Thread::default()
        });
        let share = ThreadShare { signals: share, delivered: share, recorded: share, partial: 0 };
        profile.further[0].threads.push(share);
        let (thread, epoch) = (ThreadId(process.0), EpochId(process.0));
        profile.trees.push(Tree { thread, epoch, first_node: first, node_count: 7 });
    }
    profile
}

/// A thread of so many nodes at an address with so many functions inlined.
pub(crate) fn inlined(nodes: u32, functions: u32) -> Profile {
    let mut profile = Profile {
        strings: vec!["f".into()],
        modules: vec![Module::default()],
        metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 5 },
        processes: vec![Process::default()],
        epochs: vec![Epoch::default()],
        ..Profile::default()
    };
    let function = Function { name: StringId(0), module: ModuleId(0), file: None, line: 0 };
    profile.functions.push(function);
    profile.frames = vec![
        Frame { kind: FrameKind::Root, module: None, offset: 0 },
        Frame { kind: FrameKind::Call, module: Some(ModuleId(0)), offset: 1 },
    ];
    profile.sites.first = vec![0, 0, functions];
    profile.sites.function = vec![FunctionId(0); functions as usize];
    profile.sites.file = vec![None; functions as usize];
    profile.sites.line = vec![0; functions as usize];
    profile.nodes.push(0, FrameId(0), 0, 0);
    for _ in 0..nodes {
        profile.nodes.push(0, FrameId(1), 0, 0);
    }
    profile.threads.push(Thread::default());
    let (thread, epoch) = (ThreadId(0), EpochId(0));
    profile.trees.push(Tree { thread, epoch, first_node: 0, node_count: nodes + 1 });
    profile
}
