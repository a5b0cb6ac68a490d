//! Small profiles with every form of every value in them; the golden files hold them.

use csprof_format::address::FrameKind;
use csprof_format::file_identity::FileIdentity;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::loss::{LossReason, PartialReason};
use csprof_format::profile::{
    EarlierThreads, Epoch, EpochReason, Exit, Frame, Function, FurtherMetric, InLoop, Loop,
    Mapping, Metric, Module, ModuleFile, Nodes, Origin, Phase, Process, Profile, RankSums, RunInfo,
    SampleTime, Sites, SourceDoubt, SourceFile, Spread, Stretch, Structure, SummedProcess,
    SummedRun, SymbolSource, TailCall, Thread, ThreadShare, Tree,
};

/// The same of two metrics: some of the samples are of elapsed time.
pub(crate) fn of_two_metrics() -> Profile {
    let share = |signals, delivered, recorded, partial| ThreadShare {
        signals,
        delivered,
        recorded,
        partial,
    };
    let further = FurtherMetric {
        metric: Metric { source: "realtime".into(), unit: "ns".into(), period: 10_000_000 },
        threads: vec![share(20, 49, 48, 3), share(0, 0, 0, 0), share(300, 30_000, 30_000, 0)],
        samples: vec![(4, 40), (8, 3), (11, 5), (14, 30_000)],
    };
    Profile { further: vec![further], ..profile() }
}

/// The same with a loop around the call of `c`, one in what `c` inlines, and `b` gone by a tail
/// call.
pub(crate) fn of_loops() -> Profile {
    let profile = profile();
    let source = profile.functions[1].file;
    let found = |offset, line, irreducible| Loop {
        module: ModuleId(0),
        offset,
        file: source,
        line,
        irreducible,
    };
    let inside = |frame, row, number| InLoop { frame: FrameId(frame), row, number };
    let structure = Structure {
        loops: vec![found(0x1150, 11, false), found(0x1240, 0, true)],
        in_loops: vec![inside(3, 0, 0), inside(5, 0, 0), inside(5, 1, 1)],
        tail_calls: vec![TailCall {
            caller: FrameId(2),
            callee: FrameId(5),
            via: vec![FunctionId(2), FunctionId(3)],
        }],
    };
    Profile { structure, ..profile }
}

/// The same with the file of the library without a build id, which another run had, too.
pub(crate) fn of_files() -> Profile {
    let file = |inode, changed_ns| ModuleFile {
        module: ModuleId(3),
        file: FileIdentity {
            device: 0x801,
            inode,
            size: 70_000,
            modified_ns: 1_700_000_000_123_456_789,
            changed_ns,
        },
    };
    let files = vec![file(4711, 0), file(4711, 1_700_000_001_000_000_000), file(1 << 40, 0)];
    Profile { files, ..profile() }
}

/// The same as [`profile`], to be looked at in a certain way.
pub(crate) fn of_stages() -> Profile {
    let stages = ["hide module:libc*", "where c"].map(str::to_owned).to_vec();
    Profile { stages, ..profile() }
}

/// The same with lines of its source, of which the library was compiled from another version.
pub(crate) fn of_sources() -> Profile {
    let profile = profile();
    let path = profile.functions[1].file.expect("main has one");
    let stretch = |first, count| Stretch { first, count };
    let sources = vec![
        SourceFile {
            path,
            lines: 40,
            digest: 4711,
            doubt: SourceDoubt::None,
            is_of_run: true,
            modules: vec![ModuleId(0), ModuleId(1)],
            stretches: vec![stretch(9, 2), stretch(30, 1)],
            text: "void a(void)\n{\tüber\u{202e}\nint main(void)\n".to_owned(),
        },
        SourceFile {
            path,
            lines: 1,
            digest: u64::MAX,
            doubt: SourceDoubt::NewerThanModule,
            is_of_run: false,
            modules: vec![ModuleId(3)],
            stretches: vec![stretch(1, 1)],
            text: "\n".to_owned(),
        },
    ];
    Profile { sources, ..profile }
}

/// The same with times of some of its samples, in two of its trees.
pub(crate) fn of_times() -> Profile {
    let time = |time_us, node, samples| SampleTime { time_us, node, metric: 0, samples };
    let times = vec![
        time(0, 4, 1),
        time(5_000, 4, 139),
        time(5_000, 6, 2),
        time(75_000, 6, 1),
        time(9, 14, 69_999),
        time(1 << 40, 14, 1),
    ];
    Profile { times, ..profile() }
}

/// The same with records that found no room, and paths deeper than what was copied of their stack.
pub(crate) fn of_outside() -> Profile {
    let mut profile = profile();
    let losses = &mut profile.processes[0].losses;
    losses.resize(LossReason::RingFull as usize, 0);
    losses.push(7);
    let partial = profile.frames.iter_mut().find(|frame| frame.kind == FrameKind::Partial);
    partial.expect("there is one").offset = PartialReason::StackCopy as u64;
    profile
}

