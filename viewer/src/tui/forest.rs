//! What the screens need of one refinement, made where a worker can make it: each is O(nodes).

use crate::profile::{MetricRef, Profile};
use crate::refine::{Cancelled, Grain, Refined, Sets, Stopped, Watch, unwatched};
use crate::views::places::places;
use crate::views::top_down::TopDown;

use super::stages::Stages;

/// A refined profile and its top-down tree, all rows closed.
#[derive(Clone, Debug)]
pub struct Forest {
    /// The refined profile.
    pub refined: Refined,
    /// Calling contexts.
    pub top_down: TopDown,
}

impl Forest {
    /// Refines a profile by the stages that are on. O(nodes) for each.
    ///
    /// # Errors
    /// If a stage cannot be read, or cannot be applied to this profile.
    pub fn new(profile: &Profile, stages: &Stages, sets: &Sets) -> Result<Self, Refusal> {
        Self::made_of(&Refined::base(profile), stages, sets)
    }

    /// The same of a profile without stages, which is kept.
    ///
    /// # Errors
    /// As for [`Forest::new`].
    pub fn made_of(base: &Refined, stages: &Stages, sets: &Sets) -> Result<Self, Refusal> {
        unwatched(|watch| match refine(base, stages, sets, watch) {
            Ok(refined) => Self::of(refined, watch).map(Ok),
            Err(Unmade::Refused(refusal)) => Ok(Err(refusal)),
            Err(Unmade::Cancelled) => Err(Cancelled),
        })
    }

    /// What the screens need of a refined profile, unless that is ended on its way. O(nodes).
    ///
    /// # Errors
    /// The watch asked for it.
    pub fn of(refined: Refined, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        let top_down = TopDown::new(&refined, watch)?;
        Ok(Self { refined, top_down })
    }

    /// The same with another metric looked at.
    #[must_use]
    pub fn looking_at(self, metric: MetricRef) -> Self {
        Self { refined: self.refined.looking_at(metric), ..self }
    }

    /// The places of a refined profile, the outermost of this level.
    ///
    /// # Errors
    /// The watch asked for it.
    pub fn of_places(
        refined: &Refined,
        outermost: Grain,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        Self::of(places(refined, outermost, watch)?, watch)
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

/// Why there is no refinement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmade {
    /// It cannot be made.
    Refused(Refusal),
    /// Nobody wants it any more.
    Cancelled,
}

impl From<Refusal> for Unmade {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Cancelled> for Unmade {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<Stopped> for Unmade {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Refused(error) => {
                Self::Refused(Refusal { cause: error.to_string(), part: Some(error.part) })
            }
            Stopped::Cancelled => Self::Cancelled,
        }
    }
}

/// Refines a profile, given without stages, by those that are on.
///
/// # Errors
/// If a stage cannot be read, or cannot be applied to this profile, or the watch wants no more.
pub fn refine(
    base: &Refined,
    stages: &Stages,
    sets: &Sets,
    watch: &Watch<'_>,
) -> Result<Refined, Unmade> {
    let mut all = Vec::new();
    for text in stages.active() {
        let refinement =
            sets.parse(text).map_err(|error| Refusal { cause: error.message, part: None })?;
        all.extend(refinement.stages);
    }
    Ok(base.clone().refine(&all, watch)?)
}
