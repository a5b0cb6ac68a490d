//! Whether what csprof put back for tail calls is what a program without tail calls does.
//!
//! `cargo run -p csprof --example tail_calls -- WITH.csprof WITHOUT.csprof` compares two profiles
//! of one program, of which the second was built with `-fno-optimize-sibling-calls` (or, in Rust,
//! with `opt-level=0`). For each caller, chain put back, and function found below it in the first,
//! it looks for a path of the second that has them in this order, at once one below the other or
//! with others between. What no path has is written out: it is wrong, or was not sampled.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::collections::{BTreeMap, HashMap, HashSet};

use csprof_format::ids::{FrameId, FunctionId};
use csprof_format::profile::Profile;
use csprof_format::read;

fn function(profile: &Profile, id: FunctionId) -> &str {
    &profile.strings[profile.functions[id.index()].name.index()]
}

/// The functions at a frame, outermost first.
fn rows(profile: &Profile, frame: FrameId) -> Vec<&str> {
    let sites = &profile.sites;
    sites.rows(frame).map(|row| function(profile, sites.function[row])).collect()
}

/// Samples of each node and all below it.
fn inclusive(profile: &Profile) -> Vec<u64> {
    let mut samples = profile.nodes.samples.clone();
    for (node, &parent) in profile.nodes.parent.iter().enumerate().rev() {
        if parent as usize != node {
            samples[parent as usize] += samples[node];
        }
    }
    samples
}

/// How a path of the second profile has a chain, which ends with its last function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    AtOnce,
    WithOthersBetween,
    Never,
}

fn seen(path: &[&str], chain: &[&str]) -> Seen {
    let is_one = |names: &str, name: &str| names.split(" or ").any(|one| one == name);
    let pairs = || path.iter().rev().zip(chain.iter().rev());
    if path.len() >= chain.len() && pairs().all(|(name, names)| is_one(names, name)) {
        return Seen::AtOnce;
    }
    let mut rest = path.iter().rev();
    let has = |names: &&str| rest.any(|name| is_one(names, name));
    if chain.iter().rev().all(has) { Seen::WithOthersBetween } else { Seen::Never }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [with, without] = &files[..] else { return Err("usage: tail_calls WITH WITHOUT".into()) };
    let (with, without) = (read::open(with.as_ref())?, read::open(without.as_ref())?);

    // Libraries are the same in both, and show nothing.
    let ids = |profile: &Profile| -> HashSet<Vec<u8>> {
        let ids = profile.modules.iter().map(|module| module.build_id.clone());
        ids.filter(|id| !id.is_empty()).collect()
    };
    let common: HashSet<Vec<u8>> = ids(&with).intersection(&ids(&without)).cloned().collect();
    let samples = inclusive(&with);
    let total: u64 = with.nodes.samples.iter().sum();
    let mut chains: BTreeMap<Vec<&str>, u64> = BTreeMap::new();
    let (mut paths, mut in_libraries) = (0_u64, 0_u64);
    for (node, &parent) in with.nodes.parent.iter().enumerate() {
        let (caller, callee) = (with.nodes.frame[parent as usize], with.nodes.frame[node]);
        let via = with.structure.tail_calls_between(caller, callee);
        if via.is_empty() || parent as usize == node {
            continue;
        }
        paths += 1;
        let module = with.functions[via[0].index()].module;
        if common.contains(&with.modules[module.index()].build_id) {
            in_libraries += samples[node];
            continue;
        }
        let mut chain: Vec<&str> = rows(&with, caller).last().copied().into_iter().collect();
        chain.extend(via.iter().map(|&id| function(&with, id)));
        chain.extend(rows(&with, callee).first());
        *chains.entry(chain).or_default() += samples[node];
    }

    // Rows of the second profile's paths, where the last of a chain is the last row.
    let mut wanted: HashMap<&str, Vec<&Vec<&str>>> = HashMap::new();
    for chain in chains.keys() {
        wanted.entry(chain[chain.len() - 1]).or_default().push(chain);
    }
    let mut found: HashMap<&Vec<&str>, Seen> = HashMap::new();
    for node in 0..without.nodes.len() {
        let own = rows(&without, without.nodes.frame[node]);
        if !own.iter().any(|name| wanted.contains_key(name)) {
            continue;
        }
        let mut frames = vec![node];
        while let Some(&at) = frames.last() {
            let parent = without.nodes.parent[at] as usize;
            if parent == at {
                break;
            }
            frames.push(parent);
        }
        // What left in libraries has left in both.
        let with_left = |at: usize| {
            let (parent, frame) = (without.nodes.parent[at] as usize, without.nodes.frame[at]);
            let left = without.structure.tail_calls_between(without.nodes.frame[parent], frame);
            let left = left.iter().map(|&id| function(&without, id));
            left.chain(rows(&without, frame)).collect::<Vec<_>>()
        };
        let own = with_left(node);
        let mut path: Vec<&str> =
            frames.iter().skip(1).rev().flat_map(|&at| with_left(at)).collect();
        for name in own {
            path.push(name);
            for &chain in wanted.get(name).into_iter().flatten() {
                let best = found.entry(chain).or_insert(Seen::Never);
                *best = seen(&path, chain).min(*best);
            }
        }
    }
    let mut sums: BTreeMap<Seen, (usize, u64)> = BTreeMap::new();
    for (chain, samples) in &chains {
        let how = found.get(chain).copied().unwrap_or(Seen::Never);
        let sum = sums.entry(how).or_default();
        *sum = (sum.0 + 1, sum.1 + samples);
        if how != Seen::AtOnce {
            println!("{how:?}: {samples} samples: {}", chain.join(" > "));
        }
    }
    println!(
        "{paths} of {} nodes grew; {in_libraries} of {total} samples below those of libraries; of \
         the program:",
        with.nodes.len()
    );
    for (how, (chains, samples)) in sums {
        println!("{how:?}: {chains} chains, {samples} samples below them");
    }
    Ok(())
}
