//! Calls that pass through csprof's collector on their way.
//!
//! The collector wraps some functions of the C library (dlopen(3), pthread_create(3)). A wrapper's
//! frame between the program's frame and the real function's says nothing to a reader, so it is
//! left out, and the real function hangs under the program's frame. No samples move or get lost,
//! because a frame that is a caller has none; the returns of the real function stand for those of
//! its wrapper. Work of the collector's own (reading the load map,
//! preparing a thread) stays under its own name.

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::ids::FrameId;
use csprof_format::profile as saved;

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

    /// Whether the frame is in the collector.
    pub(super) fn is_own(&self, frame: FrameId) -> bool {
        self.own.get(frame.index()).is_some_and(|own| *own)
    }

    /// Whether the frame is a call in the collector.
    pub(super) fn may_be(&self, frame: FrameId) -> bool {
        self.calls.get(frame.index()).is_some_and(|call| *call)
    }
}

/// Whether a module is the collector, whose file name has a number for each version.
pub(crate) fn is_collector(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
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
    let wrapper = path.and_then(|path| path.rsplit("::").next()).unwrap_or(wrapper);
    !wrapper.is_empty() && real.contains(wrapper)
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
    fn the_c_librarys_names_for_what_a_wrapper_calls() {
        for (wrapper, real) in [
            ("dlopen", "__dlopen"),
            ("pthread_create", "__pthread_create_2_1"),
            ("execve", "__GI___execve"),
            ("_Fork", "_Fork"),
            ("csprof_collector::preload::mpi::MPI_Send::stub", "MPI_Send"),
        ] {
            assert!(is_behind(wrapper, real), "{wrapper} {real}");
        }
        assert!(!is_behind("dlopen", "dl_iterate_phdr"));
        assert!(!is_behind("", "dlopen"));
    }
}
