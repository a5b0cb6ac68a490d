//! From the bytes of arenas to a profile.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::arena::{ArenaHeader, ExtentHeader, LogRecord};
use csprof_format::file_identity::FileIdentity;
use csprof_format::ids::ThreadId;
use csprof_format::launch::SampleSources;
use csprof_format::loss::LossReason;
use csprof_format::profile::{Origin, Profile, RunInfo, SampleTime};
use csprof_format::validate::validate;

use super::arena_bytes::{ArenaBytes, NodeRow, ThreadRow, call, epoch, leaf, load, root};
use super::arena_read::{Arena, NoArena, read};
use super::gather::{Run, gather};
use super::generated::NoFiles;
use super::salvage::last_sign_of_life;
use super::spawn::Naming;
use crate::surroundings::{cpu_time, skip};

fn arena(arena: &ArenaBytes) -> Arena {
    read_bytes(&arena.bytes).unwrap()
}

fn read_bytes(bytes: &[u8]) -> Result<Arena, NoArena> {
    read(&mut Cursor::new(bytes), bytes.len() as u64)
}

fn gathered(arenas: Vec<Arena>) -> Profile {
    let run = Run {
        info: RunInfo::default(),
        sources: SampleSources::DEFAULT,
        start_ns: 400,
        pid: Some(7),
        naming: Naming::default(),
        phases: Default::default(),
        boot: String::new(),
    };
    let profile = gather(&run, arenas, &mut NoFiles);
    validate(&profile).unwrap();
    check_account(&profile);
    profile
}

/// `delivered = recorded + Σ losses` for each thread, and `recorded` is what the trees hold.
fn check_account(profile: &Profile) {
    for (number, thread) in profile.threads.iter().enumerate() {
        let lost: u64 = thread.losses.iter().sum();
        assert_eq!(thread.delivered, thread.recorded + lost, "thread {number}");
        let in_trees: u64 = profile
            .trees
            .iter()
            .filter(|tree| tree.thread.index() == number)
            .flat_map(|tree| tree.first_node..tree.first_node + tree.node_count)
            .map(|node| profile.nodes.samples[node as usize])
            .sum();
        assert_eq!(thread.recorded, in_trees, "thread {number}");
    }
}

/// Trees as indented text: kind, module+offset, samples, edges.
fn trees(profile: &Profile) -> String {
    let mut text = String::new();
    for tree in &profile.trees {
        let thread = &profile.threads[tree.thread.index()];
        let epoch = &profile.epochs[tree.epoch.index()];
        writeln!(text, "thread {} epoch {}", thread.tid, epoch.number).unwrap();
        let mut depth = vec![0; tree.node_count as usize];
        for node in tree.first_node..tree.first_node + tree.node_count {
            let parent = profile.nodes.parent[node as usize];
            let own = (node - tree.first_node) as usize;
            depth[own] =
                if parent == node { 1 } else { depth[(parent - tree.first_node) as usize] + 1 };
            let frame = profile.frames[profile.nodes.frame[node as usize].index()];
            let module = frame.module.map_or("", |module| {
                &profile.strings[profile.modules[module.index()].path.index()]
            });
            writeln!(
                text,
                "{}{:?} {module}+{:#x} {} {}",
                "  ".repeat(depth[own]),
                frame.kind,
                frame.offset,
                profile.nodes.samples[node as usize],
                profile.nodes.edges[node as usize],
            )
            .unwrap();
        }
    }
    text
}

/// Program `xz` with a library; main calls the library twice, from two places.
fn small() -> ArenaBytes {
    ArenaBytes::new(7, 500, 9500)
        .log(&[
            LogRecord::Command(vec![b"xz".to_vec(), b"-9".to_vec()]),
            epoch(0),
            load(0, "/bin/xz", 0x1000, 0x2000),
            load(1, "/lib/liblzma.so", 0x7000, 0x8000),
            LogRecord::Message("task-clock was refused".into()),
        ])
        .thread(&ThreadRow {
            earlier: [0; 2],
            tid: 70,
            name: "xz",
            delivered: 10,
            recorded: 8,
            losses: &[2],
            partial: 0,
            further: Default::default(),
            nodes: &[
                (root(0), 0, 0, 0),      // 1
                (call(0x1500), 1, 0, 1), // 2
                (leaf(0x7020), 2, 3, 0), // 3
                (call(0x1400), 1, 0, 2), // 4
                (leaf(0x7010), 4, 4, 5), // 5
                (leaf(0x9000), 4, 1, 0), // 6: code outside every module
            ],
        })
}

