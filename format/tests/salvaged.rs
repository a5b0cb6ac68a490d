//! What is left of damaged files.

use csprof_format::loss::LossReason;
use csprof_format::profile::{Profile, Structure, ThreadShare};
use csprof_format::read;
use csprof_format::salvage::{self, Salvaged};

use crate::surgery::Parts;
use crate::{bytes, sample};

const UNREADABLE: usize = LossReason::Unreadable as usize;

/// Damages the payload of the block of a kind, so that its checksum tells.
fn damaged(kind: u16) -> Salvaged {
    damaged_of(&sample::profile(), kind)
}

fn damaged_of(profile: &Profile, kind: u16) -> Salvaged {
    let parts = Parts::of(&bytes(profile));
    let index = parts.blocks.iter().position(|part| part.kind() == kind).expect("it is there");
    let before: usize = parts.blocks[..index].iter().map(|part| 48 + part.payload.len()).sum();
    let mut file = bytes(profile);
    file[64 + before + 48] ^= 0xff;
    read::read(&file).expect_err("it is damaged");
    salvage::salvage(&file).expect("the rest is readable")
}

fn losses(profile: &Profile) -> Vec<u64> {
    let losses = |thread: &csprof_format::profile::Thread| {
        thread.losses.get(UNREADABLE).copied().unwrap_or_default()
    };
    profile.threads.iter().map(losses).collect()
}

#[test]
fn lost_nodes_become_losses() {
    let salvaged = damaged(12);
    assert_eq!(salvaged.lost_samples, 300 + 70_000);
    // One was unreadable before.
    assert_eq!(losses(&salvaged.profile), [301, 0, 70_000]);
    assert_eq!(salvaged.profile.threads[0].partial, 0);
    assert!(!salvaged.lost_symbols);
    assert!(salvaged.profile.trees.is_empty());
    let text = salvaged.to_string();
    assert!(
        text.starts_with("salvaged 12 of 13 blocks; 70300 samples are lost: block 11 (nodes) at "),
        "{text}"
    );
    assert_eq!(salvaged.profile.run.warnings.last(), Some(&text));
}

#[test]
fn lost_names_cost_no_samples() {
    for kind in [9, 10] {
        let salvaged = damaged(kind);
        assert_eq!(salvaged.lost_samples, 0);
        assert!(salvaged.lost_symbols);
        assert_eq!(salvaged.profile.nodes, sample::profile().nodes);
        assert!(salvaged.profile.functions.is_empty());
    }
}

/// Loops and tail calls go with the functions that they are about, and with each other.
#[test]
fn lost_loops_cost_nothing_else() {
    for kind in [9, 10, 15, 16, 17] {
        let salvaged = damaged_of(&sample::of_loops(), kind);
        assert_eq!(salvaged.profile.structure, Structure::default(), "{kind}");
        assert_eq!(salvaged.lost_samples, 0);
        assert_eq!(salvaged.lost_symbols, kind < 15);
        let lost = if kind < 15 { ", names, any loops" } else { ", any loops" };
        let told = format!("; 0 samples{lost} and tail calls are lost: ");
        assert!(salvaged.to_string().contains(&told), "{kind}: {salvaged}");
    }
    let elsewhere = damaged_of(&sample::of_loops(), 12);
    assert_eq!(elsewhere.profile.structure, sample::of_loops().structure);
    assert!(!elsewhere.lost_structure && !elsewhere.to_string().contains("loops"), "{elsewhere}");
    // Where a file without any was cut off, none are missed.
    let bytes = bytes(&sample::profile());
    let cut = salvage::salvage(&bytes[..bytes.len() - 100]).expect("the rest is readable");
    assert!(!cut.lost_structure && cut.damage.is_some());
}

#[test]
fn lost_files_cost_nothing_else() {
    let salvaged = damaged_of(&sample::of_files(), 18);
    assert!(salvaged.profile.files.is_empty());
    assert_eq!((salvaged.lost_samples, salvaged.lost_symbols), (0, false));
    let elsewhere = damaged_of(&sample::of_files(), 12);
    assert_eq!(elsewhere.profile.files, sample::of_files().files);
}

