//! What is written is read back equal, and what is not what was written is an error.

use csprof_format::address::FrameKind;
use csprof_format::ids::{EpochId, FrameId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile::{
    Epoch, Frame, Mapping, Metric, Module, Process, Profile, Thread, Tree,
};
use csprof_format::{read, write};

fn small() -> Profile {
    let mut profile = Profile {
        metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 },
        strings: vec!["/bin/true".into()],
        modules: vec![Module { path: StringId(0), ..Module::default() }],
        processes: vec![Process::default()],
        threads: vec![Thread { delivered: 4, recorded: 3, losses: vec![1], ..Thread::default() }],
        epochs: vec![Epoch {
            process: ProcessId(0),
            load_map: vec![Mapping {
                start: 0x40_0000,
                end: 0x41_0000,
                bias: 0,
                module: ModuleId(0),
            }],
            ..Epoch::default()
        }],
        frames: vec![
            Frame { kind: FrameKind::Root, module: None, offset: 0 },
            Frame { kind: FrameKind::Leaf, module: Some(ModuleId(0)), offset: 0x1234 },
        ],
        trees: vec![Tree { thread: ThreadId(0), epoch: EpochId(0), first_node: 0, node_count: 2 }],
        ..Profile::default()
    };
    profile.nodes.push(0, FrameId(0), 0, 0);
    profile.nodes.push(0, FrameId(1), 3, 1);
    profile
}

fn bytes(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    write::write(profile, &mut bytes).expect("a valid profile is written");
    bytes
}

#[test]
fn a_small_profile_comes_back() {
    let profile = small();
    assert_eq!(read::read(&bytes(&profile)).unwrap(), profile);
}

#[test]
fn a_file_cut_anywhere_is_an_error_and_what_is_left_is_valid() {
    let whole = bytes(&small());
    for length in 0..whole.len() {
        let cut = &whole[..length];
        read::read(cut).expect_err("a part of a file is not a file");
        if let Ok(salvaged) = read::salvage(cut) {
            assert!(salvaged.damage.is_some());
            let total = salvaged.profile.nodes.total_samples();
            assert_eq!(
                total + salvaged.lost_samples,
                salvaged.profile.threads.first().map_or(0, |_| 3)
            );
        }
    }
}

#[test]
fn a_flipped_bit_is_an_error() {
    let whole = bytes(&small());
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        read::read(&flipped).expect_err("damage is noticed");
        let _ = read::salvage(&flipped);
    }
}
