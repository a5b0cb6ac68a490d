//! Every invariant and every kind of damage, with the message that people get.

use csprof_format::address::FrameKind;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile::{
    Frame, Function, MAX_STAGE, MAX_STAGES, MAX_TAIL_CALLS, Profile, Structure, SymbolSource,
};
use csprof_format::validate::validate;
use csprof_format::{read, salvage, write};

use crate::surgery::Parts;
use crate::{bytes, sample};

#[test]
fn the_sample_is_valid() {
    assert_eq!(validate(&sample::profile()), Ok(()));
}

/// A change to the sample, and what is said about it.
type Case = (fn(&mut Profile), &'static str);

#[test]
fn each_broken_invariant_is_named() {
    let cases: &[Case] = &[
        (|p| p.metric.period = 0, "metric 0 has period 0"),
        // Names.
        (|p| p.modules[2].path = StringId(12), "module 2 names string 12, but there are only 12"),
        (
            |p| p.modules[2].symbols = SymbolSource::Unreadable(StringId(99)),
            "module 2 names string 99, but there are only 12",
        ),
        (|p| p.threads[1].process = ProcessId(2), "thread 1 names process 2, but there are only 2"),
        (|p| p.epochs[2].process = ProcessId(7), "epoch 2 names process 7, but there are only 2"),
        (
            |p| p.epochs[1].load_map[0].module = ModuleId(4),
            "epoch 1 names module 4, but there are only 4",
        ),
        (
            |p| p.frames[1].module = Some(ModuleId(4)),
            "frame 1 names module 4, but there are only 4",
        ),
        (
            |p| p.functions[3].name = StringId(u32::MAX),
            "function 3 names string 4294967295, but there are only 12",
        ),
        (
            |p| p.functions[3].module = ModuleId(9),
            "function 3 names module 9, but there are only 4",
        ),
        (
            |p| p.functions[3].file = Some(StringId(12)),
            "function 3 names string 12, but there are only 12",
        ),
        (|p| p.sites.function[5] = FunctionId(6), "frame 5 names function 6, but there are only 6"),
        (
            |p| p.sites.file[0] = Some(StringId(12)),
            "frame 1 names string 12, but there are only 12",
        ),
        (|p| p.trees[2].thread = ThreadId(3), "tree 2 names thread 3, but there are only 3"),
        (|p| p.trees[2].epoch = EpochId(3), "tree 2 names epoch 3, but there are only 3"),
        (|p| p.nodes.frame[8] = FrameId(10), "node 8 names frame 10, but there are only 10"),
        // Order.
        (|p| p.threads.swap(1, 2), "thread 2 comes after one that belongs behind it"),
        (|p| p.epochs.swap(1, 2), "epoch 2 comes after one that belongs behind it"),
        (|p| p.epochs[1].number = 0, "epoch 1 comes after one that belongs behind it"),
        (|p| p.trees.swap(0, 1), "tree 0 begins at node 9, but the tree before it ends at 0"),
        // Load maps.
        (
            |p| p.epochs[0].load_map[1].end = p.epochs[0].load_map[1].start,
            "epoch 0 has an empty mapping, number 1",
        ),
        (
            |p| p.epochs[0].load_map[1].start = 0x5555_5555_7fff,
            "epoch 0 has mapping 1 begin before the one before it ends",
        ),
        // Samples.
        (|p| p.threads[0].losses[5] += 1, "thread 0 got 303 samples, but recorded 300 and lost 4"),
        (
            |p| p.threads[0].partial = 301,
            "thread 0 recorded 300 samples, but 301 with a partial path",
        ),
        (|p| p.nodes.samples[8] -= 1, "thread 0 recorded 300 samples, but its nodes hold 299"),
        (
            |p| p.nodes.samples[14] = u64::MAX,
            "thread 2 recorded 70000 samples, but its nodes hold 18446744073709551615",
        ),
        // Frames and sites.
        (|p| p.frames[0].module = Some(ModuleId(0)), "frame 0 is a root, but lies in a module"),
        (|p| p.frames[6].module = Some(ModuleId(0)), "frame 6 is a root, but lies in a module"),
        (|p| p.sites.first.truncate(3), "the column \"first\" of the sites has 3 entries, not 11"),
        (|p| p.sites.line.truncate(3), "the column \"line\" of the sites has 3 entries, not 6"),
        (|p| p.sites.file.clear(), "the column \"file\" of the sites has 0 entries, not 6"),
        (|p| p.sites.first[0] = 1, "frame 0 has rows that do not continue those before it"),
        (|p| p.sites.first[4] = 1, "frame 4 has rows that do not continue those before it"),
        (|p| p.sites.first[10] = 7, "frame 10 has rows that do not continue those before it"),
        (|p| p.sites.first.clear(), "frame 0 has rows that do not continue those before it"),
        // Trees.
        (|p| p.trees[1].node_count = 0, "tree 1 has no nodes"),
        (
            |p| p.trees[1].node_count = 5,
            "tree 2 begins at node 13, but the tree before it ends at 14",
        ),
        (|p| p.trees[2].node_count = 3, "the trees cover 16 nodes, but there are 15"),
        (
            |p| p.trees[2].epoch = EpochId(1),
            "tree 2 joins a thread and an epoch of different processes",
        ),
        // Nodes.
        (
            |p| p.nodes.samples.truncate(9),
            "the column \"samples\" of the nodes has 9 entries, not 15",
        ),
        (|p| p.nodes.edges.push(0), "the column \"edges\" of the nodes has 16 entries, not 15"),
        (|p| p.nodes.frame.clear(), "the column \"frame\" of the nodes has 0 entries, not 15"),
        (|p| p.nodes.parent[9] = 0, "node 9 is the root of a tree, but names parent 0"),
        (|p| p.nodes.frame[9] = FrameId(1), "node 9 is the root of a tree, but its frame is not"),
        (|p| p.nodes.frame[8] = FrameId(0), "node 8 has the frame of a root, but is inside a tree"),
        (|p| p.nodes.parent[4] = 6, "node 4 names parent 6, which comes later"),
        (|p| p.nodes.parent[4] = 4, "node 4 is its own parent, but not the root of a tree"),
        (
            |p| p.nodes.parent[6] = 4,
            "node 6 names parent 4, which is not on the path to the node before it",
        ),
        (
            |p| p.nodes.parent[10] = 8,
            "node 10 names parent 8, which is not on the path to the node before it",
        ),
    ];
    for (change, message) in cases {
        let mut profile = sample::profile();
        change(&mut profile);
        let violation = validate(&profile).expect_err(message);
        assert_eq!(violation.to_string(), *message);
    }
}

#[test]
fn each_broken_invariant_of_several_metrics_is_named() {
    const OF_THREAD: &str = "thread 0 has samples that its metrics do not add up to";
    let of_node = |node: u32| {
        format!("node {node} has samples of further metrics that are not among all its samples")
    };
    type Case = (fn(&mut Profile), String);
    let cases: &[Case] = &[
        (|p| p.further[0].metric.period = 0, "metric 1 has period 0".into()),
        (
            |p| p.further[0].metric.source = "cputime".into(),
            "metric 1 has the source of a metric before it".into(),
        ),
        (
            |p| {
                for n in 0..15 {
                    p.further.push(p.further[0].clone());
                    p.further[n + 1].metric.source = n.to_string();
                }
            },
            "there are too many metrics for their ids".into(),
        ),
        (
            |p| p.further[0].threads.truncate(2),
            "the column \"shares\" of the threads has 2 entries, not 3".into(),
        ),
        // More recorded than its nodes have, or less.
        (|p| p.further[0].threads[0].recorded += 1, OF_THREAD.into()),
        (|p| p.further[0].samples[1].1 -= 1, OF_THREAD.into()),
        // Less delivered than recorded, of it and of the first metric.
        (|p| p.further[0].threads[0].delivered = 47, OF_THREAD.into()),
        (|p| p.further[0].threads[0].delivered = 52, OF_THREAD.into()),
        (|p| p.further[0].threads[1].signals = 1, OF_THREAD.replace('0', "1")),
        // More partial than recorded, and than all.
        (|p| p.further[0].threads[0].partial = 49, OF_THREAD.into()),
        (|p| p.further[0].threads[0].partial = 9, OF_THREAD.into()),
        (|p| p.further[0].samples[0].1 = 141, of_node(4)),
        (|p| p.further[0].samples[0].0 = 5, of_node(5)),
        (|p| p.further[0].samples.push((15, 1)), of_node(15)),
        (|p| p.further[0].samples.push((14, 1)), of_node(14)),
        (|p| p.further[0].samples.insert(0, (3, 0)), of_node(3)),
        (|p| p.further[0].samples.swap(0, 1), of_node(4)),
        // Two metrics together have more than all.
        (
            |p| {
                p.further.push(p.further[0].clone());
                p.further[1].metric.source = "task-clock".into();
                p.further[1].samples = vec![(4, 101)];
            },
            of_node(4),
        ),
    ];
    assert_eq!(validate(&sample::of_two_metrics()), Ok(()));
    for (change, message) in cases {
        let mut profile = sample::of_two_metrics();
        change(&mut profile);
        let violation = validate(&profile).expect_err(message);
        assert_eq!(&violation.to_string(), message);
    }
}

#[test]
fn each_broken_invariant_of_loops_and_tail_calls_is_named() {
    let cases: &[Case] = &[
        (
            |p| p.structure.loops[1].module = ModuleId(4),
            "loop 1 names module 4, but there are only 4",
        ),
        (
            |p| p.structure.loops[0].file = Some(StringId(12)),
            "loop 0 names string 12, but there are only 12",
        ),
        (
            |p| p.structure.in_loops[2].frame = FrameId(10),
            "frame in a loop 2 names frame 10, but there are only 10",
        ),
        (
            |p| p.structure.in_loops[1].number = 2,
            "frame in a loop 1 names loop 2, but there are only 2",
        ),
        (
            |p| p.structure.in_loops[2].row = 2,
            "frame in a loop 2 names row 2, but there are only 2",
        ),
        (
            |p| p.structure.in_loops.swap(0, 1),
            "frame in a loop 1 comes after one that belongs behind it",
        ),
        (
            |p| p.structure.in_loops.swap(1, 2),
            "frame in a loop 2 comes after one that belongs behind it",
        ),
        (
            |p| p.structure.tail_calls[0].callee = FrameId(10),
            "tail call 0 names frame 10, but there are only 10",
        ),
        (
            |p| p.structure.tail_calls[0].via[1] = FunctionId(6),
            "tail call 0 names function 6, but there are only 6",
        ),
        (|p| p.structure.tail_calls[0].via.clear(), "tail call 0 names 0 functions, not 1 to 15"),
        (
            |p| p.structure.tail_calls[0].via = vec![FunctionId(1); MAX_TAIL_CALLS],
            "tail call 0 names 16 functions, not 1 to 15",
        ),
        (
            |p| p.structure.tail_calls.push(p.structure.tail_calls[0].clone()),
            "tail call 1 comes after one that belongs behind it",
        ),
    ];
    assert_eq!(validate(&sample::of_loops()), Ok(()));
    for (change, message) in cases {
        let mut profile = sample::of_loops();
        change(&mut profile);
        let violation = validate(&profile).expect_err(message);
        assert_eq!(violation.to_string(), *message);
    }
}

#[test]
fn each_broken_invariant_of_files_is_named() {
    let cases: &[Case] = &[
        (
            |p| p.files[2].module = ModuleId(4),
            "file of a module 2 names module 4, but there are only 4",
        ),
        (
            |p| p.files[0].module = ModuleId(0),
            "file of a module 0 is of a module that has a build id",
        ),
        (|p| p.files.swap(0, 1), "file of a module 1 comes after one that belongs behind it"),
        (|p| p.files[1] = p.files[0], "file of a module 1 comes after one that belongs behind it"),
    ];
    assert_eq!(validate(&sample::of_files()), Ok(()));
    for (change, message) in cases {
        let mut profile = sample::of_files();
        change(&mut profile);
        let violation = validate(&profile).expect_err(message);
        assert_eq!(violation.to_string(), *message);
    }
}

/// A file cannot make its reader apply stages without end.
#[test]
fn stages_are_few_and_short() {
    let cases: &[Case] = &[
        (
            |p| p.stages[1] = "x".repeat(MAX_STAGE + 1),
            "stage 1 has more than 512 bytes, or is beyond the 4 there may be",
        ),
        (
            |p| p.stages.resize(MAX_STAGES + 1, "hide x".to_owned()),
            "stage 4 has more than 512 bytes, or is beyond the 4 there may be",
        ),
    ];
    let mut most = sample::of_stages();
    most.stages.resize(MAX_STAGES, "x".repeat(MAX_STAGE));
    assert_eq!(validate(&most), Ok(()));
    for (change, message) in cases {
        let mut profile = sample::of_stages();
        change(&mut profile);
        let violation = validate(&profile).expect_err(message);
        assert_eq!(violation.to_string(), *message);
    }
}

/// A reader that does not know how a later version writes functions knows no tail calls either.
#[test]
fn what_refers_to_skipped_blocks_is_skipped() {
    let mut parts = Parts::of(&bytes(&sample::of_loops()));
    parts.block(9).header[0x06] = 2;
    parts.block(10).header[0x06] = 2;
    let read = read::read(&parts.join()).expect("symbols can be skipped");
    assert!(read.functions.is_empty());
    assert_eq!(read.structure, Structure::default());
    let warning = read.run.warnings.last().expect("it is said");
    assert!(warning.contains("passed over, and its loops and tail calls"), "{warning}");
}

#[test]
fn an_invalid_profile_is_not_written() {
    let mut profile = sample::profile();
    profile.frames[0].kind = FrameKind::Leaf;
    let mut out = Vec::new();
    let error = write::write(&profile, &mut out).expect_err("its roots are no roots");
    assert_eq!(
        error.to_string(),
        "the profile was not saved, because it contradicts itself: node 0 is the root of a tree, \
         but its frame is not; this is a fault of csprof, please report it"
    );
    assert!(out.is_empty());
}

#[track_caller]
fn refused(file: &[u8], message: &str) {
    let error = read::read(file).expect_err(message);
    assert_eq!(error.to_string(), message);
}

#[test]
fn what_is_no_profile_is_told_apart() {
    refused(b"", "the file is empty; its recording was not finished");
    refused(b"main;a;c 140\nmain;b;c 140\n", "this is a text file, not a profile");
    refused("größe\n".repeat(200).as_bytes(), "this is a text file, not a profile");
    refused(b"PERFILE2h\0\0\0", "this is a perf.data file, not a profile of csprof");
    refused(
        b"\x1f\x8b\x08\0\0\0",
        "this is a gzip file (pprof writes such), not a profile of csprof; if a profile is \
         inside, unpack it with gunzip",
    );
    refused(
        b"\x7fELF\x02\x01\x01\0",
        "this is a program or library, not a profile; profile it with `csprof record`",
    );
    refused(
        &csprof_format::arena::ARENA_MAGIC,
        "this is the live data of a running or abandoned recording, not a saved profile",
    );
    refused(
        b"\x89CSPP\n\x1a\x01\0\0\0",
        "this profile was transferred as text, which changed its bytes; copy it as binary",
    );
    refused(b"HPCRUN-profile____", "this is a file of HPCToolkit, not a profile of csprof");
    refused(b"\0\x01\x02\x03", "this is not a profile of csprof");
}

#[test]
fn a_later_major_version_is_named_and_a_later_minor_version_is_read() {
    let mut parts = Parts::of(&bytes(&sample::profile()));
    parts.header[0x0a] = 9;
    assert_eq!(read::read(&parts.join()).expect("minor 9"), sample::profile());
    let mut parts = Parts::of(&bytes(&sample::profile()));
    parts.header[0x08] = 2;
    refused(
        &parts.join(),
        "this profile has format version 2.0, and this csprof reads version 1.x; open it with \
         the csprof that recorded it, or a later one",
    );
}

#[test]
fn unknown_blocks_are_skipped_unless_they_are_critical() {
    let add = |flags: u8| {
        let mut parts = Parts::of(&bytes(&sample::profile()));
        let mut future = parts.blocks[4].clone();
        future.header[0x04..0x0b].copy_from_slice(&[200, 0, 3, 0, 77, 88, flags]);
        parts.blocks.insert(5, future);
        parts.renumber();
        parts.join()
    };
    assert_eq!(read::read(&add(0)).expect("it can be skipped"), sample::profile());
    let error = read::read(&add(1)).expect_err("it is critical").to_string();
    assert_eq!(
        error.split_once(": ").map(|(_, cause)| cause),
        Some(
            "kind 200, version 3 is not known to this csprof, and the profile means nothing \
             without it; open it with a later csprof"
        )
    );
}

#[test]
fn the_block_of_a_fault_is_found_behind_a_skipped_one_that_claims_any_place() {
    let mut parts = Parts::of(&bytes(&sample::profile()));
    let mut future = parts.blocks[4].clone();
    future.header[0x04..0x0b].copy_from_slice(&[200, 0, 3, 0, 77, 88, 0]);
    future.header[0x10..0x18].fill(0xff);
    parts.blocks.insert(5, future);
    parts.renumber();
    parts.block(11).set_payload(&[3, 0, 0, 3, 3, 0, 1, 2, 3, 9, 4, 2]);
    let error = read::read(&parts.join()).expect_err("there is no such thread").to_string();
    let (block, cause) = error.split_once(" at byte ").expect("the block is named");
    assert_eq!(block, "block 11 (trees)");
    assert!(cause.contains(": tree 2 names thread 3, but there are only 3"), "{cause}");
}

#[test]
fn symbols_of_a_later_version_are_skipped() {
    let mut parts = Parts::of(&bytes(&sample::profile()));
    parts.block(9).header[0x06] = 2;
    parts.block(10).header[0x06] = 2;
    let mut bare = sample::profile();
    bare.functions.clear();
    bare.sites = Default::default();
    assert_eq!(read::read(&parts.join()).expect("names are not critical"), bare);
}

#[test]
fn a_cut_file_says_where_and_how_much_was_readable() {
    let whole = bytes(&sample::profile());
    refused(&whole[..3], "the file is cut off, bytes missing: 61 or more");
    refused(&whole[..63], "the file is cut off, bytes missing: 1 or more");
    refused(&whole[..64], "block 0 at byte 0x40: the file is cut off, bytes missing: 48 or more");
    refused(
        &whole[..whole.len() - 1],
        &format!(
            "block 12 at byte {:#x}: the file is cut off, bytes missing: 1 or more; 12 \
             of 13 blocks were readable, use --salvage to open them",
            whole.len() - 48 - 7
        ),
    );
}

/// A change to the parts of the sample, and what is said about it, without the block's place.
type Operation = (fn(&mut Parts), &'static str);

#[test]
fn each_way_in_which_blocks_do_not_fit_is_named() {
    const STRINGS: u16 = 3;
    const SITES: u16 = 10;
    const TREES: u16 = 11;
    const NODES: u16 = 12;
    let cases: &[Operation] = &[
        (|parts| parts.blocks.swap(3, 4), "the header says block 4: blocks were lost or repeated"),
        (
            |parts| {
                parts.blocks.swap(3, 4);
                parts.renumber();
            },
            "it comes after a block of a later kind",
        ),
        (
            |parts| {
                parts.blocks.remove(0);
                parts.renumber();
            },
            "the profile has no run block",
        ),
        (
            |parts| {
                parts.blocks.remove(1);
                parts.renumber();
            },
            "the profile has no metrics block",
        ),
        (
            |parts| {
                parts.blocks.insert(1, parts.blocks[0].clone());
                parts.renumber();
            },
            "it comes after a block of a later kind",
        ),
        (
            |parts| parts.block(STRINGS).header[0x10] = 3,
            "its elements begin at 3, but 0 came before it",
        ),
        (
            |parts| parts.block(STRINGS).header[0x18] = 13,
            "it holds 12 elements, but its header says 13",
        ),
        (|parts| parts.blocks[2].header[0x24] ^= 1, "it belongs to the profile of another run"),
        (|parts| parts.header[0x20] ^= 1, "run and file header contradict each other"),
        (
            |parts| parts.block(TREES).header[0x08] = 2,
            "codec 2, compression 0, flags 0x1 are not known to this csprof; open it with a later \
             csprof",
        ),
        (
            |parts| parts.block(TREES).header[0x1f] = 1,
            "its contents cannot have the length 16777228",
        ),
        (|parts| parts.block(STRINGS).header[0x1c] ^= 1, "its contents cannot be decompressed"),
        (|parts| parts.block(TREES).header[0x1c] += 1, "its contents cannot have the length 13"),
        // Trees are thread, epoch and node count in columns of three.
        (
            |parts| parts.block(TREES).set_payload(&[3, 0, 0, 2, 3, 0, 1, 2, 3, 9, 4]),
            "its values need more bytes than it has",
        ),
        (
            |parts| parts.block(TREES).set_payload(&[3, 0, 0, 2, 3, 0, 1, 2, 3, 9, 4, 2, 0]),
            "bytes left after its values: 1",
        ),
        (
            |parts| parts.block(TREES).set_payload(&[3, 0, 0, 2, 3, 0, 1, 2, 3, 9, 4, 251, 2, 0]),
            "an integer has more bytes than it needs",
        ),
        (
            |parts| parts.block(TREES).set_payload(&[3, 0, 0, 2, 3, 0, 1, 2, 3, 9, 4, 254, 2, 0]),
            "a value in it has an unknown form",
        ),
        (
            |parts| parts.block(TREES).set_payload(&[3, 0, 0, 2, 3, 0, 1, 2, 2, 9, 6]),
            "the column \"nodes\" is not as long as the others",
        ),
        (
            |parts| parts.block(TREES).set_payload(&[253, 0, 0, 0, 0, 16, 0, 0, 0]),
            "its values need more bytes than it has",
        ),
        (
            |parts| parts.block(TREES).set_payload(&[253, 0, 0, 0, 0, 0, 0, 0, 64]),
            "its values need more bytes than it has",
        ),
        (
            |parts| {
                let mut payload = parts.block(STRINGS).decoded();
                // The first byte of "ï" in the last string.
                *payload.iter_mut().rfind(|byte| **byte == 0xc3).expect("there are umlauts") = b'?';
                parts.block(STRINGS).set_payload(&payload);
            },
            "text in it is not UTF-8",
        ),
        (
            |parts| {
                let mut payload = parts.block(STRINGS).decoded();
                payload[12] -= 1;
                parts.block(STRINGS).set_payload(&payload);
            },
            "the lengths of its strings do not divide its text",
        ),
        (
            |parts| {
                let mut payload = parts.block(SITES).decoded();
                payload[2] += 1;
                parts.block(SITES).set_payload(&payload);
            },
            "the column \"rows\" is not as long as the others",
        ),
        (
            |parts| {
                let mut payload = parts.block(NODES).decoded();
                payload[5] = 40;
                parts.block(NODES).set_payload(&payload);
            },
            "node 4 ascends beyond the root of its tree",
        ),
        (
            |parts| {
                let mut payload = parts.block(NODES).decoded();
                payload[10] = 1;
                parts.block(NODES).set_payload(&payload);
            },
            "node 9 ascends beyond the root of its tree",
        ),
        (
            |parts| {
                let mut payload = parts.block(NODES).decoded();
                // 16 bytes of ascents, 16 of frames, the number of gaps, the first gap.
                payload[33] = 40;
                parts.block(NODES).set_payload(&payload);
            },
            "the column \"samples\" has zeros, or values outside the block",
        ),
        (
            |parts| {
                let mut end = parts.blocks.pop().expect("the end");
                end.payload[1] += 1;
                parts.blocks.push(end);
            },
            "the end block counts other contents than there are",
        ),
    ];
    for (operation, message) in cases {
        let mut parts = Parts::of(&bytes(&sample::profile()));
        operation(&mut parts);
        let error = read::read(&parts.join()).expect_err(message).to_string();
        assert!(error.contains(message), "expected {message:?}\n     got {error:?}");
    }
}

#[test]
fn blocks_go_with_the_metrics() {
    const METRICS: u16 = 2;
    const THREADS: u16 = 6;
    const NODES: u16 = 12;
    let of = |change: fn(&mut Parts, Parts), message: &str| {
        let mut parts = Parts::of(&bytes(&sample::of_two_metrics()));
        change(&mut parts, Parts::of(&bytes(&sample::profile())));
        let error = read::read(&parts.join()).expect_err(message).to_string();
        assert!(error.contains(message), "expected {message:?}\n     got {error:?}");
    };
    let other_version = "version 1 does not go with the metrics of the profile";
    of(|parts, plain| *parts.block(THREADS) = plain.block_of(THREADS), other_version);
    of(|parts, plain| *parts.block(NODES) = plain.block_of(NODES), other_version);
    let other_version = "version 2 does not go with the metrics of the profile";
    of(|parts, plain| *parts.block(METRICS) = plain.block_of(METRICS), other_version);
    of(
        |parts, _| {
            let metrics = parts.block(METRICS);
            metrics.header[0x18] = 1;
            let mut payload = metrics.decoded();
            payload[0] = 1;
            payload.truncate(1 + 8 + 3 + 5);
            metrics.set_payload(&payload);
        },
        other_version,
    );
    of(
        |parts, _| {
            // The last thread has no share.
            let threads = parts.block(THREADS);
            let mut payload = threads.decoded();
            let end = payload.len() - 11;
            assert_eq!(payload[end], 1, "one share: three numbers of three bytes, and 0");
            payload[end] = 0;
            payload.truncate(end + 1);
            threads.set_payload(&payload);
        },
        "the column \"shares\" is not as long as the others",
    );
    of(
        |parts, _| {
            // The gap before the last of four samples: 2, so that it is of node 14.
            let nodes = parts.block(NODES);
            let mut payload = nodes.decoded();
            let gap = payload.len() - 8;
            assert_eq!(payload[gap..gap + 6], [2, 4, 40, 3, 5, 251]);
            payload[gap] = 3;
            nodes.set_payload(&payload);
        },
        "the column \"shares\" has zeros, or values outside the block",
    );
}

#[test]
fn bytes_after_the_end_are_refused() {
    let mut file = bytes(&sample::profile());
    file.extend([0; 5]);
    refused(
        &file,
        "bytes after the end of the profile: 5; 13 of 14 blocks were readable, use --salvage to \
         open them",
    );
}

#[test]
fn a_violation_in_a_file_names_its_block() {
    let mut parts = Parts::of(&bytes(&sample::profile()));
    let mut payload = parts.block(12).decoded();
    assert_eq!(payload[16 + 9], 8, "the frame of node 8");
    payload[16 + 9] = 10;
    parts.block(12).set_payload(&payload);
    let file = parts.join();
    let offset = file.len() - 48 - 7 - payload.len() - 48;
    refused(
        &file,
        &format!(
            "block 11 (nodes) at byte {offset:#x}: node 8 names frame 10, but there are only 10; \
             11 of 13 blocks were readable, use --salvage to open them"
        ),
    );
}

#[test]
fn a_promise_of_more_memory_than_allowed_is_refused() {
    let mut parts = Parts::of(&bytes(&sample::profile()));
    parts.block(12).header[0x1b] = 0xff;
    let error = read::read(&parts.join()).expect_err("four thousand million nodes").to_string();
    assert!(
        error.ends_with(
            "the profile needs more than 384 MiB, the most that a file of its size may ask for"
        ),
        "{error}"
    );
}

/// The sample, with `rows` functions at the address of frame 1, and `more` nodes there.
fn expanding(rows: u32, more: u32) -> Profile {
    let mut profile = sample::profile();
    let sites = &mut profile.sites;
    let at = sites.first[1] as usize..sites.first[2] as usize;
    let added = rows - at.len() as u32;
    for (function, start) in [(FunctionId(0), at.start)].repeat(added as usize) {
        sites.function.insert(start, function);
        sites.file.insert(start, None);
        sites.line.insert(start, 0);
    }
    sites.first[2..].iter_mut().for_each(|first| *first += added);
    // Appended to the last tree, below its root.
    let root = profile.trees[2].first_node;
    for _ in 0..more {
        profile.nodes.push(root, FrameId(1), 0, 0);
    }
    profile.trees[2].node_count += more;
    profile
}

/// The file of `profile`, with the blocks of this kind out of the file of `other`, which has as
/// many elements there.
fn with_blocks_of(profile: &Profile, kind: u16, other: &Profile) -> Vec<u8> {
    let mut parts = Parts::of(&bytes(profile));
    let at = parts.blocks.iter().position(|part| part.kind() == kind).expect("it has such blocks");
    parts.blocks.retain(|part| part.kind() != kind);
    let others = Parts::of(&bytes(other)).blocks.into_iter().filter(|part| part.kind() == kind);
    parts.blocks.splice(at..at, others);
    parts.renumber();
    parts.join()
}

#[test]
fn functions_inlined_at_the_address_of_many_nodes_are_counted() {
    assert!(read::read(&bytes(&expanding(40, 100_000))).is_ok());
    let file = with_blocks_of(&expanding(40, 100_000), 10, &expanding(512, 0));
    let error = read::read(&file).expect_err("a node for each of 50 million functions");
    let (error, ending) = (error.to_string(), "512 functions at its address, 2346 MiB in all");
    assert!(error.contains("(nodes) at byte") && error.ends_with(ending), "{error}");
    let salvaged = salvage::salvage(&file).expect_err("salvaging takes as much").to_string();
    assert!(salvaged.ends_with(ending), "{salvaged}");
    // What nobody would read nobody writes.
    let refused = |nodes| write::write(&expanding(512, nodes), &mut Vec::new()).expect_err("GB");
    let error = refused(100_000).to_string();
    assert!(error.ends_with("the most that a file of its size may ask for"), "{error}");
    let error = refused(1_000_000).to_string();
    assert!(error.contains("beyond the 8192 MiB"), "{error}");
}

#[test]
fn what_is_written_is_as_large_as_its_readers_ask_for() {
    let profile = expanding(100, 100_000);
    let file = bytes(&profile);
    assert!(read::read(&file).is_ok_and(|read| read == profile));
    // No larger than that.
    let small = bytes(&expanding(40, 100_000)).len();
    assert!(small < 10_000 && (100_000..400_000).contains(&file.len()), "{small} {}", file.len());
    // Counts of eight bytes take more.
    let mut profile = expanding(60, 100_000);
    let small = bytes(&profile).len();
    *profile.nodes.edges.last_mut().expect("nodes") = 1 << 33;
    let large = bytes(&profile).len();
    assert!(small < 10_000 && large > 100_000, "{small} {large}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("profile.csprof");
    write::save(&sample::profile(), &path).expect("it is small");
    write::save(&expanding(512, 100_000), &path).expect_err("nobody would read it");
    assert_eq!(read::open(&path).expect("it is as it was"), sample::profile());
}

#[test]
fn a_long_name_in_many_modules_is_counted() {
    let mut long = sample::profile();
    let name = StringId(long.strings.len() as u32);
    long.strings.push("n".repeat(4 << 20).into());
    let mut profile = sample::profile();
    profile.strings.push("n".into());
    for module in 0..100 {
        profile.modules.push(profile.modules[0].clone());
        let module = ModuleId(profile.modules.len() as u32 - 1 - module % 2);
        profile.functions.push(Function { name, module, file: None, line: 0 });
    }
    let file = with_blocks_of(&profile, 3, &long);
    let error = read::read(&file).expect_err("1.2 GB of names").to_string();
    assert!(error.contains("(functions) at byte"), "{error}");
    assert!(error.ends_with("4194304 bytes of its name, 1204 MiB in all"), "{error}");

    // What has no name is called by its module.
    let (mut long, mut profile) = (sample::profile(), sample::profile());
    profile.modules[0].path = StringId(profile.strings.len() as u32);
    profile.strings.push("m".into());
    long.strings.push(("/m".repeat(10) + &"m".repeat(1 << 20)).into());
    for offset in 0..400 {
        profile.frames.push(Frame { kind: FrameKind::Leaf, module: Some(ModuleId(0)), offset });
        profile.sites.first.push(profile.sites.function.len() as u32);
    }
    let file = with_blocks_of(&profile, 3, &long);
    let error = read::read(&file).expect_err("1.2 GB of names").to_string();
    assert!(error.contains("(frames) at byte"), "{error}");
    assert!(error.contains("1048577 bytes of its module's name"), "{error}");
}