/// The same with two epochs in phases.
pub(crate) fn of_phases() -> Profile {
    let phase = |epoch, name: &str| Phase { epoch: EpochId(epoch), name: name.to_owned() };
    Profile { phases: vec![phase(1, "größe"), phase(2, "solve \u{1b}")], ..profile() }
}

/// The same with a thread that stands for a hundred.
pub(crate) fn of_earlier() -> Profile {
    let earlier = vec![EarlierThreads { thread: ThreadId(1), count: 99, apart_ns: 1_234_567 }];
    Profile { earlier, ..profile() }
}

/// The same as a sum, of which rank 0 is kept apart.
pub(crate) fn of_sums() -> Profile {
    let profile = profile();
    let process = |of: usize, rank, into, recorded| SummedProcess {
        process: Process { rank: Some(rank), ..profile.processes[of].clone() },
        into: ProcessId(into),
        recorded: vec![recorded],
    };
    let processes = vec![process(0, 0, 0, 300), process(1, 7, 1, 30_000), process(1, 9, 1, 40_000)];
    let of = RankSums {
        ranks: 2,
        sum: 70_000,
        least: 30_000,
        least_rank: 7,
        most: 40_000,
        most_rank: 9,
        squares: 2_500_000_000,
    };
    let root = profile.trees[2].first_node;
    let spread = |node| Spread { node, of, ..Spread::default() };
    Profile {
        summed: vec![SummedRun { info: profile.run.clone(), processes }],
        spreads: vec![spread(root), spread(root + 1)],
        ..profile
    }
}

