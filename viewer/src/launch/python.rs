//! Whether a profile is best looked at without the frames of CPython's interpreter.

use std::collections::BTreeSet;

use csprof_format::ids::{FrameId, ProcessId, StringId};
use csprof_format::profile::{Function, GENERATED_CODE, Profile};

/// How paths of the interpreter begin, from one of their components on; those of `@python`.
const INTERPRETER: [&str; 2] = ["libpython", "bin/python"];

/// The stage that shows functions in Python alone where they have names. It does not name the set
/// `@python`, which somebody else may have defined otherwise.
fn without_interpreter() -> String {
    let patterns = INTERPRETER.map(|begin| format!("module:{begin}*"));
    format!("hide {{{}}}", patterns.join(", "))
}

/// Saves the stage in the profile, if each process that ran the interpreter has names of functions
/// in Python: where one has none, as before 3.12, all that it did would be hidden. If some have,
/// a warning says why the interpreter is shown.
pub(super) fn save_stage(profile: &mut Profile) {
    let [interpreters, named] = processes(profile);
    let unnamed = interpreters.difference(&named).count();
    if unnamed == 0 && !named.is_empty() {
        profile.stages.push(without_interpreter());
    } else if !named.is_empty() {
        profile.run.warnings.push(format!(
            "the frames of CPython's interpreter are not hidden: {unnamed} of {} processes that ran \
             it have no names of functions in Python, and all that they did would be hidden",
            interpreters.len()
        ));
    }
}

/// The processes that ran the interpreter, and those that have names of functions in Python.
fn processes(profile: &Profile) -> [BTreeSet<ProcessId>; 2] {
    let interpreter: Vec<bool> = profile
        .modules
        .iter()
        .map(|module| is_interpreter(&profile.strings[module.path.index()]))
        .collect();
    let python: Vec<bool> =
        profile.functions.iter().map(|function| is_python(profile, function)).collect();
    let of_frame: Vec<[bool; 2]> = profile
        .frames
        .iter()
        .enumerate()
        .map(|(number, frame)| {
            let of_interpreter = frame.module.is_some_and(|module| interpreter[module.index()]);
            let mut rows = profile.sites.rows(FrameId::from_index(number));
            let of_python = rows.any(|row| python[profile.sites.function[row].index()]);
            [of_interpreter, of_python]
        })
        .collect();
    let mut found = [BTreeSet::new(), BTreeSet::new()];
    for tree in &profile.trees {
        let process = profile.threads[tree.thread.index()].process;
        let nodes = tree.first_node as usize..(tree.first_node + tree.node_count) as usize;
        for frame in &profile.nodes.frame[nodes] {
            for (processes, is_one) in found.iter_mut().zip(of_frame[frame.index()]) {
                if is_one {
                    processes.insert(process);
                }
            }
        }
    }
    found
}

fn is_interpreter(path: &str) -> bool {
    let path = format!("/{}", path.to_ascii_lowercase());
    INTERPRETER.iter().any(|begin| path.contains(&format!("/{begin}")))
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
    use crate::refine::Preset;

    /// Processes with one path each: a module, or a function with file and line.
    fn profile(processes: &[&[&str]]) -> Profile {
        let mut profile = Profile::default();
        let string = |profile: &mut Profile, text: &str| {
            profile.strings.push(text.into());
            StringId::from_index(profile.strings.len() - 1)
        };
        profile.sites.first.push(0);
        for (number, frames) in processes.iter().enumerate() {
            profile.processes.push(Process::default());
            let process = ProcessId::from_index(number);
            profile.threads.push(Thread { process, ..Thread::default() });
            let first_node = profile.nodes.len() as u32;
            for frame in *frames {
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
                profile.nodes.push(first_node, frame, 1, 0);
            }
            let node_count = profile.nodes.len() as u32 - first_node;
            let thread = ThreadId::from_index(number);
            profile.trees.push(Tree { thread, first_node, node_count, ..Tree::default() });
        }
        profile
    }

    #[test]
    fn the_stage_is_saved_where_no_process_would_be_hidden_whole() {
        let named = &["/usr/bin/python3.12", "f@/a.py:0", "/usr/bin/python3.12"][..];
        let by_library = &["/opt/lib/libpython3.12.so.1.0", "f@/a.py:0"][..];
        let unnamed = &["/usr/bin/python3.11"][..];
        let without = &["/usr/bin/xz"][..];
        let javascript = &["/usr/bin/python3.11", "f@/a.js:3", "f or g@/a.js:0", "f(int)@:0"][..];
        for (processes, is_saved, is_told) in [
            (&[named][..], true, false),
            (&[by_library, named, without], true, false),
            (&[named, unnamed], false, true),
            (&[unnamed, by_library, unnamed], false, true),
            (&[named, javascript], false, true),
            (&[unnamed], false, false),
            (&[javascript], false, false),
            (&[without], false, false),
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
    fn the_stage_hides_what_the_shipped_set_is() {
        assert_eq!(without_interpreter(), format!("hide {}", Preset::Python.definition()));
    }

    #[test]
    fn modules_of_the_interpreter_are_those_of_the_shipped_set() {
        for (path, is_one) in [
            ("/usr/bin/python3.12", true),
            ("bin/python", true),
            ("/opt/lib/libpython3.so", true),
            ("libPython3.12.so", true),
            ("/usr/sbin/python3", false),
            ("/usr/lib/python3.12/libfoo.so", false),
            ("/usr/bin/ipython", false),
            ("/home/mylibpython.so", false),
        ] {
            assert_eq!(is_interpreter(path), is_one, "{path}");
            let outline = format!("f 1 module:{path}\n");
            let refined =
                crate::refine::Refined::base(&crate::profile::from_outline(&outline).unwrap());
            let pattern = crate::refine::FramePattern::Preset(Preset::Python);
            assert_eq!(!refined.matching(&pattern).functions.is_empty(), is_one, "{path}");
        }
    }
}
