//! Whether a profile is best looked at without the frames of CPython's interpreter.

use std::collections::{BTreeMap, BTreeSet};

use csprof_format::ids::{FrameId, ProcessId, StringId};
use csprof_format::profile::{Function, GENERATED_CODE, MAX_STAGE, Profile};

/// Samples of a process that may be those of the interpreter's start, in which nothing has names.
const START: u64 = 20;

/// Samples in the interpreter, by process.
#[derive(Debug, Default)]
struct Interpreted {
    /// Those of paths through the interpreter.
    samples: u64,
    /// Whether one of its functions in Python has a name.
    is_named: bool,
}

/// Saves the stage that shows functions in Python alone, if little is hidden by it that has no
/// names: of a process without any, as before 3.12, all that it did would be. A warning says how
/// much that is, hidden or not.
pub(super) fn save_stage(profile: &mut Profile) {
    let modules = interpreters(profile);
    let processes = processes(profile, &modules);
    let samples = |processes: &[&Interpreted]| -> u128 {
        processes.iter().map(|process| u128::from(process.samples)).sum()
    };
    let all: Vec<&Interpreted> = processes.values().filter(|found| found.samples > 0).collect();
    let unnamed: Vec<_> = all.iter().copied().filter(|process| !process.is_named).collect();
    if unnamed.len() == all.len() {
        return;
    }
    let beyond: u128 =
        unnamed.iter().map(|process| u128::from(process.samples.saturating_sub(START))).sum();
    let (hidden, interpreted) = (samples(&unnamed), samples(&all));
    let names: BTreeSet<String> = modules.into_iter().flatten().collect();
    let stage = without(&names);
    let is_little = beyond * 20 < interpreted && hidden * 2 < interpreted;
    let is_saved = is_little && stage.len() <= MAX_STAGE;
    let told = if is_saved { "hidden" } else { "not hidden" };
    if !unnamed.is_empty() || !is_saved {
        profile.run.warnings.push(format!(
            "the frames of CPython's interpreter are {told}: {} of {} processes that ran it have no \
             names of functions in Python, and {hidden} of {interpreted} samples",
            unnamed.len(),
            all.len()
        ));
    }
    if is_saved {
        profile.stages.push(stage);
    }
}

/// The stage that hides modules of these names. It does not name the set `@python`, which somebody
/// else may have defined otherwise.
fn without(names: &BTreeSet<String>) -> String {
    let patterns: Vec<String> = names.iter().map(|name| format!("module:{name}")).collect();
    match &patterns[..] {
        [one] => format!("hide {one}"),
        _ => format!("hide {{{}}}", patterns.join(", ")),
    }
}

/// What ran the interpreter, and whether it named functions, of each process.
fn processes(profile: &Profile, modules: &[Option<String>]) -> BTreeMap<ProcessId, Interpreted> {
    let python: Vec<bool> =
        profile.functions.iter().map(|function| is_python(profile, function)).collect();
    let of_frame: Vec<[bool; 2]> = profile
        .frames
        .iter()
        .enumerate()
        .map(|(number, frame)| {
            let of_interpreter = frame.module.is_some_and(|of| modules[of.index()].is_some());
            let mut rows = profile.sites.rows(FrameId::from_index(number));
            let of_python = rows.any(|row| python[profile.sites.function[row].index()]);
            [of_interpreter, of_python]
        })
        .collect();
    let mut found: BTreeMap<ProcessId, Interpreted> = BTreeMap::new();
    // Whether the path to a node goes through the interpreter: parents come before their children.
    let nodes = &profile.nodes;
    let mut is_within = vec![false; nodes.len()];
    for tree in &profile.trees {
        let process = profile.threads[tree.thread.index()].process;
        let process = found.entry(process).or_default();
        for node in tree.first_node as usize..(tree.first_node + tree.node_count) as usize {
            let [of_interpreter, of_python] = of_frame[nodes.frame[node].index()];
            is_within[node] = of_interpreter || is_within[nodes.parent[node] as usize];
            process.is_named |= of_python;
            if is_within[node] {
                process.samples = process.samples.saturating_add(nodes.samples[node]);
            }
        }
    }
    found
}

/// For each module that is the interpreter, the pattern that means it and, in a run of another
/// version that names functions, the like of it: `python3.1?`. So stages of runs agree.
fn interpreters(profile: &Profile) -> Vec<Option<String>> {
    let path = |module: StringId| &*profile.strings[module.index()];
    profile.modules.iter().map(|module| interpreter(path(module.path))).collect()
}