#[test]
fn a_tree_is_in_pre_order_with_module_offsets() {
    let profile = gathered(vec![arena(&small())]);
    assert_eq!(
        trees(&profile),
        "\
thread 70 epoch 0
  Root +0x0 0 0
    Call /bin/xz+0x400 0 2
      Leaf +0x9000 1 0
      Leaf /lib/liblzma.so+0x10 4 5
    Call /bin/xz+0x500 0 1
      Leaf /lib/liblzma.so+0x20 3 0
"
    );
    let process = &profile.processes[0];
    assert_eq!(process.command, [b"xz".to_vec(), b"-9".to_vec()]);
    assert_eq!(process.messages, ["task-clock was refused"]);
    assert_eq!((process.start_ns, process.end_ns), (100, 9100));
    let thread = &profile.threads[0];
    assert_eq!(thread.name, b"xz");
    assert_eq!((thread.delivered, thread.recorded), (10, 8));
    assert_eq!(thread.losses[LossReason::InTrampoline as usize], 2);
    assert_eq!(profile.run.warnings, [""; 0]);
}

#[test]
fn a_return_address_belongs_to_the_module_of_the_call() {
    // 0x2000 is the first byte after xz: the call was its last instruction and does not return.
    let bytes = ArenaBytes::new(7, 500, 900)
        .log(&[epoch(0), load(0, "xz", 0x1000, 0x2000), load(1, "lzma", 0x2000, 0x3000)])
        .thread(&ThreadRow {
            delivered: 2,
            recorded: 2,
            nodes: &[(root(0), 0, 0, 0), (call(0x2000), 1, 1, 0), (leaf(0x2000), 1, 1, 0)],
            ..ThreadRow::default()
        });
    assert_eq!(
        trees(&gathered(vec![arena(&bytes)])),
        "\
thread 0 epoch 0
  Root +0x0 0 0
    Call xz+0x1000 1 0
    Leaf lzma+0x0 1 0
"
    );
}

#[test]
fn one_address_means_another_module_in_another_epoch() {
    let bytes = ArenaBytes::new(7, 500, 900)
        .log(&[
            epoch(0),
            load(0, "prog", 0x1000, 0x2000),
            load(1, "first.so", 0x5000, 0x6000),
            LogRecord::Unload { number: 1 },
            epoch(1),
            load(2, "second.so", 0x5000, 0x6000),
        ])
        .thread(&ThreadRow {
            delivered: 3,
            recorded: 3,
            nodes: &[
                (root(0), 0, 0, 0),
                (leaf(0x5100), 1, 1, 0),
                (root(1), 0, 0, 0),
                (leaf(0x5100), 3, 2, 0),
            ],
            ..ThreadRow::default()
        });
    let profile = gathered(vec![arena(&bytes)]);
    assert_eq!(
        trees(&profile),
        "\
thread 0 epoch 0
  Root +0x0 0 0
    Leaf first.so+0x100 1 0
thread 0 epoch 1
  Root +0x0 0 0
    Leaf second.so+0x100 2 0
"
    );
    let maps: Vec<Vec<&str>> = profile
        .epochs
        .iter()
        .map(|epoch| {
            let modules = epoch.load_map.iter().map(|mapping| mapping.module.index());
            modules.map(|at| &*profile.strings[profile.modules[at].path.index()]).collect()
        })
        .collect();
    assert_eq!(maps, [["prog", "first.so"], ["prog", "second.so"]]);
}

/// Nobody knows what was where in the kernel of another start of the machine, so all is one frame.
#[test]
fn places_in_the_kernel_without_names_are_one_frame() {
    let kernel = |place: u64| FrameKey::new(FrameKind::Kernel, 0xffff_ffff_8100_0000 + place);
    let bytes = ArenaBytes::new(7, 500, 900)
        .log(&[epoch(0), load(0, "prog", 0x1000, 0x2000)])
        .thread(&ThreadRow {
            delivered: 6,
            recorded: 6,
            nodes: &[
                (root(0), 0, 0, 0),
                (leaf(0x1500), 1, 1, 0),
                (kernel(0x10), 2, 2, 0),
                (kernel(0x20), 2, 3, 0),
            ],
            ..ThreadRow::default()
        });
    let profile = gathered(vec![arena(&bytes)]);
    assert_eq!(
        trees(&profile),
        "\
thread 0 epoch 0
  Root +0x0 0 0
    Leaf prog+0x500 1 0
      Leaf [kernel]+0x0 5 0
"
    );
    let warnings = profile.run.warnings.join("\n");
    assert!(warnings.contains("functions of the kernel's have no names: "), "{warnings}");
}

