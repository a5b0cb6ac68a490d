//! Stages applied to a profile, one after the other, and the account of what they did.

use super::forest::costs::in_width;
use super::forest::error::{RefineError, Stop, Stopped};
use super::forest::lazy::Lazy;
use super::forest::refined::{Outcome, Refined};
use super::lang::stage::{Refinement, Stage};
use super::lang::syntax::{Field, FramePattern};
use super::select::contexts::Contexts;
use super::stages::placed::Placed;
use super::stages::step::{Step, Transform};
use super::stages::transform;
use super::watch::{Cancelled, Watch, unwatched};
use crate::profile::{Frame, FrameKind, Function, MetricRef, Profile, Stream};

/// Applies all stages to a profile.
///
/// # Errors
/// A pattern matches no frame that its stage is shown, or a context no thread. Without stages
/// there is no error.
pub fn apply(profile: &Profile, refinement: &Refinement) -> Result<Refined, RefineError> {
    Refined::base(profile).refine_unwatched(&refinement.stages)
}

impl Refined {
    /// What one more stage makes of this. The present value stays as it is, so a viewer that
    /// keeps both can undo the stage; columns that the stage does not change are shared.
    ///
    /// # Errors
    /// As for [`apply`].
    pub fn then(&self, stage: &Stage) -> Result<Self, RefineError> {
        self.clone().refine_unwatched(std::slice::from_ref(stage))
    }

    /// As [`Refined::refine`], with nobody who watches.
    ///
    /// # Errors
    /// As for [`apply`].
    pub(crate) fn refine_unwatched(self, stages: &[Stage]) -> Result<Self, RefineError> {
        unwatched(|watch| Stopped::nested(self.refine(stages, watch)))
    }

    /// What further stages make of this. Columns that nobody else has are edited in place, so that
    /// many stages need hardly more memory than one.
    ///
    /// # Errors
    /// As for [`apply`], or because the watch asked for it.
    pub fn refine(self, stages: &[Stage], watch: &Watch<'_>) -> Result<Self, Stopped> {
        let mut refined = self;
        for (number, stage) in stages.iter().enumerate() {
            let transform = transform(stage);
            let passes = transform.passes(refined.accounts.len());
            watch.begin(number, stages.len(), passes, refined.node_count());
            let stage = refined.outcomes.len();
            refined = refined.run(&*transform, watch).map_err(|stop| match stop {
                Stop::Refused { part, cause } => {
                    Stopped::Refused(RefineError { stage, part, cause })
                }
                Stop::Cancelled => Stopped::Cancelled,
            })?;
            watch.end();
        }
        Ok(refined)
    }

    /// The same without the rows of loops (`by loop`): their samples are those of the functions
    /// again whose code they are. What asks where in its code a function spends must not ask its
    /// loops, which have no address of their own. O(nodes) if there are any.
    ///
    /// # Errors
    /// The watch ended it.
    pub(crate) fn without_loops(&self, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        if !self.has_loops() {
            return Ok(self.clone());
        }
        let word = FrameKind::Loop.definition().word;
        let hide = Stage::Hide(FramePattern::Field(Field::Kind, word.to_owned()));
        match self.clone().refine(&[hide], watch) {
            Ok(refined) => Ok(refined),
            Err(Stopped::Cancelled) => Err(Cancelled),
            // None is shown.
            Err(Stopped::Refused(_)) => Ok(self.clone()),
        }
    }

    /// Whether there are rows of loops.
    pub(crate) fn has_loops(&self) -> bool {
        self.frames.iter().any(|frame| frame.kind == FrameKind::Loop)
    }

    /// The same with places, such as lines of a file, for the functions of some frames. Their
    /// numbers are those behind all functions that there are. O(frames).
    pub(crate) fn placed(
        self,
        places: Vec<Function>,
        place_of: &dyn Fn(&Frame) -> Option<usize>,
    ) -> Self {
        let whole = self.clone();
        // Fails for no forest: nothing is looked for, and nothing asks for the end.
        self.run(&Placed { places, place_of }, &Watch::none()).unwrap_or(whole)
    }

    fn run(self, transform: &dyn Transform, watch: &Watch<'_>) -> Result<Self, Stop> {
        let Step { refined: mut next, moved, effect } = transform.run(self, watch)?;
        for (metric, account) in (0..).map(MetricRef).zip(&mut next.accounts) {
            let input = account.shown();
            let shown = match next.parent.is_empty() {
                true => 0,
                false => next.costs.of_metric(0, metric).0,
            };
            let moved = moved.of(metric);
            account.outcomes.push(Outcome { input, shown, out: input - shown, moved });
        }
        let metric = next.metric;
        next = next.looking_at(metric);
        in_width!(&mut next.costs, costs => {
            costs.recorded.after(effect);
            costs.bounds = Lazy::default();
        });
        next.index = Lazy::default();
        if !transform.keeps_order() {
            next.order = Lazy::default();
        }
        next.frames_shown = Lazy::default();
        Ok(next)
    }

    /// For each of some streams of the profile, whether the stages may show samples of it: not if
    /// they leave out its rank, or another context of it.
    pub(crate) fn kept(&self, streams: &[Stream]) -> Vec<bool> {
        let contexts = Contexts::new(self);
        let fails = |stream, predicate| contexts.decides(stream, predicate) == Some(false);
        let is_kept = |stream| !self.selected_by.iter().any(|predicate| fails(stream, predicate));
        streams.iter().map(is_kept).collect()
    }
}