/// The last component alone: folders of such names have libraries of others in them.
fn interpreter(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let library = name.strip_prefix("libpython");
    let version = library.or_else(|| name.strip_prefix("python"))?;
    let is_version = version.starts_with(|first: char| first.is_ascii_digit())
        && version.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'));
    if !(is_version || version.is_empty()) || library.is_some() != version.contains(".so") {
        return None;
    }
    let minor = version.strip_prefix("3.1").filter(|rest| rest.starts_with(char::is_numeric));
    Some(match minor {
        Some(rest) => format!("{}3.1?{}", &name[..name.len() - version.len()], &rest[1..]),
        None => name.to_owned(),
    })
}

/// CPython names files without lines, which of two functions at an address is nobody's.
fn is_python(profile: &Profile, function: &Function) -> bool {
    let text = |id: StringId| &*profile.strings[id.index()];
    let module = &profile.modules[function.module.index()];
    text(module.path) == GENERATED_CODE
        && function.file.is_some()
        && function.line == 0
        && !text(function.name).contains(" or ")
}

#[cfg(test)]
mod tests {
    use csprof_format::address::FrameKind;
    use csprof_format::ids::{FunctionId, ModuleId, ThreadId};
    use csprof_format::profile::{Frame, Module, Process, Thread, Tree};

    use super::*;
    use crate::profile::from_outline;
    use crate::refine::{FramePattern, Preset, Refined, apply, parse};

    /// Processes with one path each, of so many samples: modules, and functions with file and line.
    fn profile(processes: &[(&[&str], u64)]) -> Profile {
        let mut profile = Profile::default();
        let string = |profile: &mut Profile, text: &str| {
            profile.strings.push(text.into());
            StringId::from_index(profile.strings.len() - 1)
        };
        profile.sites.first.push(0);
        for (number, &(frames, samples)) in processes.iter().enumerate() {
            profile.processes.push(Process::default());
            let process = ProcessId::from_index(number);
            profile.threads.push(Thread { process, ..Thread::default() });
            let first_node = profile.nodes.len() as u32;
            for frame in frames {
                let mut words = frame.split('@');
                let first = words.next().unwrap();
                let (path, function) = match words.next() {
                    Some(place) => (GENERATED_CODE, Some((first, place))),
                    None => (first, None),
                };
                let path = string(&mut profile, path);
                profile.modules.push(Module { path, ..Module::default() });
                let module = ModuleId::from_index(profile.modules.len() - 1);
                if let Some((name, place)) = function {
                    let (file, line) = place.split_once(':').unwrap();
                    let name = string(&mut profile, name);
                    let file = (!file.is_empty()).then(|| string(&mut profile, file));
                    let line = line.parse().unwrap();
                    profile.functions.push(Function { name, module, file, line });
                    let function = FunctionId::from_index(profile.functions.len() - 1);
                    profile.sites.function.push(function);
                }
                profile.sites.first.push(profile.sites.function.len() as u32);
                let (kind, module) = (FrameKind::Call, Some(module));
                profile.frames.push(Frame { kind, module, offset: 0 });
                let frame = FrameId::from_index(profile.frames.len() - 1);
                let above = (profile.nodes.len() as u32).saturating_sub(1).max(first_node);
                profile.nodes.push(above, frame, 0, 0);
            }
            *profile.nodes.samples.last_mut().unwrap() = samples;
            let node_count = profile.nodes.len() as u32 - first_node;
            let thread = ThreadId::from_index(number);
            profile.trees.push(Tree { thread, first_node, node_count, ..Tree::default() });
        }
        profile
    }

    const NAMED: &[&str] = &["/usr/bin/python3.12", "f@/a.py:0", "/usr/bin/python3.12"];
    const BY_LIBRARY: &[&str] = &["/opt/lib/libpython3.13.so.1.0", "f@/a.py:0", "/lib/libc.so.6"];
    const UNNAMED: &[&str] = &["/usr/bin/python3.11"];

    #[test]
    fn the_stage_is_saved_where_little_without_names_would_be_hidden() {
        let without = &["/usr/bin/xz"][..];
        let javascript = &["/usr/bin/python3.11", "f@/a.js:3", "f or g@/a.js:0", "f(int)@:0"][..];
        for (processes, is_saved, is_told) in [
            (&[(NAMED, 9)][..], true, false),
            (&[(BY_LIBRARY, 4), (NAMED, 1), (without, 99)], true, false),
            // What starts has no names yet.
            (&[(NAMED, 100), (UNNAMED, 1), (UNNAMED, 2)], true, true),
            (&[(UNNAMED, 1), (NAMED, 3), (UNNAMED, 1)], true, true),
            (&[(UNNAMED, 1), (NAMED, 2), (UNNAMED, 1)], false, true),
            // What is of another version has none ever.
            (&[(NAMED, 100), (UNNAMED, 26)], true, true),
            (&[(NAMED, 100), (UNNAMED, 27)], false, true),
            (&[(BY_LIBRARY, 1000), (UNNAMED, 72)], true, true),
            (&[(BY_LIBRARY, 1000), (UNNAMED, 74)], false, true),
            (&[(NAMED, 100), (javascript, 90)], false, true),
            (&[(NAMED, 100), (UNNAMED, 0)], true, false),
            (&[(UNNAMED, 9)], false, false),
            (&[(javascript, 9)], false, false),
            (&[(without, 9)], false, false),
            (&[], false, false),
        ] {
            let mut profile = profile(processes);
            save_stage(&mut profile);
            let told = profile.run.warnings.len();
            assert_eq!(
                (profile.stages.len(), told),
                (is_saved.into(), is_told.into()),
                "{processes:?}"
            );
        }
    }

