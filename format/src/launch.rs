//! The environment contract between `csprof record` and the collector.
//!
//! The collector does nothing unless [`RUN_DIR`] is set. All variables are inherited by the
//! program's children, so every process of a run writes its arena into the same run folder, or
//! where that has no room left into the one on disk: `<RUN_DIR>/<pid>-<start time>.arena`. `record`
//! gathers them when the program has ended.

pub mod control;
mod event;
pub mod job;
mod phase_function;
mod source;

pub use self::event::{KernelEvent, LABEL_BYTES, Label};
pub use self::phase_function::{
    MOST_PHASE_FUNCTIONS, ModuleKey, PHASE_FUNCTION_NAME, PHASE_FUNCTIONS, PhaseFunction,
};
pub use self::source::{
    Detail, Details, Interrupts, MAX_PERIOD, MAX_SOURCES, MIN_PERIOD, Properties, Refused,
    SampleSource, SampleSources, SourceKind, Trigger, Unit, Until,
};

/// Folder in which each process of the run creates its arena. Absolute path.
pub const RUN_DIR: &str = "CSPROF_RUN_DIR";
/// Name of a symbolic link in [`RUN_DIR`] whose text is the [`Shares`] of the run.
pub const SHARES: &str = "shares";
/// Least address space (RLIMIT_AS) that a program must be allowed for the collector to be
/// preloaded, in bytes. That takes 4 MiB at the start, and more for each thread; programs must find
/// the rest.
pub const LEAST_ADDRESS_SPACE: u64 = 64 << 20;
/// The same for memory that only it can write to (RLIMIT_DATA), of which the collector takes 3 MiB.
pub const LEAST_DATA: u64 = 16 << 20;
/// What triggers samples: see [`SampleSources`].
pub const SOURCE: &str = "CSPROF_SOURCE";
/// `1` turns the return trampoline off.
pub const NO_TRAMPOLINE: &str = "CSPROF_NO_TRAMPOLINE";
/// `1` leaves what threads do in parallel regions below the starts of the threads.
pub const NO_REGIONS: &str = "CSPROF_NO_REGIONS";
/// `1` begins an epoch at every load, the rule of the ICS'05 paper (section 2.5.1).
pub const EPOCH_PER_LOAD: &str = "CSPROF_EPOCH_PER_LOAD";
/// `1` calls paths through code generated at run time.
pub const GENERATED: &str = "CSPROF_GENERATED";
/// Most bytes that each process may take for its arena, in decimal; without it, no limit but the
/// file system's.
pub const MEMORY: &str = "CSPROF_MEMORY";
/// Most bytes that each process may take for the times of its samples, in decimal; without it, no
/// times are kept.
pub const TIMES: &str = "CSPROF_TIMES";
/// `1` keeps the collector's one-line messages off standard error.
pub const QUIET: &str = "CSPROF_QUIET";
/// The dynamic loader's list of libraries to load first; the collector is its first entry.
pub const LD_PRELOAD: &str = "LD_PRELOAD";

/// What a run may take of file systems that others need, too. It may be absent: then all there is.
///
/// As text: `33554432:8589934592:/var/tmp/csprof-spill-1-x3fQ9a/arenas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares<'t> {
    /// Bytes that stay free on the file system of [`RUN_DIR`].
    pub leave: u64,
    /// Bytes that stay free on the file system of the folder below.
    pub spill_leave: u64,
    /// Folder on a disk for processes that find no room in the first one. Absolute; empty if there
    /// is none.
    pub spill: &'t [u8],
}

impl<'t> Shares<'t> {
    /// Reads the text; `None` for anything else.
    #[must_use]
    pub fn parse(text: &'t [u8]) -> Option<Self> {
        let mut parts = text.splitn(3, |&byte| byte == b':');
        let mut number = || core::str::from_utf8(parts.next()?).ok()?.parse().ok();
        let (leave, spill_leave) = (number()?, number()?);
        Some(Self { leave, spill_leave, spill: parts.next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_from_their_text() {
        let shares = Shares { leave: 32, spill_leave: 64, spill: b"/a:b" };
        assert_eq!(Shares::parse(b"32:64:/a:b"), Some(shares));
        for text in [&b""[..], b"32:64", b"32:x:/a", b":64:/a"] {
            assert_eq!(Shares::parse(text), None);
        }
    }
}
