//! Small saved profiles as they are loaded.

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::budget::MAX_INLINED;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};

use super::super::{Counts, FrameKind, FrameRef, FunctionRef, to_outline};
use super::part::MAX_PASSED;
use super::*;

/// A saved profile with the functions `main`, `solve` and `dot` in `/opt/app`.
fn saved() -> saved::Profile {
    let strings = ["/opt/app", "main", "solve", "dot", "app.c"].map(Into::into).to_vec();
    let function = |name, line| saved::Function {
        name: StringId(name),
        module: ModuleId(0),
        file: Some(StringId(4)),
        line,
    };
    let mut profile = saved::Profile {
        strings,
        processes: vec![saved::Process::default()],
        threads: vec![saved::Thread { process: ProcessId(0), tid: 7, ..saved::Thread::default() }],
        epochs: vec![saved::Epoch::default()],
        modules: vec![saved::Module { path: StringId(0), ..saved::Module::default() }],
        functions: vec![function(1, 10), function(2, 20), function(3, 30)],
        ..saved::Profile::default()
    };
    profile.sites.first.push(0);
    profile
}

/// Adds a frame in `/opt/app` with the functions and lines it stands for, outermost first.
fn add_frame(profile: &mut saved::Profile, offset: u64, rows: &[(u32, u32)]) -> FrameId {
    profile.frames.push(saved::Frame { kind: SavedKind::Call, module: Some(ModuleId(0)), offset });
    for &(function, line) in rows {
        profile.sites.function.push(FunctionId(function));
        profile.sites.file.push(Some(StringId(4)));
        profile.sites.line.push(line);
    }
    profile.sites.first.push(u32::try_from(profile.sites.function.len()).unwrap());
    FrameId::from_index(profile.frames.len() - 1)
}

fn add_other(profile: &mut saved::Profile, kind: SavedKind, offset: u64) -> FrameId {
    profile.frames.push(saved::Frame { kind, module: None, offset });
    profile.sites.first.push(u32::try_from(profile.sites.function.len()).unwrap());
    FrameId::from_index(profile.frames.len() - 1)
}

fn add_tree(profile: &mut saved::Profile, first_node: u32) {
    let count = u32::try_from(profile.nodes.len()).unwrap() - first_node;
    let (thread, epoch) = (ThreadId(0), EpochId(0));
    profile.trees.push(saved::Tree { thread, epoch, first_node, node_count: count });
}

/// The address of each node; empty where it has none.
fn addresses(profile: &Profile) -> Vec<String> {
    let site = |frame: &FrameRef| profile.frames[frame.index()].site;
    let text = |site: FrameId| profile.address(&profile.info.frames[site.index()]);
    profile.nodes.frame.iter().map(|frame| site(frame).map_or_else(String::new, text)).collect()
}

/// Sides of a comparison keep their addresses, each in the module that it was built from, with the
/// loops there.
#[test]
fn addresses_outlive_a_comparison() {
    let side = |offset, module: &str| {
        let mut profile = saved();
        let root = add_other(&mut profile, SavedKind::Root, 0);
        profile.strings[0] = module.into();
        profile.modules[0].build_id = module.as_bytes().to_vec();
        profile.metric = saved::Metric { source: "cputime".into(), unit: "ns".into(), period: 5 };
        let main = add_frame(&mut profile, offset, &[(0, 11)]);
        let solve = add_frame(&mut profile, offset + 8, &[(1, 21)]);
        profile.nodes.push(0, root, 0, 0);
        profile.nodes.push(0, main, 1, 0);
        profile.nodes.push(1, solve, 2, 0);
        add_tree(&mut profile, 0);
        let found = saved::Loop { module: ModuleId(0), offset, line: 10, ..saved::Loop::default() };
        profile.structure = saved::Structure {
            loops: vec![found],
            in_loops: vec![saved::InLoop { frame: main, row: 0, number: 0 }],
            tail_calls: vec![saved::TailCall {
                caller: main,
                callee: solve,
                via: vec![FunctionId(2)],
            }],
        };
        Profile::from_saved(profile)
    };
    let sides = (("base", side(0x10, "/opt/app")), ("other", side(0x20, "/new/app")));
    let both = Profile::compared(sides.0, sides.1, &[]).unwrap();
    assert_eq!(both.function_of(1), both.function_of(4));
    let sites = ["", "app+0x10", "", "app+0x18", "app+0x20", "", "app+0x28"];
    assert_eq!(addresses(&both), sites);
    let kind = |node: usize| both.frames[both.nodes.frame[node].index()].kind;
    assert_eq!([kind(2), kind(5)], [FrameKind::Tail; 2]);
    let in_loops = |node: usize| {
        let site = both.frames[both.nodes.frame[node].index()].site.unwrap();
        both.info.structure.loops_of(site).len()
    };
    assert_eq!([1, 3, 4, 6].map(in_loops), [1, 0, 1, 0]);
    let module = |node: usize| {
        let site = both.frames[both.nodes.frame[node].index()].site.unwrap();
        both.module_path(both.info.frames[site.index()].module.unwrap())
    };
    assert_eq!([module(1), module(4)], ["/opt/app", "/new/app"]);
}