    #[test]
    fn the_stage_hides_the_modules_that_were_met() {
        let other = &["/usr/bin/python3-tools/libfast.so", "/usr/bin/python3.12"][..];
        for (processes, stage) in [
            (&[(NAMED, 1)][..], "hide module:python3.1?"),
            (&[(NAMED, 2), (other, 1)], "hide module:python3.1?"),
            (
                &[(NAMED, 100), (BY_LIBRARY, 1), (&["/opt/bin/python3.9d"], 1)],
                "hide {module:libpython3.1?.so.1.0, module:python3.1?, module:python3.9d}",
            ),
        ] {
            let mut profile = profile(processes);
            save_stage(&mut profile);
            assert_eq!(profile.stages, [stage], "{processes:?}");
        }
        let mut profile = profile(&[(NAMED, 2), (UNNAMED, 1)]);
        save_stage(&mut profile);
        assert_eq!(
            profile.run.warnings,
            [
                "the frames of CPython's interpreter are hidden: 1 of 2 processes that ran it have no \
              names of functions in Python, and 1 of 3 samples"
            ]
        );
        let long = format!("/bin/python3.12{}", "x".repeat(MAX_STAGE));
        let mut profile = self::profile(&[(&[&long, "f@/a.py:0"], 9)]);
        save_stage(&mut profile);
        assert_eq!((profile.stages.len(), profile.run.warnings.len()), (0, 1));
    }

    /// Those of `@python`, which is not saved, are the same but for folders.
    #[test]
    fn modules_of_the_interpreter_are_known_by_their_last_component() {
        for (path, stage, is_in_set) in [
            ("/usr/bin/python3.12", "hide module:python3.1?", true),
            ("/root/.pyenv/versions/3.12.1/bin/python3.12", "hide module:python3.1?", true),
            ("bin/python", "hide module:python", true),
            ("/usr/bin/python3", "hide module:python3", true),
            ("/usr/bin/python3.9", "hide module:python3.9", true),
            ("/usr/bin/python3.13-dbg", "hide module:python3.1?-dbg", true),
            ("/opt/lib/libpython3.so", "hide module:libpython3.so", true),
            ("/opt/lib/libpython3.13t.so.1.0", "hide module:libpython3.1?t.so.1.0", true),
            ("/usr/bin/python2.7", "hide module:python2.7", true),
            ("/opt/python/python3.12", "hide module:python3.1?", false),
            ("/usr/lib/python3.12/libfoo.so", "", false),
            ("/usr/lib/libpython3.12/libfoo.so", "", false),
            ("/home/me/bin/python-tools/libfast.so", "", false),
            ("/home/me/bin/python3.12-venv/lib/numpy/core.so", "", false),
            (
                "/home/me/bin/python3.12-venv/lib/libpython3.12.so.1.0",
                "hide module:libpython3.1?.so.1.0",
                true,
            ),
            ("/home/me/bin/python-env/bin/python3.12", "hide module:python3.1?", true),
            ("/opt/libpython-build/lib/libpython3.12.so", "hide module:libpython3.1?.so", true),
            ("/usr/lib/python3.so", "", false),
            ("/usr/bin/ipython", "", false),
            ("/home/mylibpython.so", "", false),
            ("/usr/lib/libpythonic.so", "", true),
        ] {
            let names = interpreter(path).into_iter().collect::<BTreeSet<_>>();
            let found = if names.is_empty() { String::new() } else { without(&names) };
            assert_eq!(found, stage, "{path}");
            let profile = from_outline(&format!("f 1 module:{path}\n")).unwrap();
            if !stage.is_empty() {
                let refined = apply(&profile, &parse(stage).unwrap()).unwrap();
                assert_eq!(refined.outcomes[0].moved, 1, "{path}");
            }
            let pattern = FramePattern::Preset(Preset::Python);
            let refined = Refined::base(&profile);
            assert_eq!(!refined.matching(&pattern).functions.is_empty(), is_in_set, "{path}");
        }
    }
}
