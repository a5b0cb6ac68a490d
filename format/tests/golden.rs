//! Files of every version still open: `tests/golden/vN`, kept for ever.
//!
//! A golden file is never written again. Those of a new version are added with
//! `cargo run -p csprof-format --example write_golden -- tests/golden/vN`, which leaves alone what
//! is there.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use csprof_format::profile::Profile;
use csprof_format::read;

use crate::{bytes, sample};

fn golden(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    fs::read(folder.join(name)).expect("it is part of the repository")
}

#[test]
fn version_1_0() {
    let file = golden("v1/small.csprof");
    let profile = read::read(&file).expect("version 1.0 is readable");
    assert_eq!(picture(&profile), PICTURE);
    assert_eq!(profile, sample::profile());
    assert_eq!(file[0x0a], 0);
}

#[test]
fn version_1_2() {
    let file = golden("v1/metrics.csprof");
    let profile = read::read(&file).expect("version 1.2 is readable");
    assert_eq!(profile, sample::of_two_metrics());
    assert_eq!(file[0x0a], 2);
}

#[test]
fn version_1_3() {
    let file = golden("v1/loops.csprof");
    let profile = read::read(&file).expect("version 1.3 is readable");
    assert_eq!(profile, sample::of_loops());
    assert_eq!(file[0x0a], 3);
}

#[test]
fn version_1_4() {
    let file = golden("v1/files.csprof");
    let profile = read::read(&file).expect("version 1.4 is readable");
    assert_eq!(profile, sample::of_files());
    assert_eq!(file[0x0a], 4);
    let file = golden("v1/stages.csprof");
    let profile = read::read(&file).expect("version 1.4 is readable");
    assert_eq!(profile, sample::of_stages());
    assert_eq!(file[0x0a], 4);
}

#[test]
fn version_1_5() {
    let file = golden("v1/sources.csprof");
    let profile = read::read(&file).expect("version 1.5 is readable");
    assert_eq!(profile, sample::of_sources());
    assert_eq!(file[0x0a], 5);
}

#[test]
fn version_1_6() {
    let file = golden("v1/times.csprof");
    let profile = read::read(&file).expect("version 1.6 is readable");
    assert_eq!(profile, sample::of_times());
    assert_eq!(file[0x0a], 6);
}

#[test]
fn version_1_7() {
    let file = golden("v1/phases.csprof");
    let profile = read::read(&file).expect("version 1.7 is readable");
    assert_eq!(profile, sample::of_phases());
    assert_eq!(file[0x0a], 7);
}

#[test]
fn version_1_8() {
    let file = golden("v1/outside.csprof");
    let profile = read::read(&file).expect("version 1.8 is readable");
    assert_eq!(profile, sample::of_outside());
    assert_eq!(file[0x0a], 8);
}

#[test]
fn version_1_9() {
    let file = golden("v1/sums.csprof");
    let profile = read::read(&file).expect("version 1.9 is readable");
    assert_eq!(profile, sample::of_sums());
    assert_eq!(file[0x0a], 9);
}

/// Of one metric, the payloads are still those of version 1.0, bit for bit.
#[test]
fn one_metric_is_written_as_ever() {
    assert_eq!(bytes(&sample::profile()), golden("v1/small.csprof"));
}

/// Samples, edges and names, as they were when the file was made.
const PICTURE: &str = "\
cputime every 5000000 ns on node17, Status(3)
process 4242 rank Some(0) Exec, losses [0, 1]
process 4243 rank None Fork, losses []
thread 4242 figure1: 303 = 300 + [2, 0, 0, 0, 0, 1], 8 partial
thread 4250 worker\u{fffd}: 0 = 0 + [], 0 partial
thread 4243 figure1: 70000 = 70000 + [], 0 partial
epoch 0.0 Start: 555555554000 /home/me/figure1, 7f0000000000 /lib/x86_64-linux-gnu/libc.so.6, 7fff00001000 [vdso]
epoch 0.1 AddressReuse: 400000 /opt/vendor/libfast.so, 555555554000 /home/me/figure1
epoch 1.0 Request:
tree of thread 0 in epoch 0
     0     0  Root 0x0
     0     0    __libc_start_main:0
     0     0      main:33
     0     1        a:12
   140  1000          c(unsigned long):70000 d<int, std::vector<int> >:0
     0     1        b:300
   140 70000          c(unsigned long):70000 d<int, std::vector<int> >:0
     0     0    Partial 0x1
     8     0      Leaf 0x7f1234567890
