//! One refinement with everything the screens need of it, made in one go so that a worker can do it.

use crate::profile::Profile;
use crate::refine::{Refined, parse};
use crate::views::callers::Callers;
use crate::views::top_down::TopDown;

use super::stages::Stages;

/// A refined profile and its trees, all rows closed.
#[derive(Clone, Debug)]
pub struct Forest<'p> {
    /// The refined profile.
    pub refined: Refined<'p>,
    /// Calling contexts.
    pub top_down: TopDown,
    /// Functions and their callers.
    pub callers: Callers,
}

impl<'p> Forest<'p> {
    /// Refines a profile by the stages that are on. O(nodes) for each.
    ///
    /// # Errors
    /// If a stage cannot be read, or cannot be applied to this profile.
    pub fn new(profile: &'p Profile, stages: &Stages) -> Result<Self, Refusal> {
        let refined = refine(profile, stages)?;
        let top_down = TopDown::new(&refined);
        let callers = Callers::new(&refined, top_down.index());
        Ok(Self { refined, top_down, callers })
    }
}

/// Why a refinement could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A sentence for people.
    pub cause: String,
    /// The part of the text that is at fault, as far as it is known.
    pub part: Option<String>,
}

/// Refines a profile by the stages that are on.
///
/// # Errors
/// If a stage cannot be read, or cannot be applied to this profile.
pub fn refine<'p>(profile: &'p Profile, stages: &Stages) -> Result<Refined<'p>, Refusal> {
    let mut refined = Refined::base(profile);
    for text in stages.active() {
        let refinement =
            parse(text).map_err(|error| Refusal { cause: error.message, part: None })?;
        for stage in &refinement.stages {
            refined = refined
                .then(stage)
                .map_err(|error| Refusal { cause: error.to_string(), part: Some(error.part) })?;
        }
    }
    Ok(refined)
}
