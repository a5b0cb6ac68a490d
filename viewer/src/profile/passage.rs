//! Calls that pass through csprof's collector on their way.
//!
//! The collector wraps some functions of the C library (dlopen(3), pthread_create(3)). A wrapper's
//! frame between the program's frame and the real function's says nothing to a reader, so it is
//! left out, and the real function hangs under the program's frame. No samples move or get lost,
//! because a frame that is a caller has none; the returns of the real function stand for those of
//! its wrapper. Work of the collector's own (reading the load map,
//! preparing a thread) stays under its own name.

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::ids::{FrameId, StringId};
use csprof_format::profile as saved;

use super::name_of_file;
use super::pseudo::is_handover;

/// Which machine frames are the collector's own, and which of them are callers; both empty if there
/// are none.
#[derive(Default)]
pub(super) struct Passages {
    own: Vec<bool>,
    calls: Vec<bool>,
}

impl Passages {
    pub(super) fn of(saved: &saved::Profile) -> Self {
        let path =
            |module: &saved::Module| saved.strings.get(module.path.index()).map_or("", |text| text);
        let modules: Vec<bool> =
            saved.modules.iter().map(|module| is_collector(path(module))).collect();
        if !modules.contains(&true) {
            return Self::default();
        }
        let is_own = |frame: &saved::Frame| {
            frame.module.is_some_and(|module| modules.get(module.index()) == Some(&true))
        };
        let is_call = |frame: &saved::Frame| frame.kind == SavedKind::Call && is_own(frame);
        Self {
            own: saved.frames.iter().map(is_own).collect(),
            calls: saved.frames.iter().map(is_call).collect(),
        }
    }

    /// Whether there are any.
    pub(super) fn are_any(&self) -> bool {
        !self.own.is_empty()
    }

    /// Whether the frame is in the collector.
    pub(super) fn is_own(&self, frame: FrameId) -> bool {
        self.own.get(frame.index()).is_some_and(|own| *own)
    }

    /// Whether the frame is a call in the collector.
    pub(super) fn may_be(&self, frame: FrameId) -> bool {
        self.calls.get(frame.index()).is_some_and(|call| *call)
    }
}

/// Which machine nodes are, below a handover, what a thread was started from: those in the C
/// library and the runtime's, up to the collector's that runs the code which was handed over, if
/// there is one. Empty if there are none.
#[derive(Default)]
pub(super) struct Starts(Vec<bool>);

impl Starts {
    pub(super) fn of(saved: &saved::Profile, nodes: &saved::Nodes, passages: &Passages) -> Self {
        let handovers: Vec<bool> =
            saved.frames.iter().map(|frame| is_handover(saved, frame)).collect();
        if !handovers.contains(&true) {
            return Self::default();
        }
        let path = |id: StringId| saved.strings.get(id.index()).map_or("", |text| text);
        let runtimes: Vec<bool> =
            saved.modules.iter().map(|module| starts_threads(path(module.path))).collect();
        let starts_thread: Vec<bool> = (0..saved.frames.len())
            .map(FrameId::from_index)
            .map(|frame| {
                let module = saved.frames[frame.index()].module;
                let is_runtime =
                    module.is_some_and(|module| runtimes.get(module.index()) == Some(&true));
                is_runtime || passages.may_be(frame)
            })
            .collect();
        let mut starts = vec![false; nodes.len()];
        // Parents come before their children.
        for (node, frame) in nodes.frame.iter().enumerate() {
            let parent = nodes.parent[node] as usize;
            let above = nodes.frame[parent];
            let goes_on = handovers[above.index()] || starts[parent] && !passages.may_be(above);
            starts[node] = goes_on && starts_thread[frame.index()];
        }
        Self(starts)
    }

    /// Whether there are any.
    pub(super) fn are_any(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn has(&self, node: usize) -> bool {
        self.0.get(node).is_some_and(|starts| *starts)
    }
}

/// Whether threads that are given work begin in a module of this path: the C library, and those of
/// OpenMP, of which programs may bring one under a longer name (`libgomp-a34b3233.so.1.0.0`). Not
/// in one whose name only begins so (`libompl.so`, `libc-client.so`).
fn starts_threads(path: &str) -> bool {
    let name = name_of_file(path);
    let is_followed_by = |library: &str, is_end: fn(char) -> bool| {
        name.strip_prefix(library).is_some_and(|rest| rest.starts_with(is_end))
    };
    name.starts_with("libc.so")
        || is_followed_by("libc-", |next| next.is_ascii_digit())
        || ["libpthread", "libgomp", "libomp", "libiomp5"].iter().any(|library| {
            is_followed_by(library, |next| next == '.' || next == '-' || next.is_ascii_digit())
        })
}

/// Whether a module is the collector, whose file name has a number for each version.
pub(crate) fn is_collector(path: &str) -> bool {
    let name = name_of_file(path);
    name.starts_with("libcsprof_collector") && name.ends_with(".so")
}

/// Whether `real` is the function that `wrapper` wraps. Internal names of the C library contain the
/// public one: `__dlopen`, `__GI___execve`, `__pthread_create_2_1`.
///
/// A wrapper that no symbol exports, as those of MPI, is named by its path in the collector:
/// `csprof_collector::preload::mpi::MPI_Send::stub`.
pub(super) fn is_behind(wrapper: &str, real: &str) -> bool {
    let path =
        wrapper.strip_prefix("csprof_collector::").and_then(|path| path.strip_suffix("::stub"));
    let is_of_region = path.is_some_and(|path| path.starts_with("preload::regions::"));
    let wrapper = path.and_then(|path| path.rsplit("::").next()).unwrap_or(wrapper);
    // What opens a region may leave by a tail call.
    is_of_region || !wrapper.is_empty() && real.contains(wrapper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collector_by_its_name() {
        assert!(is_collector("/var/tmp/csprof-0/libcsprof_collector-bd9bc44979a793b5.so"));
        assert!(is_collector("libcsprof_collector.so"));
        assert!(!is_collector("/home/user/libcsprof_collector/libapp.so"));
        assert!(!is_collector(""));
    }

    #[test]
    fn threads_begin_in_the_c_library_and_in_openmp() {
        for path in
            ["/lib/libc.so.6", "/a/libgomp-a34b3233.so.1.0.0", "libomp.so.5", "libc-2.31.so"]
        {
            assert!(starts_threads(path), "{path}");
        }
        for path in [
            "/lib/libcurl.so.4",
            "/libgomp.so.1/program",
            "libompl.so",
            "libompitrace.so",
            "libc-client.so",
        ] {
            assert!(!starts_threads(path), "{path}");
        }
    }

    #[test]
    fn the_c_librarys_names_for_what_a_wrapper_calls() {
        for (wrapper, real) in [
            ("dlopen", "__dlopen"),
            ("pthread_create", "__pthread_create_2_1"),
            ("execve", "__GI___execve"),
            ("_Fork", "_Fork"),
            ("csprof_collector::preload::mpi::MPI_Send::stub", "MPI_Send"),
            (
                "csprof_collector::preload::regions::GOMP_parallel_loop_nonmonotonic_dynamic::stub",
                "gomp_team_end",
            ),
        ] {
            assert!(is_behind(wrapper, real), "{wrapper} {real}");
        }
        assert!(!is_behind("dlopen", "dl_iterate_phdr"));
        assert!(!is_behind("", "dlopen"));
    }
}