/// What the thread was started from, and the collector's frame that runs what was handed over, are
/// left out; the code of the region comes next, and the handover has no edges.
#[test]
fn work_that_was_handed_over_hangs_below_the_code_that_did() {
    let mut profile = saved();
    let mut module = |path: &str| {
        profile.strings.push(path.into());
        let path = StringId(u32::try_from(profile.strings.len() - 1).unwrap());
        profile.modules.push(saved::Module { path, ..saved::Module::default() });
        Some(ModuleId(u32::try_from(profile.modules.len() - 1).unwrap()))
    };
    let handovers = module(saved::HANDOVERS);
    let [libc, libgomp] = ["/lib/libc.so.6", "/lib/libgomp.so.1"].map(&mut module);
    let collector = module("/tmp/libcsprof_collector-1.so");
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let main = add_frame(&mut profile, 0x10, &[(0, 11)]);
    let solve = add_frame(&mut profile, 0x20, &[(1, 21)]);
    let mut in_module = |module, offset| {
        let frame = add_other(&mut profile, SavedKind::Call, offset);
        profile.frames[frame.index()].module = module;
        frame
    };
    let region = in_module(handovers, saved::PARALLEL_REGION);
    let (started, pool, run) = (in_module(libc, 1), in_module(libgomp, 2), in_module(collector, 3));
    let barrier = in_module(libgomp, 4);
    // The opener's own thread has no handover: there all is as it was.
    let path = [root, main, solve, region, started, pool, run, solve, barrier];
    for (node, frame) in (0_u32..).zip(path) {
        profile.nodes.push(node.saturating_sub(1), frame, u64::from(node > 6), u64::from(node > 3));
    }
    profile.nodes.push(0, started, 2, 0);
    add_tree(&mut profile, 0);
    let outline = to_outline(&Profile::from_saved(profile));
    let bare: Vec<&str> =
        outline.lines().map(|line| line.split(" module:").next().unwrap()).collect();
    assert_eq!(
        bare,
        [
            "# thread=7 epoch=0",
            "main",
            "  solve",
            "    \"[parallel region]\" handover",
            "      solve 1 e=1",
            "        libgomp.so.1+0x4 1 e=1 unknown",
            "libc.so.6+0x1 2 unknown",
        ]
    );
}

#[test]
fn an_address_in_inlined_code_becomes_a_chain() {
    let mut profile = saved();
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let main = add_frame(&mut profile, 0x10, &[(0, 11)]);
    // solve, with dot inlined into it; solve itself; dot on its own, below the first.
    let inlined = add_frame(&mut profile, 0x20, &[(1, 21), (2, 31)]);
    let plain = add_frame(&mut profile, 0x28, &[(1, 22)]);
    let called = add_frame(&mut profile, 0x30, &[(2, 32)]);
    profile.nodes.push(0, root, 0, 0);
    profile.nodes.push(0, main, 1, 0);
    profile.nodes.push(1, inlined, 4, 3);
    profile.nodes.push(2, called, 2, 5);
    profile.nodes.push(1, plain, 8, 2);
    add_tree(&mut profile, 0);
    let loaded = Profile::from_saved(profile);
    assert_eq!(
        to_outline(&loaded),
        "\
# thread=7 epoch=0
main 1 module:/opt/app at:app.c:11
  solve e=3 module:/opt/app at:app.c:21
    dot 4 inline module:/opt/app at:app.c:31
      dot 2 e=5 module:/opt/app at:app.c:32
  solve 8 e=2 module:/opt/app at:app.c:22
"
    );
    assert_eq!(loaded.function_of(2), loaded.function_of(5), "solve is one function");
    assert_eq!(loaded.functions[loaded.function_of(2).index()].line, 20);
    assert_eq!(loaded.function_of(0), FunctionRef::ROOT);
    assert_eq!(loaded.total(), 15);
    assert_eq!(loaded.nodes.inclusive(), [15, 15, 6, 6, 2, 8]);
    assert!(loaded.info.nodes.is_empty() && loaded.info.trees.is_empty());
    let places = addresses(&loaded);
    assert_eq!(places, ["", "app+0x10", "app+0x20", "app+0x20", "app+0x30", "app+0x28"]);
}

