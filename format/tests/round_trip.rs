//! What is written is read back equal, and what is not what was written is an error.

use csprof_format::ids::{EpochId, FrameId, ThreadId};
use csprof_format::profile::{
    Epoch, Frame, FurtherMetric, Metric, Nodes, Process, Profile, Sites, Thread, ThreadShare, Tree,
};
use csprof_format::{address::FrameKind, read, salvage, write};
use proptest::prelude::*;

use crate::surgery::Parts;
use crate::{arbitrary, bytes, sample};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_profile_comes_back_equal(profile in arbitrary::profile()) {
        prop_assert_eq!(read::read(&bytes(&profile)).expect("it was just written"), profile);
    }

    #[test]
    fn a_whole_file_needs_no_salvage(profile in arbitrary::profile()) {
        let salvaged = salvage::salvage(&bytes(&profile)).expect("it was just written");
        prop_assert!(salvaged.damage.is_none());
        prop_assert_eq!(salvaged.profile, profile);
    }

    #[test]
    fn a_cut_file_is_an_error_and_its_rest_is_valid(
        profile in arbitrary::profile(), part in 0.0..1.0,
    ) {
        let whole = bytes(&profile);
        let cut = &whole[..(whole.len() as f64 * part) as usize];
        prop_assert!(read::read(cut).is_err());
        if let Ok(salvaged) = salvage::salvage(cut) {
            prop_assert!(salvaged.damage.is_some());
            // What could be opened can be saved.
            prop_assert_eq!(
                read::read(&bytes(&salvaged.profile)).expect("it was just written"),
                salvaged.profile
            );
        }
    }

    /// Checksums stop accidents; this is for what a person makes on purpose.
    #[test]
    fn changed_values_with_right_checksums_are_an_error_or_valid(
        profile in arbitrary::profile(),
        places in proptest::collection::vec((any::<usize>(), any::<usize>(), any::<u8>()), 1..4),
    ) {
        let mut parts = Parts::of(&bytes(&profile));
        for (block, offset, value) in places {
            let count = parts.blocks.len();
            let part = &mut parts.blocks[block % count];
            let mut payload = part.decoded();
            if let Some(length @ 1..) = Some(payload.len()) {
                payload[offset % length] = value;
            }
            part.set_payload(&payload);
        }
        let changed = parts.join();
        if let Ok(profile) = read::read(&changed) {
            prop_assert!(csprof_format::validate::validate(&profile).is_ok());
            prop_assert_eq!(bytes_uncompressed(&bytes(&profile)), bytes_uncompressed(&changed));
        }
        let _ = salvage::salvage(&changed);
    }
}

/// The decompressed payloads: equal for equal profiles, whoever compressed them.
fn bytes_uncompressed(file: &[u8]) -> Vec<Vec<u8>> {
    Parts::of(file).blocks.iter().map(crate::surgery::Part::decoded).collect()
}

#[test]
fn the_sample_cut_at_every_byte_is_an_error() {
    for whole in [sample::profile(), sample::of_two_metrics()].map(|sample| bytes(&sample)) {
        for length in 0..whole.len() {
            read::read(&whole[..length]).expect_err("a part of a file is not the file");
            let _ = salvage::salvage(&whole[..length]);
        }
    }
}

