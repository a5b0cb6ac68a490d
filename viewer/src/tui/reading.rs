//! A program that runs, as it was at a moment, and who reads it.

use std::sync::Arc;
use std::time::Duration;

use super::forest::{Forest, Refusal};
use super::made::{Made, Wanted};
use crate::profile::Profile;
use crate::refine::Refined;

/// A profile at a moment.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What had been sampled.
    pub profile: Profile,
    /// For how long it had gone on and was not paused, in nanoseconds: what rates are for.
    pub sampled_ns: u64,
    /// Whether the run has ended, so that there will be no more.
    pub is_over: bool,
}

/// Reads the profile of a program that runs; an error is for people.
pub type LiveReader = Arc<dyn Fn() -> anyhow::Result<Reading> + Send + Sync>;

/// What a reading gave.
#[derive(Clone, Debug)]
pub struct Refreshed {
    /// The number under which it was asked for.
    pub ticket: u64,
    /// When the next one is to begin.
    pub pause: Duration,
    /// The reading and what is to be shown of it, or why there is none.
    pub outcome: Result<Shown, Refusal>,
}

/// What is to be shown of a reading.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The reading.
    pub reading: Reading,
    /// The profile without stages that is shown.
    pub base: Refined,
    /// The same, refined.
    pub forest: Forest,
    /// What the view wants to be made of that.
    pub made: Option<(Wanted, Made)>,
}