/// Python's, of which the map of generated code has the file and no line.
#[test]
fn functions_of_one_name_in_two_files_are_two() {
    let mut profile = saved();
    profile.strings.extend(["/a/one.py", "/a/two.py"].map(Into::into));
    let dot = profile.functions[2].clone();
    let in_file = |file| saved::Function { file: Some(StringId(file)), line: 0, ..dot };
    profile.functions.extend([in_file(5), in_file(6)]);
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let frames = [3, 4].map(|function| add_frame(&mut profile, function.into(), &[(function, 0)]));
    profile.nodes.push(0, root, 0, 0);
    frames.into_iter().for_each(|frame| _ = profile.nodes.push(0, frame, 5, 0));
    add_tree(&mut profile, 0);
    let loaded = Profile::from_saved(profile);
    let files = [1, 2].map(|node| {
        let function = &loaded.functions[loaded.function_of(node).index()];
        loaded.info.strings[function.file.unwrap().index()].to_string()
    });
    assert_eq!(files, ["/a/one.py", "/a/two.py"]);
}

#[test]
fn what_has_no_name_says_where_it_is() {
    let mut profile = saved();
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let partial = add_other(&mut profile, SavedKind::Partial, 1);
    let strange = add_other(&mut profile, SavedKind::Partial, 99);
    let unnamed = add_frame(&mut profile, 0x1234, &[]);
    let outside = add_other(&mut profile, SavedKind::Leaf, 0x7f00);
    // Of one region with it, which is one function.
    let near = add_other(&mut profile, SavedKind::Leaf, 0x9f00);
    let far = add_other(&mut profile, SavedKind::Leaf, 0x123_9f00);
    profile.nodes.push(0, root, 6, 0);
    profile.nodes.push(0, partial, 0, 0);
    profile.nodes.push(1, unnamed, 1, 2);
    profile.nodes.push(0, strange, 0, 0);
    profile.nodes.push(3, outside, 3, 0);
    profile.nodes.push(3, near, 2, 0);
    profile.nodes.push(3, far, 4, 0);
    add_tree(&mut profile, 0);
    let loaded = Profile::from_saved(profile);
    assert_eq!(addresses(&loaded), ["", "", "", "app+0x1234", "", "0x7f00", "0x9f00", "0x1239f00"]);
    assert_eq!(
        to_outline(&loaded),
        "\
# thread=7 epoch=0
\"[no path]\" 6 partial
\"[partial: no-cfi]\" partial
  app+0x1234 1 e=2 unknown module:/opt/app
\"[partial: unknown reason]\" partial
  \"[unknown code at 0x7000]\" 3 unknown
  \"[unknown code at 0x7000]\" 2 unknown
  \"[unknown code at 0x1239000]\" 4 unknown
"
    );
}

/// main calls dlopen: csprof's, which calls the C library's, and afterwards looks what is new.
#[test]
fn what_only_passes_a_call_on_is_left_out() {
    let mut profile = saved();
    let names = ["/run/libcsprof_collector-1f.so", "dlopen", "look", "dl_iterate_phdr"];
    profile.strings.extend(names.map(Into::into));
    profile.modules.push(saved::Module { path: StringId(5), ..saved::Module::default() });
    let function = |name, module| saved::Function {
        name: StringId(name),
        module: ModuleId(module),
        ..saved::Function::default()
    };
    let (own, of_libc) = (1, 0);
    let (wrapper, real, look, visit) = (3, 4, 5, 6);
    profile.functions.extend([
        function(6, own),
        function(6, of_libc),
        function(7, own),
        function(8, of_libc),
    ]);
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let main = add_frame(&mut profile, 0x10, &[(0, 11)]);
    let mut add = |kind, function, module| {
        let frame = add_frame(&mut profile, 0x40, &[(function, 0)]);
        profile.frames[frame.index()].kind = kind;
        profile.frames[frame.index()].module = Some(ModuleId(module));
        frame
    };
    let wrapper_call = add(SavedKind::Call, wrapper, own);
    let wrapper_leaf = add(SavedKind::Leaf, wrapper, own);
    let real_call = add(SavedKind::Call, real, of_libc);
    let look_call = add(SavedKind::Call, look, own);
    let visit_leaf = add(SavedKind::Leaf, visit, of_libc);
    let nodes = [
        (0, root, 0, 0),
        (0, main, 0, 0),
        // Its returns are those of the real function.
        (1, wrapper_call, 0, 2),
        (2, real_call, 0, 2),
        (3, visit_leaf, 5, 0),
        (2, look_call, 0, 0),
        (5, visit_leaf, 3, 0),
        (1, wrapper_leaf, 1, 0),
    ];
    for (parent, frame, samples, edges) in nodes {
        profile.nodes.push(parent, frame, samples, edges);
    }
    add_tree(&mut profile, 0);
    let outline = to_outline(&Profile::from_saved(profile));
    let bare: Vec<&str> =
        outline.lines().map(|line| line.split(" module:").next().unwrap()).collect();
    assert_eq!(
        bare,
        [
            "# thread=7 epoch=0",
            "main",
            "  dlopen e=2",
            "    dl_iterate_phdr 5",
            "  dlopen e=2",
            "    look",
            "      dl_iterate_phdr 3",
            "  dlopen 1",
        ]
    );
}

