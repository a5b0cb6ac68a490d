//! Versions of the saved profile.

/// Files of another major version are not readable here.
pub(crate) const MAJOR: u16 = 1;
/// The minor version of a profile in which threads stand for several. Files of a later one are
/// readable: blocks that this version does not know can be skipped.
pub(crate) const MINOR_OF_EARLIER: u16 = 10;
/// The minor version of a profile that is a sum over processes, without these.
pub(crate) const MINOR_OF_SUMS: u16 = 9;
/// The minor version of a profile with reasons for losses or partial paths that only processes have
/// which are sampled from outside, and that is no sum.
pub(crate) const MINOR_OF_OUTSIDE: u16 = 8;
/// The minor version of a profile that names phases, without these.
pub(crate) const MINOR_OF_PHASES: u16 = 7;
/// The minor version of a profile that keeps when samples were taken, without these.
pub(crate) const MINOR_OF_TIMES: u16 = 6;
/// The minor version of a profile that keeps lines of source files, without these.
pub(crate) const MINOR_OF_SOURCES: u16 = 5;
/// The minor version of a profile with files of modules, or that says how it is to be refined,
/// without these.
pub(crate) const MINOR_OF_FILES: u16 = 4;
/// The minor version of a profile with loops or tail calls, without these.
pub(crate) const MINOR_OF_STRUCTURE: u16 = 3;
/// The minor version of a profile of several metrics, without these.
pub(crate) const MINOR_OF_METRICS: u16 = 2;
/// The minor version of a profile of one metric, of several runs or with accounts.
pub(crate) const MINOR_OF_RUNS: u16 = 1;
/// The minor version of a profile of one metric and run without accounts: everything in it is known
/// to 1.0.
pub(crate) const MINOR_OF_SAMPLES: u16 = 0;
