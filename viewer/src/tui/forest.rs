//! What the screens need of one refinement, made where a worker can make it: each is O(nodes).

use crate::profile::Profile;
use crate::refine::{Chain, Refined, Sets};
use crate::views::callers::Callers;
use crate::views::child_index::ChildIndex;
use crate::views::hall::{HallTable, Reach, Way};
use crate::views::top_down::TopDown;

use super::stages::Stages;

/// A refined profile and its top-down tree, all rows closed.
#[derive(Clone, Debug)]
pub struct Forest<'p> {
    /// The refined profile.
    pub refined: Refined<'p>,
    /// Calling contexts.
    pub top_down: TopDown,
}

impl<'p> Forest<'p> {
    /// Refines a profile by the stages that are on. O(nodes) for each.
    ///
    /// # Errors
    /// If a stage cannot be read, or cannot be applied to this profile.
    pub fn new(profile: &'p Profile, stages: &Stages, sets: &Sets) -> Result<Self, Refusal> {
        let refined = refine(profile, stages, sets)?;
        let top_down = TopDown::new(&refined);
        Ok(Self { refined, top_down })
    }
}

/// The functions of a refinement and their callers. O(nodes). Made only when somebody looks at
/// them: a user may never, and the first screen is to come at once.
///
/// # Errors
/// If a stage cannot be read, or cannot be applied to this profile.
pub fn callers(profile: &Profile, stages: &Stages, sets: &Sets) -> Result<Callers, Refusal> {
    let refined = refine(profile, stages, sets)?;
    Ok(Callers::new(&refined))
}

/// The table of a path. O(nodes).
///
/// # Errors
/// If a stage cannot be read or applied to this profile, or the path is not in what is shown.
pub fn table(
    profile: &Profile,
    stages: &Stages,
    sets: &Sets,
    path: Option<&Chain>,
    way: Way,
    reach: Reach,
) -> Result<HallTable, Refusal> {
    let refined = refine(profile, stages, sets)?;
    HallTable::new(&refined, &ChildIndex::new(&refined), path, way, reach)
        .map_err(|error| Refusal { cause: error.to_string(), part: Some(error.part) })
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
pub fn refine<'p>(
    profile: &'p Profile,
    stages: &Stages,
    sets: &Sets,
) -> Result<Refined<'p>, Refusal> {
    let mut refined = Refined::base(profile);
    for text in stages.active() {
        let refinement =
            sets.parse(text).map_err(|error| Refusal { cause: error.message, part: None })?;
        for stage in &refinement.stages {
            refined = refined
                .then(stage)
                .map_err(|error| Refusal { cause: error.to_string(), part: Some(error.part) })?;
        }
    }
    Ok(refined)
}