tree of thread 0 in epoch 1
     0     0  Root 0x0
     0     0    __libc_start_main:0
     5     0      Interrupted /opt/vendor/libfast.so+0x100000000
     7     0        Leaf [vdso]+0x9d1
tree of thread 2 in epoch 2
     0     0  Root 0x0
 70000     0    c(unsigned long):70000 d<int, std::vector<int> >:0
";

fn picture(profile: &Profile) -> String {
    let mut out = String::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let path = |module: csprof_format::ids::ModuleId| {
        &profile.strings[profile.modules[module.index()].path.index()]
    };
    draw(
        &mut out,
        format_args!(
            "{} every {} {} on {}, {:?}",
            profile.metric.source,
            profile.metric.period,
            profile.metric.unit,
            profile.run.host,
            profile.run.exit
        ),
    );
    for p in &profile.processes {
        draw(
            &mut out,
            format_args!(
                "process {} rank {:?} {:?}, losses {:?}",
                p.pid, p.rank, p.origin, p.losses
            ),
        );
    }
    for t in &profile.threads {
        let name = text(&t.name);
        draw(
            &mut out,
            format_args!(
                "thread {} {name}: {} = {} + {:?}, {} partial",
                t.tid, t.delivered, t.recorded, t.losses, t.partial
            ),
        );
    }
    for e in &profile.epochs {
        let maps: Vec<String> =
            e.load_map.iter().map(|map| format!(" {:x} {}", map.start, path(map.module))).collect();
        draw(
            &mut out,
            format_args!("epoch {}.{} {:?}:{}", e.process.0, e.number, e.reason, maps.join(",")),
        );
    }
    for tree in &profile.trees {
        draw(&mut out, format_args!("tree of thread {} in epoch {}", tree.thread.0, tree.epoch.0));
        let mut depth = vec![0; profile.nodes.len()];
        for node in tree.first_node as usize..(tree.first_node + tree.node_count) as usize {
            let parent = profile.nodes.parent[node] as usize;
            depth[node] = if parent == node { 1 } else { depth[parent] + 1 };
            let id = profile.nodes.frame[node];
            let frame = profile.frames[id.index()];
            let names: Vec<String> = profile
                .sites
                .rows(id)
                .map(|row| {
                    let function = &profile.functions[profile.sites.function[row].index()];
                    format!(
                        "{}:{}",
                        profile.strings[function.name.index()],
                        profile.sites.line[row]
                    )
                })
                .collect();
            let name = match frame.module {
                _ if !names.is_empty() => names.join(" "),
                Some(module) => format!("{:?} {}+{:#x}", frame.kind, path(module), frame.offset),
                None => format!("{:?} {:#x}", frame.kind, frame.offset),
            };
            let (samples, edges) = (profile.nodes.samples[node], profile.nodes.edges[node]);
            draw(
                &mut out,
                format_args!("{samples:6} {edges:5}{:indent$}{name}", "", indent = 2 * depth[node]),
            );
        }
    }
    out
}

fn draw(out: &mut String, line: core::fmt::Arguments<'_>) {
    writeln!(out, "{line}").expect("a String takes everything");
}

#[test]
fn version_1_10() {
    let file = golden("v1/earlier.csprof");
    let profile = read::read(&file).expect("version 1.10 is readable");
    assert_eq!(profile, sample::of_earlier());
    assert_eq!(file[0x0a], 10);
}
