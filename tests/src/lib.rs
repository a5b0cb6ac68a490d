//! The harness of the system tests: they compile small programs, run them alone and under
//! `csprof record`, and compare what csprof says about them with what is known in advance.
//!
//! ```text
//! binary      the csprof under test, built once if need be
//! workshop    a folder for one test: compiles workloads, runs commands
//! deadline    runs a command; one that hangs fails its test
//! recording   a recorded profile: its laws, its information, its call paths
//! hazard      a program that profilers stumble over, and its known answer
//! hazards     the tables of them
//! generator   random hazards, held against themselves alone
//! job         the ranks of a made-up job, with what each costs on each path
//! script      a real program of `tests/programs`, which says what it says alone
//! paths       call paths as a report shows them, with their numbers
//! installed   is a tool here? if not, the test says so and is skipped
//! small_disk  a disk that is full soon
//! sources     the workspace's own sources, read
//! modules     which of their modules names which
//! terminal    a csprof on a terminal: keys in, screens out
//! notes       lines that are shown although a test passes
//! ```
//!
//! Nothing here links the collector, and nothing waits for a time to pass: commands are waited
//! for, screens are read until they show what is expected. Shares of samples are statistical; the
//! bounds are those of [`paths::is_share`].

#![expect(clippy::unwrap_used, reason = "a test that cannot run has failed, and says where")]

pub mod binary;
pub mod deadline;
pub mod generator;
pub mod hazard;
pub mod hazards;
pub mod installed;
pub mod job;
pub mod modules;
pub mod notes;
pub mod paths;
pub mod recording;
pub mod script;
pub mod small_disk;
pub mod sources;
pub mod terminal;
pub mod workshop;