#[test]
fn an_epoch_of_a_phase_has_the_mappings_of_its_nodes() {
    let phase = |number, name: &str| LogRecord::Phase { number, name: name.into() };
    let bytes = ArenaBytes::new(7, 500, 9500)
        .log(&[
            epoch(0),
            load(0, "prog", 0x1000, 0x2000),
            load(1, "one.so", 0x7000, 0x8000),
            load(2, "two.so", 0x9000, 0xa000),
            phase(1, "solve"),
            phase(2, "write"),
        ])
        .thread(&ThreadRow {
            earlier: [0; 2],
            tid: 70,
            name: "prog",
            delivered: 3,
            recorded: 3,
            losses: &[],
            partial: 0,
            further: Default::default(),
            nodes: &[
                (FrameKey::root(0, 1), 0, 0, 0),
                (call(0x1500), 1, 0, 1),
                (leaf(0x9020), 2, 3, 0),
            ],
        });
    let profile = gathered(vec![arena(&bytes)]);
    let maps = profile.epochs.iter().map(|epoch| {
        let modules = epoch.load_map.iter().map(|mapping| mapping.module.index());
        let names = modules.map(|at| &*profile.strings[profile.modules[at].path.index()]);
        names.collect::<Vec<_>>().join(" ")
    });
    assert_eq!(maps.collect::<Vec<_>>(), ["prog one.so two.so", "prog two.so", "prog"]);
    assert!(trees(&profile).ends_with("Leaf two.so+0x20 3 0\n"), "{}", trees(&profile));
}

/// What is sampled in a phase that nothing lists, as where the log was full, is kept.
#[test]
fn a_phase_that_is_not_listed_has_its_samples() {
    let phase = LogRecord::Phase { number: 1, name: "solve".into() };
    let bytes = ArenaBytes::new(7, 500, 9500)
        .log(&[epoch(0), load(0, "prog", 0x1000, 0x2000), phase])
        .thread(&ThreadRow {
            delivered: 12,
            recorded: 12,
            nodes: &[
                (FrameKey::root(0, 1), 0, 0, 0),
                (leaf(0x1500), 1, 3, 0),
                (FrameKey::root(0, 2), 0, 0, 0),
                (leaf(0x1500), 3, 4, 0),
                (FrameKey::root(0, 7), 0, 0, 0),
                (leaf(0x1500), 5, 5, 0),
            ],
            ..ThreadRow::default()
        });
    let profile = gathered(vec![arena(&bytes)]);
    let phases: Vec<_> = profile
        .trees
        .iter()
        .map(|tree| {
            let nodes = tree.first_node as usize..(tree.first_node + tree.node_count) as usize;
            (profile.phase_of(tree.epoch), profile.nodes.samples[nodes].iter().sum::<u64>())
        })
        .collect();
    assert_eq!(phases, [(Some("solve"), 3), (Some("not listed"), 4), (Some("not listed"), 5)]);
    assert_eq!(profile.threads[0].losses.iter().sum::<u64>(), 0);
    let warnings = profile.run.warnings.join("\n");
    assert_eq!(warnings.matches("of a phase that nothing lists").count(), 1, "{warnings}");
}

#[test]
fn of_modules_at_one_address_the_later_is_believed() {
    let bytes = ArenaBytes::new(7, 500, 900)
        .log(&[
            epoch(0),
            load(0, "left", 0x1000, 0x2000),
            load(1, "under", 0x2000, 0x4000),
            load(2, "over", 0x3000, 0x5000),
        ])
        .thread(&ThreadRow {
            delivered: 3,
            recorded: 3,
            nodes: &[
                (root(0), 0, 0, 0),
                (leaf(0x1800), 1, 1, 0),
                (leaf(0x2800), 1, 1, 0),
                (leaf(0x3800), 1, 1, 0),
            ],
            ..ThreadRow::default()
        });
    let profile = gathered(vec![arena(&bytes)]);
    assert_eq!(
        trees(&profile),
        "\
thread 0 epoch 0
  Root +0x0 0 0
    Leaf +0x2800 1 0
    Leaf left+0x800 1 0
    Leaf over+0x800 1 0
"
    );
    assert_eq!(
        profile.run.warnings,
        [
            "process 7: epoch 0: under and over were noted at the same addresses; the later one is used"
        ]
    );
}

