//! Sums of jobs of which each rank's cost is known, as they are loaded.

use csprof_format::address::FrameKind;
use csprof_format::ids::{FunctionId, ModuleId, StringId};
use csprof_format::profile::{Frame, Function, Module};

use crate::profile::Profile;
use crate::profile::reduce::tests::job::Job;
use crate::profile::reduce::{Keep, Reduction};

use super::*;

fn job() -> Job {
    Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)], addresses: 1 }
}

/// Adds a call of the collector's below the last node, with so many samples of its own, and what it
/// calls.
fn call_through_collector(rank: &mut saved::Profile, own: u64) {
    let (below, path) = (rank.nodes.len() as u32 - 1, StringId::from_index(rank.strings.len()));
    rank.strings.push("/run/libcsprof_collector-1.so".into());
    let module = ModuleId(rank.modules.len() as u32);
    rank.modules.push(Module { path, ..Module::default() });
    let mut parent = below;
    for (name, module, samples) in [("dlopen", module, own), ("__dlopen", ModuleId(0), 10)] {
        let text = StringId::from_index(rank.strings.len());
        rank.strings.push(name.into());
        rank.sites.function.push(FunctionId::from_index(rank.functions.len()));
        rank.sites.file.push(None);
        rank.sites.line.push(0);
        rank.sites.first.push(rank.sites.function.len() as u32);
        rank.functions.push(Function { name: text, module, file: None, line: 0 });
        rank.frames.push(Frame { kind: FrameKind::Call, module: Some(module), offset: 0x77 });
        let frame = FrameId::from_index(rank.frames.len() - 1);
        parent = rank.nodes.push(parent, frame, samples, 0);
        rank.threads[1].recorded += samples;
    }
    rank.trees[1].node_count += 2;
}

/// A call that passes through the collector is left out on a path in the tree of every rank, or in
/// none: not by what each of them happened to be sampled in.
#[test]
fn a_path_has_the_same_frames_in_all_trees() {
    for (own, keep) in [(0, Keep::Top), (1, Keep::Top), (1, Keep::All), (1, Keep::None)] {
        let mut reduction = Reduction::new(keep);
        for number in 0..12 {
            let mut rank = job().rank(number, job().busiest());
            // Rank 7 is kept apart, rank 3 is not.
            call_through_collector(&mut rank, if number == 3 { own } else { 0 });
            reduction.add(&number.to_string(), &rank).unwrap();
        }
        let profile = Profile::from_saved(reduction.finish());
        let name = |node: u32| profile.functions[profile.function_of(node).index()].name.clone();
        let called = (1..profile.nodes.len() as u32).filter(|&node| &*name(node) == "__dlopen");
        let callers: Vec<_> =
            called.map(|node| name(profile.nodes.parent[node as usize])).collect();
        let expected = if own > 0 { "dlopen" } else { "pool" };
        assert!(callers.len() > usize::from(keep == Keep::Top), "{keep:?}");
        assert!(callers.iter().all(|caller| &**caller == expected), "{own} {keep:?}: {callers:?}");
    }
}

/// Each node of a rank that is kept apart has the place of its path.
#[test]
fn a_path_has_one_place() {
    let mut reduction = Reduction::new(Keep::All);
    for rank in 0..12 {
        reduction.add(&rank.to_string(), &job().rank(rank, job().busiest())).unwrap();
    }
    let saved = reduction.finish();
    let profile = Profile::from_saved(saved.clone());
    for parts in [2, 3, 20] {
        assert_eq!(Profile::from_saved_in(saved.clone(), parts).spreads, profile.spreads);
    }
    let mut places = std::collections::BTreeMap::new();
    for node in 1..profile.nodes.len() as u32 {
        let Some(place) = profile.spreads.place(node) else { continue };
        let name = &profile.functions[profile.function_of(node).index()].name;
        assert_eq!(*places.entry(name.clone()).or_insert(place), place, "{name}");
    }
    assert_eq!(places.len(), 1 + 2 + 18 + 1 + 12 + 1 + 1);
    let late = profile.spreads.at(places["kernel_3"]);
    assert_eq!((late[0].most, late[0].most_rank), (job().kernel(7, 3), 7));
}