#[test]
fn a_made_up_tower_of_calls_that_pass_on_does_not_come_back_for_each_node() {
    let mut profile = saved();
    profile.strings.push("/run/libcsprof_collector-1f.so".into());
    profile.modules.push(saved::Module { path: StringId(5), ..saved::Module::default() });
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let own = add_frame(&mut profile, 0x10, &[(0, 0)]);
    profile.frames[own.index()].module = Some(ModuleId(1));
    let main = add_frame(&mut profile, 0x20, &[(0, 0)]);
    let (tower, leaves) = (1000_u32, 1000_u32);
    profile.nodes.push(0, root, 0, 0);
    for above in 0..tower {
        profile.nodes.push(above, own, 0, 0);
    }
    for _ in 0..leaves {
        profile.nodes.push(tower, main, 1, 0);
    }
    add_tree(&mut profile, 0);
    let loaded = Profile::from_saved(profile);
    assert_eq!(loaded.total(), u64::from(leaves));
    let (tower, leaves) = (tower as usize, leaves as usize);
    assert!(loaded.nodes.len() <= 2 * tower + leaves * (1 + usize::from(MAX_PASSED)));
}

#[test]
fn trees_become_consecutive_streams() {
    let mut profile = saved();
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let main = add_frame(&mut profile, 0x10, &[(0, 11)]);
    for first in [0, 2] {
        profile.nodes.push(first, root, 0, 0);
        profile.nodes.push(first, main, 1, 0);
        add_tree(&mut profile, first);
    }
    profile.nodes.push(4, root, 0, 0);
    add_tree(&mut profile, 4);
    let loaded = Profile::from_saved(profile);
    let ranges: Vec<_> = loaded.streams.iter().map(|stream| stream.nodes.clone()).collect();
    assert_eq!(ranges, [1..2, 2..3, 3..3]);
    assert_eq!(loaded.nodes.parent[..], [0, 0, 0]);
}

#[test]
fn samples_of_further_metrics_go_where_all_go() {
    let mut profile = saved();
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let main = add_frame(&mut profile, 0x10, &[(0, 11), (1, 5)]);
    let leaf = add_frame(&mut profile, 0x20, &[(2, 7)]);
    for first in [0, 3] {
        for (parent, frame, samples) in [(first, root, 1), (first, main, 4), (first + 1, leaf, 9)] {
            profile.nodes.push(parent, frame, samples, 0);
        }
        add_tree(&mut profile, first);
    }
    for (source, samples) in
        [("realtime", vec![(0, 1), (2, 5), (4, 2)]), ("task-clock", vec![(2, 4), (4, 2), (5, 9)])]
    {
        let metric = saved::Metric { source: source.into(), ..saved::Metric::default() };
        profile.further.push(saved::FurtherMetric { metric, samples, threads: Vec::new() });
    }
    let loaded = Profile::from_saved(profile);
    assert!(loaded.info.further.iter().all(|further| further.samples.is_empty()));
    assert_eq!(
        to_outline(&loaded),
        "\
# thread=7 epoch=0
\"[no path]\" 1 realtime:1 partial
main module:/opt/app at:app.c:11
  solve 4 inline module:/opt/app at:app.c:5
    dot 9 realtime:5 task-clock:4 module:/opt/app at:app.c:7
# thread=7 epoch=0
\"[no path]\" 1 partial
main module:/opt/app at:app.c:11
  solve 4 realtime:2 task-clock:2 inline module:/opt/app at:app.c:5
    dot 9 task-clock:9 module:/opt/app at:app.c:7
"
    );
}