#[test]
fn an_epoch_that_the_log_has_lost_keeps_its_samples() {
    let bytes = ArenaBytes::new(7, 500, 900).thread(&ThreadRow {
        delivered: 1,
        recorded: 1,
        nodes: &[(root(3), 0, 0, 0), (leaf(0x5100), 1, 1, 0)],
        ..ThreadRow::default()
    });
    let profile = gathered(vec![arena(&bytes)]);
    assert_eq!(trees(&profile), "thread 0 epoch 3\n  Root +0x0 0 0\n    Leaf +0x5100 1 0\n");
    assert!(profile.run.warnings[0].starts_with("process 7: the log does not say when epoch 3"));
}

#[test]
fn processes_are_in_the_order_of_their_start() {
    let parent = ArenaBytes::new(7, 500, 0).log(&[LogRecord::Command(vec![b"sh".to_vec()])]);
    let child = ArenaBytes::new(8, 600, 0).forked();
    // The parent's process after it has called exec.
    let program = ArenaBytes::new(7, 700, 0).log(&[LogRecord::Command(vec![b"xz".to_vec()])]);
    let mut run = Run {
        info: RunInfo::default(),
        sources: SampleSources::DEFAULT,
        start_ns: 400,
        pid: Some(7),
        naming: Naming::default(),
        phases: Default::default(),
        boot: String::new(),
    };
    run.info.exit = csprof_format::profile::Exit::Status(3);
    let profile = gather(&run, vec![arena(&program), arena(&child), arena(&parent)], &mut NoFiles);
    let seen: Vec<_> = profile
        .processes
        .iter()
        .map(|process| (process.pid, process.origin, process.start_ns, process.exit))
        .collect();
    let unknown = csprof_format::profile::Exit::Unknown;
    assert_eq!(
        seen,
        [
            (7, Origin::Exec, 100, unknown),
            (8, Origin::Fork, 200, unknown),
            (7, Origin::Exec, 300, run.info.exit),
        ]
    );
}

/// A file of another user's, to root: it claims 4 TiB for nothing. By pages, that takes minutes.
#[test]
fn what_has_no_storage_is_not_looked_at() {
    const SIZE: u64 = 4 << 40;
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&small().bytes).unwrap();
    if let Err(refused) = file.set_len(SIZE) {
        return skip("files without storage", &format!("no sparse file of 4 TiB ({refused})"));
    }
    file.write_all_at(&[1; 4096], SIZE - 4096).unwrap();
    let start = cpu_time();
    let read = read(&mut file, 1 << 20).unwrap();
    let taken = cpu_time() - start;
    assert!(taken < Duration::from_secs(10), "{taken:?}");
    assert_eq!(trees(&gathered(vec![read])), trees(&gathered(vec![arena(&small())])));
}

#[test]
fn a_hole_between_extents_costs_nothing_else() {
    let bytes =
        ArenaBytes::new(7, 500, 0).hole().hole().log(&[epoch(0)]).hole().thread(&ThreadRow {
            delivered: 1,
            recorded: 1,
            nodes: &[(root(0), 0, 1, 0)],
            ..ThreadRow::default()
        });
    let arena = arena(&bytes);
    assert_eq!(arena.damage, [""; 0]);
    assert_eq!(trees(&gathered(vec![arena])), "thread 0 epoch 0\n  Root +0x0 1 0\n");
}

/// An exec in another thread, or a signal, may end a thread at any instruction.
#[test]
fn an_extent_that_was_being_taken_when_its_thread_was_killed_is_no_damage() {
    let thread = ThreadRow { nodes: &[(root(0), 0, 1, 0)], ..ThreadRow::default() };
    let mut bytes =
        ArenaBytes::new(7, 500, 0).log(&[epoch(0)]).thread(&thread).thread(&ThreadRow::default());
    let last = bytes.extents[2];
    let header = size_of::<ExtentHeader>();
    bytes.bytes[last..last + 4].fill(0);
    bytes.bytes[last + header..].fill(0);
    let arena = arena(&bytes);
    assert_eq!(arena.damage, [""; 0]);
    assert_eq!(arena.threads.len(), 1);
}