#[test]
fn lost_stages_cost_nothing_else() {
    let salvaged = damaged_of(&sample::of_stages(), 19);
    assert!(salvaged.profile.stages.is_empty());
    assert!(salvaged.to_string().contains("stages to begin with are lost"), "{salvaged}");
    assert_eq!((salvaged.lost_samples, salvaged.lost_symbols), (0, false));
    let elsewhere = damaged_of(&sample::of_stages(), 12);
    assert_eq!(elsewhere.profile.stages, sample::of_stages().stages);
    assert!(!elsewhere.to_string().contains("stages"), "{elsewhere}");
}

#[test]
fn lost_ranks_cost_nothing_else() {
    for kind in [23, 24] {
        let salvaged = damaged_of(&sample::of_sums(), kind);
        assert!(!salvaged.profile.is_sum() && salvaged.profile.spreads.is_empty());
        assert!(salvaged.to_string().contains("what ranks have are lost"), "{salvaged}");
        assert_eq!((salvaged.lost_samples, salvaged.lost_symbols), (0, false));
    }
    // What is left of the samples is not what was summed.
    assert!(!damaged_of(&sample::of_sums(), 12).profile.is_sum());
}

#[test]
fn lost_counts_of_threads_cost_nothing_else() {
    let salvaged = damaged_of(&sample::of_earlier(), 25);
    assert!(salvaged.profile.earlier.is_empty());
    assert!(salvaged.to_string().contains("how many threads there were are lost"), "{salvaged}");
    assert_eq!((salvaged.lost_samples, salvaged.lost_symbols), (0, false));
    let elsewhere = damaged_of(&sample::of_earlier(), 12);
    assert_eq!(elsewhere.profile.earlier, sample::of_earlier().earlier);
    assert!(!elsewhere.to_string().contains("how many threads"), "{elsewhere}");
}

#[test]
fn lost_phases_cost_nothing_else() {
    let salvaged = damaged_of(&sample::of_phases(), 22);
    assert!(salvaged.profile.phases.is_empty());
    assert!(salvaged.to_string().contains("names of phases are lost"), "{salvaged}");
    assert_eq!((salvaged.lost_samples, salvaged.lost_symbols), (0, false));
    let elsewhere = damaged_of(&sample::of_phases(), 12);
    assert_eq!(elsewhere.profile.phases, sample::of_phases().phases);
    assert!(!elsewhere.to_string().contains("phases"), "{elsewhere}");
}

#[test]
fn lost_sources_cost_nothing_else() {
    let whole = sample::of_sources();
    let salvaged = damaged_of(&whole, 20);
    assert!(salvaged.profile.sources.is_empty());
    assert!(salvaged.to_string().contains(", lines of source files are lost"), "{salvaged}");
    assert_eq!((salvaged.lost_samples, salvaged.lost_symbols), (0, false));
    let elsewhere = damaged_of(&whole, 12);
    assert_eq!(elsewhere.profile.sources, whole.sources);
    assert!(!elsewhere.to_string().contains("source"), "{elsewhere}");
    // Without its path nobody finds a file.
    let nameless = damaged_of(&whole, 3);
    assert!(nameless.profile.sources.is_empty() && nameless.lost_sources);
    let file = bytes(&whole);
    let cut = salvage::salvage(&file[..file.len() - 100]).expect("the rest is readable");
    assert!(cut.lost_sources && cut.profile.nodes == whole.nodes);
    // All of them were read, but nothing says that there were no more.
    let endless = salvage::salvage(&file[..file.len() - 1]).expect("the rest is readable");
    assert_eq!(endless.profile.sources, whole.sources);
    assert!(!endless.lost_sources, "{endless}");
    assert!(endless.to_string().contains("are lost, lines of source files may be: "), "{endless}");
    // A later version may have them, too.
    let mut parts = crate::surgery::Parts::of(&file);
    parts.header[0x0a] += 1;
    let later = parts.join();
    let later = salvage::salvage(&later[..later.len() - 1]).expect("the rest is readable");
    assert!(later.may_lack_sources);
}

#[test]
fn lost_times_cost_nothing_else() {
    let whole = sample::of_times();
    let salvaged = damaged_of(&whole, 21);
    assert!(salvaged.profile.times.is_empty());
    assert!(salvaged.to_string().contains("times of samples are lost"), "{salvaged}");
    assert_eq!((salvaged.lost_samples, salvaged.lost_symbols), (0, false));
    let elsewhere = damaged_of(&whole, 10);
    assert_eq!(elsewhere.profile.times, whole.times);
    assert!(!elsewhere.to_string().contains("times"), "{elsewhere}");
    // Of nodes that are gone there are none.
    let nodeless = damaged_of(&whole, 12);
    assert!(nodeless.profile.times.is_empty() && nodeless.lost_times);
}