#[test]
fn metrics_never_have_more_than_what_is_kept_of_all() {
    let mut profile = saved();
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let main = add_frame(&mut profile, 0x10, &[(0, 11)]);
    for (parent, frame, samples) in [(0, root, 0), (0, main, u64::MAX), (0, main, u64::MAX)] {
        profile.nodes.push(parent, frame, samples, 0);
    }
    add_tree(&mut profile, 0);
    let samples = vec![(1, 5), (2, u64::MAX)];
    profile.further.push(saved::FurtherMetric { samples, ..Default::default() });
    let nodes = Profile::from_saved(profile).nodes;
    assert_eq!(nodes.samples.iter().collect::<Vec<_>>(), [0, MOST, 0]);
    assert_eq!(nodes.further[0].iter().collect::<Vec<_>>(), [0, 5, 0]);
}

#[test]
fn endless_inlining_is_cut_in_the_middle() {
    let mut profile = saved();
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let rows: Vec<(u32, u32)> = (0..2000).map(|line| (line % 3, line)).collect();
    let deep = add_frame(&mut profile, 0x10, &rows);
    profile.nodes.push(0, root, 0, 0);
    profile.nodes.push(0, deep, 5, 1);
    add_tree(&mut profile, 0);
    let loaded = Profile::from_saved(profile);
    assert_eq!(loaded.nodes.len(), 1 + 1 + MAX_INLINED);
    let line = |node: usize| loaded.frames[loaded.nodes.frame[node].index()].line;
    assert_eq!((line(1), line(2), line(loaded.nodes.len() - 1)), (0, 1488, 1999));
    assert_eq!((loaded.nodes.edges.at(1), loaded.nodes.samples.iter().last()), (1, Some(5)));
}

/// Trees of different lengths, with all that a tree can have: samples of several metrics and their
/// times, left-out calls, some of which come back, and tail calls.
#[test]
fn trees_become_the_same_in_any_number_of_parts() {
    let mut profile = saved();
    profile.strings.push("/run/libcsprof_collector-1f.so".into());
    profile.modules.push(saved::Module { path: StringId(5), ..saved::Module::default() });
    let root = add_other(&mut profile, SavedKind::Root, 0);
    let main = add_frame(&mut profile, 0x10, &[(0, 11), (1, 5)]);
    let solve = add_frame(&mut profile, 0x20, &[(1, 21)]);
    let own = add_frame(&mut profile, 0x30, &[(1, 0)]);
    profile.frames[own.index()].module = Some(ModuleId(1));
    let dot = add_frame(&mut profile, 0x40, &[(2, 7)]);
    let (caller, callee, via) = (main, dot, vec![FunctionId(1)]);
    profile.structure.tail_calls.push(saved::TailCall { caller, callee, via });
    for tree in 0..9_u32 {
        let first = u32::try_from(profile.nodes.len()).unwrap();
        profile.nodes.push(first, root, u64::from(tree % 2), 0);
        for turn in 0..=tree % 4 {
            let top = profile.nodes.push(first, main, u64::from(turn), 3);
            let called = profile.nodes.push(top, own, 0, 2);
            profile.nodes.push(called, solve, 4, 2);
            profile.nodes.push(called, dot, 5, u64::from(tree));
            profile.nodes.push(top, dot, 6, 1);
        }
        add_tree(&mut profile, first);
    }
    let nodes = || (0_u32..).zip(&profile.nodes.samples).filter(|(_, samples)| **samples > 0);
    let samples = nodes().map(|(node, &samples)| (node, samples / 2 + 1)).collect();
    let time = |(node, _)| saved::SampleTime {
        time_us: u64::from(node * 7 % 11),
        node,
        metric: 0,
        samples: 1,
    };
    let times = nodes().map(time).collect();
    profile.further.push(saved::FurtherMetric { samples, ..Default::default() });
    profile.times = times;
    let whole = Profile::from_saved_in(profile.clone(), 1);
    let outline = to_outline(&whole);
    assert!(outline.contains("no path") && outline.contains("tail"), "{outline}");
    for parts in 2..12 {
        let other = Profile::from_saved_in(profile.clone(), parts);
        assert_eq!(other.nodes, whole.nodes, "{parts}");
        assert_eq!(other.functions, whole.functions);
        assert_eq!(other.frames, whole.frames);
        assert_eq!(other.streams, whole.streams);
        assert_eq!(other.times, whole.times);
        assert_eq!(to_outline(&other), outline);
    }
    // Parts of which each needs 32 bits alone, and all together more.
    for samples in profile.nodes.samples.iter_mut().filter(|samples| **samples == 6) {
        *samples = 1 << 29;
    }
    let whole = Profile::from_saved_in(profile.clone(), 1);
    assert!(matches!(whole.nodes.samples, Counts::Wide(_)));
    assert_eq!(Profile::from_saved_in(profile, 4).nodes, whole.nodes);
}