/// A chain of `depth` frames, each with one sample.
fn chain(depth: u32) -> Vec<NodeRow> {
    std::iter::once((root(0), 0, 1, 0))
        .chain((1..depth).map(|parent| (call(0x1000), parent, 1, 0)))
        .collect()
}

#[test]
fn a_very_deep_tree_is_gathered_without_recursion() {
    let depth = 100_000;
    let bytes = ArenaBytes::new(7, 500, 900).log(&[epoch(0)]).thread(&ThreadRow {
        delivered: u64::from(depth),
        recorded: u64::from(depth),
        nodes: &chain(depth),
        ..ThreadRow::default()
    });
    let profile = gathered(vec![arena(&bytes)]);
    assert_eq!(profile.nodes.len(), depth as usize);
    assert_eq!(profile.threads[0].recorded, u64::from(depth));
    let parents: Vec<u32> = std::iter::once(0).chain(0..depth - 1).collect();
    assert_eq!(profile.nodes.parent, parents);
}

#[test]
fn a_missing_segment_is_booked_as_loss() {
    let depth = 1000; // segments of 256 nodes
    let mut bytes = ArenaBytes::new(7, 500, 900).log(&[epoch(0)]).thread(&ThreadRow {
        tid: 70,
        delivered: depth,
        recorded: depth,
        nodes: &chain(depth as u32),
        ..ThreadRow::default()
    });
    let second_segment = bytes.extents[2];
    bytes.bytes[second_segment..second_segment + 4].fill(0xff);
    let arena = arena(&bytes);
    assert_eq!(
        arena.damage,
        [
            format!("no extent begins at byte {second_segment:#x}, where one should"),
            "256 of 1001 nodes of thread 70 are missing".into()
        ]
    );
    let profile = gathered(vec![arena]);
    let thread = &profile.threads[0];
    assert_eq!((thread.delivered, thread.recorded), (1000, 255));
    assert_eq!(thread.losses[LossReason::Unreadable as usize], 745);
    assert_eq!(
        profile.run.warnings.last().unwrap(),
        "process 7: 745 samples could not be placed and are counted as lost (unreadable)"
    );
}

#[test]
fn a_node_that_names_a_later_parent_is_left_out_with_all_below_it() {
    let bytes = ArenaBytes::new(7, 500, 900).log(&[epoch(0)]).thread(&ThreadRow {
        delivered: 7,
        recorded: 7,
        nodes: &[
            (root(0), 0, 1, 0),
            (call(0x10), 3, 2, 0), // its parent comes later
            (leaf(0x20), 2, 4, 0),
        ],
        ..ThreadRow::default()
    });
    let profile = gathered(vec![arena(&bytes)]);
    assert_eq!(trees(&profile), "thread 0 epoch 0\n  Root +0x0 1 0\n");
    assert_eq!(profile.threads[0].losses[LossReason::Unreadable as usize], 6);
}

#[test]
fn a_process_caught_in_the_middle_of_a_sample_adds_up() {
    // The handler counts a sample as delivered, then in a node, then as recorded.
    for (delivered, recorded, cut_short) in [(5, 4, 1), (4, 3, 0), (4, 4, 0)] {
        let bytes = ArenaBytes::new(7, 500, 0).log(&[epoch(0)]).thread(&ThreadRow {
            delivered,
            recorded,
            nodes: &[(root(0), 0, 4, 0)],
            ..ThreadRow::default()
        });
        let profile = gathered(vec![arena(&bytes)]);
        let thread = &profile.threads[0];
        assert_eq!((thread.delivered, thread.recorded), (delivered, 4));
        assert_eq!(thread.losses[LossReason::CutShort as usize], cut_short);
        assert_eq!(profile.run.warnings, [""; 0]);
    }
}

#[test]
fn processes_that_are_not_in_the_run_are_told_of() {
    let profile = gathered(vec![arena(
        &small()
            .left_out([1, 0, 2, 1, 3, 0, 0, 0, 0, 0])
            .left_out_name(3, "old")
            .left_out_name(4, "sh"),
    )]);
    assert_eq!(
        profile.processes[0].messages[1..],
        [
            "1 process made by fork, not in this profile: shared memory for it was refused (a \
             limit of files, file size or memory, or a full /dev/shm)",
            "2 processes started, not in this profile: csprof's files cannot be reached from \
             where it was (chroot, mounts of its own, landlock, or missing rights), unless /dev/shm \
             and csprof's folder in /var/tmp can be read there, too",
            "1 process (old) started, not in this profile, nor what it started: built for another \
             machine than x86-64",
            "3 processes (sh first) started, not in this profile: statically linked, so no loader \
             runs that could load the collector",
        ]
    );
}

