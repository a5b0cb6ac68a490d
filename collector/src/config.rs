//! What `csprof record` asked for, and what else is read from the environment.

use crate::c_library;
use alloc::borrow::ToOwned;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::CStr;

use csprof_format::launch::job::Place;
use csprof_format::launch::{self, PhaseFunction, SampleSources, Shares};

use crate::sys;

/// The settings of this process. Children inherit the same environment.
#[derive(Clone, Debug)]
pub struct Config {
    /// Folder for the arena.
    pub run_dir: CString,
    /// Folder for an arena that finds no room there.
    pub spill_dir: Option<CString>,
    /// Bytes that stay free on the file systems of the two.
    pub leave: [u64; 2],
    /// What triggers samples.
    pub sources: SampleSources,
    /// Whether return addresses may be replaced.
    pub trampoline: bool,
    /// Whether what threads do in parallel regions is below the code that opened them.
    pub regions: bool,
    /// Whether every load begins an epoch.
    pub epoch_per_load: bool,
    /// Whether paths lead through code generated at run time.
    pub generated: bool,
    /// Most bytes that the arena may take.
    pub memory: u64,
    /// Most bytes that the times of samples may take; 0 if none are kept.
    pub times: u64,
    /// Whether messages stay off standard error.
    pub quiet: bool,
    /// Functions whose entries begin phases.
    pub phase_functions: Vec<PhaseFunction>,
}

impl Config {
    /// The settings, or `None` where csprof did not launch this program.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        let run_dir = variable(launch::RUN_DIR)?.to_owned();
        if run_dir.is_empty() {
            return None;
        }
        let flag = |name| variable(name).is_some_and(|value| value.to_bytes() == b"1");
        let sources = variable(launch::SOURCE)
            .and_then(|text| SampleSources::parse(text.to_str().ok()?))
            .unwrap_or(SampleSources::DEFAULT);
        let bytes = |name| variable(name)?.to_str().ok()?.parse().ok();
        let memory = bytes(launch::MEMORY).unwrap_or(u64::MAX);
        let times = bytes(launch::TIMES).unwrap_or(0);
        let text = sys::read_link(&path_in(&run_dir, launch::SHARES));
        let shares = text.as_deref().and_then(Shares::parse);
        let spill_dir = shares.and_then(|shares| CString::new(shares.spill).ok());
        let leave = shares.map_or([0; 2], |shares| [shares.leave, shares.spill_leave]);
        let functions = sys::read_link(&path_in(&run_dir, launch::PHASE_FUNCTIONS));
        let phase_functions = functions.as_deref().map(PhaseFunction::parse_all);
        Some(Self {
            phase_functions: phase_functions.unwrap_or_default(),
            spill_dir: spill_dir.filter(|path| !path.is_empty()),
            leave,
            memory,
            times,
            run_dir,
            sources,
            trampoline: !flag(launch::NO_TRAMPOLINE),
            regions: !flag(launch::NO_REGIONS),
            epoch_per_load: flag(launch::EPOCH_PER_LOAD),
            generated: flag(launch::GENERATED),
            quiet: flag(launch::QUIET),
        })
    }

    /// Path of the control page.
    #[must_use]
    pub fn control(&self) -> CString {
        path_in(&self.run_dir, launch::control::CONTROL)
    }
}

/// The path of what has this name in a folder.
fn path_in(folder: &CStr, name: &str) -> CString {
    let mut path = folder.to_bytes().to_vec();
    path.push(b'/');
    path.extend_from_slice(name.as_bytes());
    CString::new(path).unwrap_or_default()
}

/// Where a launcher put this process in its job. Setup side.
#[must_use]
pub fn place() -> Option<Place> {
    Place::of(|name| variable(name).map(CStr::to_bytes))
}

/// The value of an environment variable. Setup side, before the program's `main`, and in a forked
/// child.
#[expect(unsafe_code, reason = "strings of the environment")]
fn variable(name: &str) -> Option<&'static CStr> {
    // SAFETY: there is no other thread yet that could change the environment, and the value is used
    // before the program goes on.
    let mut strings = unsafe { c_library::strings(c_library::environment()) };
    strings.find_map(|string| {
        // Not by CStr, which would look for the end of each string: in each forked child some fifty
        // names are looked for in an environment of a hundred.
        let mut rest = string;
        for byte in name.bytes().chain([b'=']) {
            // SAFETY: what is behind the byte that was compared before, which was not the last.
            if unsafe { *rest }.cast_unsigned() != byte {
                return None;
            }
            // SAFETY: no name has a 0, so this was not the end.
            rest = unsafe { rest.add(1) };
        }
        // SAFETY: the rest of a string.
        Some(unsafe { CStr::from_ptr(rest) })
    })
}