/// Figure 1 of the ICS'05 paper in spirit: `a` and `b` share the cost of `c`, which inlines `d`.
pub(crate) fn profile() -> Profile {
    let strings = [
        "/home/me/figure1",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "[vdso]",
        "/opt/vendor/libfast.so",
        "main",
        "a",
        "b",
        "c(unsigned long)",
        "d<int, std::vector<int> >",
        "__libc_start_main",
        "/home/me/figure1.cpp",
        "naïve_größe",
    ];
    let string = |text: &str| {
        StringId::from_index(strings.iter().position(|&s| s == text).expect("it is in the list"))
    };
    let (exe, libc, vdso, fast) = (ModuleId(0), ModuleId(1), ModuleId(2), ModuleId(3));
    let source = Some(string("/home/me/figure1.cpp"));
    let frame = |kind, module, offset| Frame { kind, module: Some(module), offset };
    let bare = |kind, offset| Frame { kind, module: None, offset };
    let function = |name, module, file, line| Function { name: string(name), module, file, line };
    let map = |start, end, bias, module| Mapping { start, end, bias, module };
    // As many as there were when the golden file was written.
    let mut losses = vec![0; 6];
    losses[LossReason::InTrampoline as usize] = 2;
    losses[LossReason::Unreadable as usize] = 1;
    Profile {
        run: RunInfo {
            command: vec![b"./figure1".to_vec(), b"--caf\xe9".to_vec(), Vec::new()],
            directory: b"/home/me".to_vec(),
            host: "node17".into(),
            cpu: "Example CPU at 3 GHz".into(),
            kernel: "Linux 6.18.0".into(),
            start_unix_ns: 1_763_650_000_000_000_000,
            duration_ns: 2_500_000_000,
            cpu_ns: 4_000_000_000,
            exit: Exit::Status(3),
            csprof_version: "0.1.0".into(),
            trampoline: true,
            warnings: vec!["task-clock was refused; cputime is used".into()],
        },
        further: Vec::new(),
        metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 },
        modules: vec![
            Module {
                path: string("/home/me/figure1"),
                build_id: (0xa0..0xb4).collect(),
                symbols: SymbolSource::Dwarf(string("/home/me/figure1")),
            },
            Module {
                path: string("/lib/x86_64-linux-gnu/libc.so.6"),
                build_id: vec![1, 2, 3],
                symbols: SymbolSource::Exports(string("/lib/x86_64-linux-gnu/libc.so.6")),
            },
            Module { path: string("[vdso]"), ..Module::default() },
            Module {
                path: string("/opt/vendor/libfast.so"),
                build_id: Vec::new(),
                symbols: SymbolSource::Stripped(string("/opt/vendor/libfast.so")),
            },
        ],
        processes: vec![
            Process {
                pid: 4242,
                parent_pid: 4241,
                rank: Some(0),
                command: vec![b"./figure1".to_vec()],
                origin: Origin::Exec,
                exit: Exit::Status(3),
                start_ns: 1_000_000,
                end_ns: 2_400_000_000,
                losses: vec![0, 1],
                messages: vec!["csprof: no perf events here".into()],
            },
            Process {
                pid: 4243,
                parent_pid: 4242,
                rank: None,
                command: Vec::new(),
                origin: Origin::Fork,
                exit: Exit::Signal(9),
                start_ns: 300_000_000,
                end_ns: 0,
                losses: Vec::new(),
                messages: Vec::new(),
            },
        ],
        threads: vec![
            Thread {
                process: ProcessId(0),
                tid: 4242,
                name: b"figure1".to_vec(),
                signals: 290,
                delivered: 303,
                recorded: 300,
                partial: 8,
                losses,
                returns: 71_000,
                lost_returns: 4,
                cpu_ns: 1_515_000_000,
                start_ns: 1_000_000,
                end_ns: 2_400_000_000,
            },
            Thread {
                process: ProcessId(0),
                tid: 4250,
                name: b"worker\xff".to_vec(),
                ..Thread::default()
            },
            Thread {
                process: ProcessId(1),
                tid: 4243,
                name: b"figure1".to_vec(),
                signals: 70_000,
                delivered: 70_000,
                recorded: 70_000,
                ..Thread::default()
            },
        ],
        epochs: vec![
            Epoch {
                process: ProcessId(0),
                number: 0,
                reason: EpochReason::Start,
                start_ns: 1_000_000,
                load_map: vec![
                    map(0x5555_5555_4000, 0x5555_5555_8000, 0x5555_5555_4000, exe),
                    map(0x7f00_0000_0000, 0x7f00_0020_0000, 0x7f00_0000_0000, libc),
                    map(0x7fff_0000_1000, 0x7fff_0000_2000, 0x7fff_0000_1000, vdso),
                ],
            },
            Epoch {
                process: ProcessId(0),
                number: 1,
                reason: EpochReason::AddressReuse,
                start_ns: 900_000_000,
                load_map: vec![
                    map(0x40_0000, 0x41_0000, u64::MAX - 0xfff, fast),
                    map(0x5555_5555_4000, 0x5555_5555_8000, 0x5555_5555_4000, exe),
                ],
            },
            Epoch { process: ProcessId(1), reason: EpochReason::Request, ..Epoch::default() },
        ],
        frames: vec![
            bare(FrameKind::Root, 0),
            frame(FrameKind::Call, libc, 0x2_724a),
            frame(FrameKind::Call, exe, 0x11f0),
            frame(FrameKind::Call, exe, 0x1180),
            frame(FrameKind::Call, exe, 0x1190),
            frame(FrameKind::Leaf, exe, 0x1234),
            bare(FrameKind::Partial, PartialReason::NoCfi as u64),
            frame(FrameKind::Interrupted, fast, 0x1_0000_0000),
            bare(FrameKind::Leaf, 0x7f12_3456_7890),
            frame(FrameKind::Leaf, vdso, 0x9d1),
        ],
        trees: vec![
            Tree { thread: ThreadId(0), epoch: EpochId(0), first_node: 0, node_count: 9 },
            Tree { thread: ThreadId(0), epoch: EpochId(1), first_node: 9, node_count: 4 },
            Tree { thread: ThreadId(2), epoch: EpochId(2), first_node: 13, node_count: 2 },
        ],
        nodes: nodes(&[
            (0, 0, 0, 0),        // root
            (0, 1, 0, 0),        //   __libc_start_main
            (1, 2, 0, 0),        //     main
            (2, 3, 0, 1),        //       a
            (3, 5, 140, 1000),   //    c
            (2, 4, 0, 1),        //       b
            (5, 5, 140, 70_000), //  c
            (0, 6, 0, 0),        //   partial
            (7, 8, 8, 0),        //     outside every module
            (9, 0, 0, 0),        // root
            (9, 1, 0, 0),        //   __libc_start_main
            (10, 7, 5, 0),       //    libfast.so, interrupted
            (11, 9, 7, 0),       //      vdso
            (13, 0, 0, 0),       // root
            (13, 5, 70_000, 0),  // c
        ]),
        functions: vec![
            function("__libc_start_main", libc, None, 0),
            function("main", exe, source, 30),
            function("a", exe, source, 10),
            function("b", exe, source, 20),
            function("c(unsigned long)", exe, source, 1),
            function("d<int, std::vector<int> >", exe, None, 0),
        ],
        sites: Sites {
            first: vec![0, 0, 1, 2, 3, 4, 6, 6, 6, 6, 6],
            function: [0, 1, 2, 3, 4, 5].map(FunctionId).to_vec(),
            file: vec![None, source, source, source, source, None],
            line: vec![0, 33, 12, 300, 70_000, 0],
        },
        strings: strings.map(Into::into).to_vec(),
        runs: Vec::new(),
        accounts: Vec::new(),
        structure: Structure::default(),
        files: Vec::new(),
        stages: Vec::new(),
        sources: Vec::new(),
        times: Vec::new(),
        phases: Vec::new(),
        summed: Vec::new(),
        spreads: Vec::new(),
        earlier: Vec::new(),
        job_sizes: Vec::new(),
    }
}

fn nodes(rows: &[(u32, u32, u64, u64)]) -> Nodes {
    let mut nodes = Nodes::default();
    for &(parent, frame, samples, edges) in rows {
        nodes.push(parent, FrameId(frame), samples, edges);
    }
    nodes
}