#[test]
fn what_is_no_arena_is_told_apart() {
    let verdict = |bytes: &[u8]| match read_bytes(bytes) {
        Ok(_) => "an arena".into(),
        Err(NoArena::Empty) => "empty".into(),
        Err(NoArena::Foreign(why) | NoArena::Unreadable(why)) => why,
        Err(NoArena::Io(error)) => error.to_string(),
    };
    assert_eq!(verdict(&[]), "empty");
    assert_eq!(verdict(&[0; 4096]), "empty");
    assert_eq!(verdict(&[b'x'; 4096]), "it does not begin like an arena");
    let mut other = small().bytes;
    other[8] = 1;
    assert_eq!(verdict(&other), "it has arena version 1, and this csprof reads version 15");
}

#[test]
fn a_cut_arena_gives_what_is_left() {
    let bytes = small().bytes;
    let mut recorded = 0;
    for cut in size_of::<ArenaHeader>()..=bytes.len() {
        let profile = gathered(vec![read_bytes(&bytes[..cut]).unwrap()]);
        let now = profile.threads.iter().map(|thread| thread.recorded).sum();
        assert!(now >= recorded, "cut at {cut}: {now} samples, {recorded} in less");
        recorded = now;
    }
    assert_eq!(recorded, 8);
}

#[test]
fn a_damaged_arena_still_gives_a_valid_profile() {
    let ArenaBytes { bytes, extents, .. } = small();
    // The rest of each extent is room for nodes to come, where nobody looks.
    let used = extents.iter().flat_map(|&start| start..start + 32 + 368 + 7 * 40).chain(0..232);
    for at in used {
        for damage in [0x00, 0x01, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = if damage == 0x01 { damaged[at] ^ 1 } else { damage };
            if let Ok(arena) = read_bytes(&damaged) {
                gathered(vec![arena]);
            }
        }
    }
}

#[test]
fn a_claim_of_many_nodes_takes_no_more_memory_than_the_file_has() {
    // A sparse file can claim any length; only the bytes with storage behind them are believed.
    let bytes = ArenaBytes::new(7, 500, 900).log(&[epoch(0)]).thread(&ThreadRow {
        delivered: 1000,
        recorded: 1000,
        nodes: &chain(1000),
        ..ThreadRow::default()
    });
    let arena = read(&mut Cursor::new(&bytes.bytes), 4096).unwrap();
    assert!(arena.threads[0].nodes.len() <= 4096 / 40, "{}", arena.threads[0].nodes.len());
}

/// What was killed says no end: its CPU time and its samples say how long it lived at least.
#[test]
fn a_killed_thread_lived_as_long_as_it_was_sampled() {
    let mut arena = arena(&small());
    let record = &mut arena.threads[0].record;
    (record.start_ns, record.end_ns) = (10_000, 0);
    (record.cpu_before_ns, record.cpu_ns) = (5_000_000, 690_000_000);
    assert_eq!(last_sign_of_life(&arena), 10_000 + 685_000_000);
    // Ten samples of a thread that waited.
    arena.header.sources[0].period = 100_000_000;
    assert_eq!(last_sign_of_life(&arena), 10_000 + 1_000_000_000);
}

/// Of several threads, the last of which was killed: the first sample of each may stand for less
/// than a period, and none of them ran in between.
#[test]
fn a_killed_thread_that_others_went_before_lived_as_long_as_all() {
    let mut arena = arena(&small());
    let record = &mut arena.threads[0].record;
    (record.start_ns, record.end_ns) = (10_000, 0);
    (record.cpu_before_ns, record.cpu_ns) = (5_000_000, 690_000_000);
    (record.earlier, record.apart_ns) = (9, 2_000_000);
    arena.header.sources[0].period = 100_000_000;
    assert_eq!(last_sign_of_life(&arena), 10_000 + 685_000_000 + 2_000_000);
    arena.threads[0].record.earlier = 1;
    assert_eq!(last_sign_of_life(&arena), 10_000 + 900_000_000 + 2_000_000);
}