#[test]
fn the_sample_with_any_bit_flipped_is_an_error() {
    let mut file = bytes(&sample::of_two_metrics());
    for bit in 0..file.len() * 8 {
        file[bit / 8] ^= 1 << (bit % 8);
        read::read(&file).expect_err("damage is noticed");
        let _ = salvage::salvage(&file);
        file[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn every_header_bit_flipped_with_right_checksums_is_an_error() {
    for whole in [sample::profile(), sample::of_two_metrics()].map(|sample| bytes(&sample)) {
        let blocks = 0..Parts::of(&whole).blocks.len();
        for (block, bit) in blocks.flat_map(|block| (0..0x28 * 8).map(move |bit| (block, bit))) {
            let mut parts = Parts::of(&whole);
            // The flag "critical" matters only to readers that do not know the kind; the stored
            // length is set again with the checksums.
            if bit == 0x0a * 8 || (0x20..0x24).contains(&(bit / 8)) {
                continue;
            }
            parts.blocks[block].header[bit / 8] ^= 1 << (bit % 8);
            let skipped =
                parts.blocks[block].header[0x0a] & 1 == 0 && (0x04..0x08).contains(&(bit / 8));
            let read = read::read(&parts.join());
            assert!(read.is_err() || skipped, "block {block}, bit {bit} of the header");
        }
    }
}

/// One thread with one tree of `nodes`, all of one sample but the root.
fn one_tree(nodes: u32, parent: impl Fn(u32) -> u32) -> Profile {
    let mut columns = Nodes::default();
    columns.push(0, FrameId(0), 0, 0);
    for node in 1..nodes {
        columns.push(parent(node), FrameId(1), 1, 0);
    }
    let samples = u64::from(nodes) - 1;
    Profile {
        metric: Metric { period: 1, ..Metric::default() },
        processes: vec![Process::default()],
        threads: vec![Thread { delivered: samples, recorded: samples, ..Thread::default() }],
        epochs: vec![Epoch::default()],
        frames: vec![
            Frame { kind: FrameKind::Root, module: None, offset: 0 },
            Frame { kind: FrameKind::Leaf, module: None, offset: 0x1000 },
        ],
        trees: vec![Tree {
            thread: ThreadId(0),
            epoch: EpochId(0),
            first_node: 0,
            node_count: nodes,
        }],
        nodes: columns,
        ..Profile::default()
    }
}

#[test]
fn samples_of_several_metrics_over_several_blocks_come_back() {
    let mut profile = one_tree(200_000, |node| node - 1);
    let metric = |source: &str| Metric { source: source.into(), period: 1, ..Metric::default() };
    for (source, every, rest) in [("even", 2, 0), ("some odd", 6, 1), ("none", 9, 9)] {
        let nodes = (1..200_000).filter(|node| node % every == rest);
        let samples: Vec<_> = nodes.map(|node| (node, 1)).collect();
        let recorded = samples.len() as u64;
        let threads = vec![ThreadShare { delivered: recorded, recorded, ..ThreadShare::default() }];
        profile.further.push(FurtherMetric { metric: metric(source), threads, samples });
    }
    assert_eq!(read::read(&bytes(&profile)).expect("it was just written"), profile);
}

#[test]
fn deep_and_wide_trees_over_several_blocks_come_back() {
    let deep = one_tree(200_000, |node| node - 1);
    assert_eq!(read::read(&bytes(&deep)).expect("deep"), deep);
    let wide = one_tree(200_000, |_| 0);
    assert_eq!(read::read(&bytes(&wide)).expect("wide"), wide);
    let comb = one_tree(200_000, |node| (node - 1) & !1);
    assert_eq!(read::read(&bytes(&comb)).expect("comb"), comb);
}

#[test]
fn large_tables_over_several_blocks_come_back() {
    let mut profile = one_tree(2, |_| 0);
    profile.strings = (0..300_000).map(|n| format!("function number {n}").into()).collect();
    profile.frames.resize(70_000, profile.frames[1]);
    profile
        .processes
        .resize(3000, Process { command: vec![vec![b'x'; 900]], pid: 7, ..Process::default() });
    profile.functions.resize(70_000, Default::default());
    profile.modules.push(Default::default());
    profile.sites = Sites {
        first: (0..=70_000).map(|frame| frame * 3).collect(),
        function: vec![Default::default(); 210_000],
        file: vec![None; 210_000],
        line: vec![9; 210_000],
    };
    let file = bytes(&profile);
    assert_eq!(read::read(&file).expect("it was just written"), profile);
    let blocks = Parts::of(&file).blocks;
    let count = |kind| blocks.iter().filter(|part| part.kind() == kind).count();
    let (strings, processes, frames, functions, sites) =
        (count(3), count(5), count(8), count(9), count(10));
    assert!(strings > 1 && processes > 1 && frames > 1 && functions > 1 && sites > 1);
    assert!(blocks.iter().all(|part| part.decoded().len() <= 2 << 20));
}

#[test]
fn sites_without_frames_and_frames_without_sites_are_told_apart() {
    let mut profile = Profile {
        metric: Metric { period: 1, ..Metric::default() },
        sites: Sites { first: vec![0], ..Sites::default() },
        ..Profile::default()
    };
    assert_eq!(read::read(&bytes(&profile)).expect("sites"), profile);
    profile.sites.first.clear();
    assert_eq!(read::read(&bytes(&profile)).expect("no sites"), profile);
}

#[test]
fn a_string_too_large_for_a_block_is_refused() {
    let mut profile = one_tree(2, |_| 0);
    profile.strings = vec!["short".into(), "x".repeat(17 << 20).into()];
    let error = write::write(&profile, &mut Vec::new()).expect_err("it does not fit");
    assert_eq!(error.to_string(), "element 1 of the strings is larger than a block can be");
}
