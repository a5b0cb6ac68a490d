//! Looking at a refinement while it is made, and ending it.
//!
//! A stage on ten million nodes takes a blink, a dozen of them a moment in which a user may press
//! the next key. Stages go over the nodes in stretches, and ask between two of them.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Nodes between two questions: some 100 µs.
const STRETCH: usize = 1 << 16;

/// What a stage reports to, and asks whether to go on.
pub struct Watch<'w> {
    cancelled: Option<&'w AtomicBool>,
    /// Called with the fraction of the work that is done, from 0 to 1, ascending.
    report: Option<&'w dyn Fn(f64)>,
    /// Passes over all nodes that are to be made, as far as is known.
    passes: Cell<usize>,
    nodes: Cell<usize>,
    done: Cell<usize>,
    /// Fractions of all the work at which the present stage begins and ends.
    share: Cell<(f64, f64)>,
    /// The same of the part that the present stage is one of.
    part: Cell<(f64, f64)>,
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("share", &self.share).finish_non_exhaustive()
    }
}

/// The refinement was ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// What some work makes that nobody looks at.
pub fn unwatched<T>(work: impl FnOnce(&Watch<'_>) -> Result<T, Cancelled>) -> T {
    match work(&Watch::none()) {
        Ok(made) => made,
        Err(Cancelled) => unreachable!("nobody can end it"),
    }
}

/// Whether a refinement is to end, for threads that make a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndAsked<'w>(Option<&'w AtomicBool>);

impl<'w> EndAsked<'w> {
    /// A watch of the thread's own, which reports nothing.
    pub(crate) fn watch(self) -> Watch<'w> {
        Watch { cancelled: self.0, ..Watch::none() }
    }
}

impl<'w> Watch<'w> {
    /// Nobody looks.
    #[must_use]
    pub fn none() -> Self {
        Self {
            cancelled: None,
            report: None,
            passes: Cell::new(1),
            nodes: Cell::new(1),
            done: Cell::new(0),
            share: Cell::new((0.0, 1.0)),
            part: Cell::new((0.0, 1.0)),
        }
    }

    /// The refinement ends soon after this becomes true.
    #[must_use]
    pub fn until(cancelled: &'w AtomicBool) -> Self {
        Self { cancelled: Some(cancelled), ..Self::none() }
    }

    /// Has the fraction of the work that is done reported, from 0 to 1.
    #[must_use]
    pub fn reporting(self, report: &'w dyn Fn(f64)) -> Self {
        Self { report: Some(report), ..self }
    }

    /// What follows is these of so many parts of all the work.
    pub fn parts(&self, these: Range<usize>, all: usize) {
        let fraction = |part: usize| part as f64 / all.max(1) as f64;
        self.part.set((fraction(these.start), fraction(these.end)));
    }

    /// A stage begins, one of so many.
    pub(crate) fn begin(&self, stage: usize, stages: usize, passes: usize, nodes: usize) {
        let (begin, end) = self.part.get();
        let fraction = |stage: usize| begin + (end - begin) * stage as f64 / stages.max(1) as f64;
        self.share.set((fraction(stage), fraction(stage + 1)));
        self.passes.set(passes.max(1));
        self.nodes.set(nodes.max(1));
        self.done.set(0);
    }

    /// So many nodes more are to be gone over; fails if the work is to end.
    pub(crate) fn step(&self, nodes: usize) -> Result<(), Cancelled> {
        if self.cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed)) {
            return Err(Cancelled);
        }
        if let Some(report) = self.report {
            let (begin, end) = self.share.get();
            let steps = self.passes.get() as f64 * self.nodes.get() as f64;
            // What is known of the passes is an estimate.
            report(begin + (end - begin) * (self.done.get() as f64 / steps).min(1.0));
            self.done.set(self.done.get() + nodes);
        }
        Ok(())
    }

    /// What threads that work for the stage ask whether to go on.
    pub(crate) fn end_asked(&self) -> EndAsked<'w> {
        EndAsked(self.cancelled)
    }

    /// The stage, and perhaps all work, is done.
    pub(crate) fn end(&self) {
        if let Some(report) = self.report {
            report(self.share.get().1);
        }
    }

    /// Calls `pass` for all numbers of the range, stretch by stretch in ascending order.
    pub(crate) fn forward(
        &self,
        nodes: Range<usize>,
        mut pass: impl FnMut(Range<usize>),
    ) -> Result<(), Cancelled> {
        let mut start = nodes.start;
        while start < nodes.end {
            let end = nodes.end.min(start + STRETCH);
            self.step(end - start)?;
            pass(start..end);
            start = end;
        }
        Ok(())
    }

    /// As [`Self::forward`], from the last stretch to the first.
    pub(crate) fn backward(
        &self,
        nodes: Range<usize>,
        mut pass: impl FnMut(Range<usize>),
    ) -> Result<(), Cancelled> {
        let mut end = nodes.end;
        while nodes.start < end {
            let start = nodes.start.max(end.saturating_sub(STRETCH));
            self.step(end - start)?;
            pass(start..end);
            end = start;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::profile::{Profile, from_outline};
    use crate::refine::{Refined, Stopped, parse};

    /// Two hundred thousand nodes below one, of two metrics.
    fn wide() -> Profile {
        let mut text = String::from("main\n");
        for number in 0..200_000 {
            text.push_str(&format!("  f{} 1 realtime:{}\n", number % 7, number % 2));
        }
        from_outline(&text).unwrap()
    }

    #[test]
    fn the_fraction_done_ascends_to_one() {
        let profile = wide();
        let reported = RefCell::new(Vec::new());
        let report = |fraction| reported.borrow_mut().push(fraction);
        let stages = parse("hide f1 | through f2 and not leaf f3 | collapse *").unwrap().stages;
        let watch = Watch::none().reporting(&report);
        assert!(Refined::base(&profile).refine(&stages, &watch).is_ok());
        let reported = reported.into_inner();
        assert!(reported.is_sorted() && reported[0] == 0.0, "{reported:?}");
        assert_eq!(reported.last(), Some(&1.0));
        assert!(reported.len() > 3 * stages.len(), "between two ends, too: {reported:?}");
    }

    #[test]
    fn every_stage_can_be_ended_on_its_way() {
        let profile = wide();
        let base = Refined::base(&profile);
        for text in [
            "through f1 > f2",
            "depth < 3",
            "node[excl(samples) > 3]",
            "hide f1",
            "stop at f1",
            "cut f1",
            "group f* as F",
            "collapse *",
            "collapse-run *",
            "fold f1",
            "root at main",
            "by module",
            "callers of f*",
            "split thread",
            "small edges >= 0",
        ] {
            let stages = parse(text).unwrap().stages;
            let cancelled = AtomicBool::new(false);
            let last = Cell::new(0.0);
            // As soon as a part of the work is done.
            let report = |fraction: f64| {
                last.set(fraction);
                cancelled.store(fraction > 0.0, Ordering::Relaxed);
            };
            let watch = Watch::until(&cancelled).reporting(&report);
            let ended = base.clone().refine(&stages, &watch);
            assert_eq!(ended.err(), Some(Stopped::Cancelled), "{text}");
            assert!(last.get() < 1.0, "{text}");
        }
    }
}