#[test]
fn threads_that_went_on_in_the_record_of_another_are_counted() {
    let several = ThreadRow { earlier: [99, 3000], tid: 71, ..ThreadRow::default() };
    let profile =
        gathered(vec![arena(&small().thread(&several)), arena(&small().thread(&several))]);
    let rows: Vec<_> =
        profile.earlier.iter().map(|row| (row.thread.0, row.count, row.apart_ns)).collect();
    assert_eq!(rows, [(1, 99, 3000), (3, 99, 3000)]);
    assert_eq!(profile.thread_count(), 202);
    assert_eq!(profile.earlier_threads(ThreadId(3)), 99);
    assert_eq!(profile.earlier_threads(ThreadId(2)), 0);
    validate(&profile).unwrap();
}

/// A library without a build id that was replaced and loaded again, at its old place.
#[test]
fn two_files_of_one_path_are_two_modules() {
    let library = |number, inode| {
        let LogRecord::Load(mut load) = load(number, "/lib/plugin.so", 0x7000, 0x8000) else {
            unreachable!()
        };
        load.build_id.clear();
        load.file = Some(FileIdentity { inode, size: 9, ..FileIdentity::default() });
        LogRecord::Load(load)
    };
    let log = [epoch(0), library(0, 1), LogRecord::Unload { number: 0 }, epoch(1), library(1, 2)];
    let thread = ThreadRow {
        earlier: [0; 2],
        tid: 70,
        name: "xz",
        delivered: 5,
        recorded: 5,
        losses: &[],
        partial: 0,
        further: Default::default(),
        nodes: &[
            (root(0), 0, 0, 0),
            (leaf(0x7020), 1, 3, 0),
            (root(1), 0, 0, 0),
            (leaf(0x7020), 3, 2, 0),
        ],
    };
    let profile = gathered(vec![arena(&ArenaBytes::new(7, 500, 9500).log(&log).thread(&thread))]);
    let files: Vec<_> = profile.files.iter().map(|row| (row.module.0, row.file.inode)).collect();
    assert_eq!(files, [(0, 1), (1, 2)]);
    let modules: Vec<_> = profile.frames.iter().filter_map(|frame| frame.module).collect();
    assert_eq!(modules.len(), 2, "a frame is in one of them");
}

/// When samples were taken is known of the nodes of the profile, in order; and of no sample that a
/// node does not have, whatever the arena says.
#[test]
fn times_are_those_of_samples() {
    let times = |profile: &Profile| {
        let row = |row: &SampleTime| {
            let frame = profile.frames[profile.nodes.frame[row.node as usize].index()];
            (row.time_us, frame.offset, row.samples)
        };
        profile.times.iter().map(row).collect::<Vec<_>>()
    };
    let none = gathered(vec![arena(&small())]);
    assert_eq!((times(&none), none.run.warnings), (Vec::new(), Vec::new()));
    // The run began at 400. The second extent comes first in the file.
    let later = [(9_400, 3, 1), (9_401, 5, 1), (7_400, 6, 1)];
    let bytes =
        small().times(0, 1, &later).times(0, 0, &[(1_400, 3, 1), (5_400, 5, 2), (5_400, 3, 1)]);
    let whole = gathered(vec![arena(&bytes)]);
    let expected =
        [(1, 0x20, 1), (5, 0x10, 2), (5, 0x20, 1), (7, 0x9000, 1), (9, 0x10, 1), (9, 0x20, 1)];
    assert_eq!(times(&whole), expected);
    assert!(whole.run.warnings[0].starts_with("1 of 8 samples have no time"));
    // More than there are, of a node without samples, and of none.
    let bytes = small().times(0, 0, &[(1_400, 3, 9), (2_400, 3, 1), (2_400, 2, 1), (2_400, 77, 1)]);
    assert_eq!(times(&gathered(vec![arena(&bytes)])), [(1, 0x20, 3)]);
    // Before the run and before its process, which are none, and twice in one microsecond.
    let bytes =
        small().times(0, 0, &[(0, 3, 1), (3, 3, 1), (499, 3, 1), (1_500, 5, 1), (1_600, 5, 2)]);
    let foreign = gathered(vec![arena(&bytes)]);
    assert_eq!(times(&foreign), [(1, 0x10, 3)]);
    let warning = &foreign.run.warnings[0];
    assert!(warning.starts_with("5 of 8 samples have no time: 3 came by a clock"), "{warning}");
    assert!(warning.contains("; for 2 there was no room"), "{warning}");
}