#[test]
fn lost_strings_are_said_to_be_lost() {
    let salvaged = damaged(3);
    assert_eq!(salvaged.lost_samples, 0);
    assert_eq!(salvaged.profile.strings, ["[lost]".into()]);
    assert_eq!(salvaged.profile.nodes, sample::profile().nodes);
    assert_eq!(salvaged.profile.sites.function, sample::profile().sites.function);
}

#[test]
fn lost_threads_leave_what_came_before() {
    let salvaged = damaged(6);
    assert_eq!(salvaged.profile.processes, sample::profile().processes);
    assert!(salvaged.profile.threads.is_empty() && salvaged.profile.nodes.is_empty());
}

#[test]
fn nothing_is_left_without_the_run() {
    let mut file = bytes(&sample::profile());
    file[64 + 48] ^= 0xff;
    let error = salvage::salvage(&file).expect_err("the first block is damaged");
    assert_eq!(
        error.to_string(),
        "block 0 (run) at byte 0x40: the contents are damaged: their checksum does not match"
    );
}

#[test]
fn samples_stay_those_of_their_metric() {
    let whole = sample::of_two_metrics();
    let salvaged = damaged_of(&whole, 12);
    assert_eq!(salvaged.lost_samples, 300 + 70_000);
    let [ref further] = salvaged.profile.further[..] else { panic!("it has two metrics") };
    assert_eq!((&further.metric, further.samples.len()), (&whole.further[0].metric, 0));
    let shares = further.threads.iter().map(|share| (share.delivered, share.recorded));
    assert_eq!(shares.collect::<Vec<_>>(), [(49, 0), (0, 0), (30_000, 0)]);
    // What is lost before the threads leaves none; both metrics are still known.
    let salvaged = damaged_of(&whole, 6);
    assert!(salvaged.profile.threads.is_empty());
    assert_eq!(salvaged.profile.further.len(), 1);
}

#[test]
fn a_profile_cut_in_the_middle_keeps_whole_blocks_of_nodes() {
    let mut profile = sample::profile();
    // The last tree: thread 2 gets 200 000 nodes with one sample each below its root.
    profile.nodes.truncate(14);
    for _ in 0..200_000 {
        profile.nodes.push(13, csprof_format::ids::FrameId(5), 1, 0);
    }
    profile.trees[2].node_count = 200_001;
    profile.threads[2].delivered = 200_000;
    profile.threads[2].recorded = 200_000;
    // Every third sample there is of another metric.
    let mut further = sample::of_two_metrics().further.remove(0);
    further.samples.truncate(3);
    further.samples.extend((14..200_014).step_by(3).map(|node| (node, 1)));
    let recorded = further.samples.len() as u64 - 3;
    further.threads[2] = ThreadShare { delivered: recorded, recorded, ..ThreadShare::default() };
    profile.further.push(further);
    let whole = bytes(&profile);
    let parts = Parts::of(&whole);
    // Four blocks of nodes and the end: cut inside the third.
    let tail: usize = parts.blocks.iter().rev().take(3).map(|part| 48 + part.payload.len()).sum();
    let cut = &whole[..whole.len() - tail + 60];
    let salvaged = salvage::salvage(cut).expect("two blocks of nodes are whole");
    assert_eq!(salvaged.profile.nodes.len(), 2 * 65_536);
    assert_eq!(salvaged.profile.trees[2].node_count, 2 * 65_536 - 13);
    assert_eq!(salvaged.profile.threads[0].recorded, 300);
    assert_eq!(salvaged.profile.threads[2].recorded, 2 * 65_536 - 14);
    assert_eq!(salvaged.lost_samples, 200_000 - (2 * 65_536 - 14));
    assert_eq!(losses(&salvaged.profile), [1, 0, salvaged.lost_samples]);
    let further = &salvaged.profile.further[0];
    let of_third = further.samples.len() as u64 - 3;
    assert_eq!(of_third, (2 * 65_536 - 14_u64).div_ceil(3));
    assert_eq!(
        further.threads[2],
        ThreadShare { delivered: recorded, recorded: of_third, ..ThreadShare::default() }
    );
    assert_eq!(further.threads[0], profile.further[0].threads[0]);
}
