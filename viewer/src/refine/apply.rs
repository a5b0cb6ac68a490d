//! Stages applied to a profile, one after the other, and the account of what they did.

use std::fmt;
use std::sync::Arc;

use csprof_format::profile as saved;

use super::children::{ChildIndex, LazyIndex, Order};
use super::column::{Column, Table, Workspace};
use super::costs::{Costs, in_width};
use super::edges::{LazyBounds, Procedures};
use super::matcher::{Names, Shown};
use super::name_order::NameOrder;
use super::predicate::Contexts;
use super::stages::{self, Stop};
use super::watch::Watch;
use super::{Account, Outcome, Refined, Refinement, Stage};
use crate::profile::{Count, Frame, FrameKind, Function, MetricRef, Nodes, Profile, Stream};

/// Why a stage cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefineError {
    /// Which stage, from 0.
    pub stage: usize,
    /// The part of it that is at fault, as the language writes it.
    pub part: String,
    /// What is wrong with it.
    pub cause: Cause,
}

/// What is wrong with a part of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It matches nothing that the stage is shown.
    Unmatched {
        /// What it was compared with: frames, threads, …
        among: &'static str,
        /// What there is instead, nearest first; empty if nothing is near.
        suggestions: Vec<String>,
    },
    /// What it matches was taken out, or made into something else, by the stages before it.
    Gone {
        /// What it was compared with: frames, threads, …
        among: &'static str,
        /// Whether these stages left no sample at all.
        nothing_left: bool,
    },
    /// It asks for one side of a comparison, and nothing is compared.
    NotCompared,
    /// It asks for a metric that there is not.
    NoMetric {
        /// Which sources there are.
        there: Vec<String>,
        /// Whether these are what is compared.
        compared: bool,
    },
    /// The callers would be more nodes than memory should be spent on.
    TooManyCallers {
        /// How many there may be.
        limit: usize,
    },
}

impl fmt::Display for RefineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Unmatched { among, suggestions } => {
                write!(f, "no {among} matches {}", self.part)?;
                if !suggestions.is_empty() {
                    write!(f, "; there is {}", suggestions.join(", "))?;
                }
                Ok(())
            }
            Cause::Gone { nothing_left: true, .. } => write!(
                f,
                "the stages before {} leave no samples: every one of them was taken out",
                self.part
            ),
            Cause::Gone { among, nothing_left: false } => write!(
                f,
                "no {among} that the stages before leave matches {}; the profile itself has one",
                self.part
            ),
            Cause::NotCompared => write!(
                f,
                "`{}` asks for one side of a comparison, and this is one profile; leave out its                  first word, or compare two: csprof diff",
                self.part
            ),
            Cause::NoMetric { there, compared: false } => write!(
                f,
                "no metric is called `{}`; there is samples, time, {}",
                self.part,
                there.join(", ")
            ),
            Cause::NoMetric { there, compared: true } => write!(
                f,
                "`{}` is not what is compared here, but {}; another metric is compared by csprof \
                 diff --metric",
                self.part,
                there.join(" with ")
            ),
            Cause::TooManyCallers { limit } => write!(
                f,
                "`{}` has more than {limit} paths of callers; select fewer paths before it",
                self.part
            ),
        }
    }
}

impl std::error::Error for RefineError {}

/// Why there is no refined profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// A stage cannot be applied.
    Refused(RefineError),
    /// It was asked for through the [`Watch`].
    Cancelled,
}

/// Applies all stages to a profile.
///
/// # Errors
/// A pattern matches no frame that its stage is shown, or a context no thread. Without stages
/// there is no error.
pub fn apply<'p>(
    profile: &'p Profile,
    refinement: &Refinement,
) -> Result<Refined<'p>, RefineError> {
    let watch = Watch::none();
    match Refined::base(profile).refine(&refinement.stages, &watch) {
        Ok(refined) => Ok(refined),
        Err(Stopped::Refused(error)) => Err(error),
        // Nobody asked for it.
        Err(Stopped::Cancelled) => Ok(Refined::base(profile)),
    }
}

impl Account {
    /// Samples that are shown now.
    pub(super) fn shown(&self) -> u64 {
        self.outcomes.last().map_or(self.base, |outcome| outcome.shown)
    }
}

impl<'p> Refined<'p> {
    /// The profile itself: no stages, everything shown. O(nodes), for the inclusive sums.
    #[must_use]
    pub fn base(profile: &'p Profile) -> Self {
        let costs = Costs::loaded(&profile.nodes);
        let account = |(metric, _)| {
            let base = if profile.nodes.is_empty() { 0 } else { costs.of_metric(0, metric).0 };
            Account { base, outcomes: Vec::new() }
        };
        let accounts: Vec<Account> = profile.metrics().map(account).collect();
        let total = accounts[0].base;
        Self {
            profile,
            metric: MetricRef::FIRST,
            accounts,
            is_inverted: false,
            selected_by: Vec::new(),
            functions: Table::loaded(&profile.functions),
            frames: Table::loaded(&profile.frames),
            parent: Column::loaded(&profile.nodes.parent),
            frame: Column::loaded(&profile.nodes.frame),
            costs,
            streams: Column::loaded(&profile.streams),
            outcomes: Vec::new(),
            base: total,
            shown: total,
            out: 0,
            shown_of_sides: None,
            index: LazyIndex::default(),
            order: Order::default(),
            frames_shown: Shown::default(),
            procedures: Arc::new(Procedures::of(profile)),
            names: Names::default(),
            name_order: NameOrder::default(),
            workspace: Workspace::default(),
        }
    }

    /// Another forest of the same samples, made by a view: of these nodes, without edges, whose
    /// frames may be of functions that are added. The samples of its nodes, exclusive and inclusive
    /// ones of each metric, need not add up.
    pub(crate) fn with_nodes(
        &self,
        added: Vec<Function>,
        frames: Vec<Frame>,
        nodes: Nodes,
        of_metrics: Vec<[Vec<u64>; 2]>,
        streams: Vec<Stream>,
        shown_of_sides: [u64; 2],
    ) -> Self {
        let mut functions = self.functions.clone();
        functions.add(added);
        Self {
            functions,
            frames: Table::made(frames),
            costs: Costs::without_edges(of_metrics),
            parent: nodes.parent.into(),
            frame: nodes.frame.into(),
            streams: streams.into(),
            shown_of_sides: Some(shown_of_sides),
            is_inverted: false,
            index: LazyIndex::default(),
            order: Order::default(),
            frames_shown: Shown::default(),
            ..self.clone()
        }
    }

    /// What one more stage makes of this. The present value stays as it is, so a viewer that
    /// keeps both can undo the stage; columns that the stage does not change are shared.
    ///
    /// # Errors
    /// As for [`apply`].
    pub fn then(&self, stage: &Stage) -> Result<Self, RefineError> {
        let number = self.outcomes.len();
        match self.clone().run(stage, &Watch::none()) {
            Ok(refined) => Ok(refined),
            Err(Stop::Refused { part, cause }) => Err(RefineError { stage: number, part, cause }),
            // Nobody asked for it.
            Err(Stop::Cancelled) => Ok(self.clone()),
        }
    }

    /// What further stages make of this. Columns that nobody else has are edited in place, so that
    /// many stages need hardly more memory than one.
    ///
    /// # Errors
    /// As for [`apply`], or because the watch asked for it.
    pub fn refine(self, stages: &[Stage], watch: &Watch<'_>) -> Result<Self, Stopped> {
        let mut refined = self;
        for (number, stage) in stages.iter().enumerate() {
            let passes = stages::passes(stage, refined.accounts.len());
            watch.begin(number, stages.len(), passes, refined.node_count());
            let before = refined.outcomes.len();
            refined = refined.run(stage, watch).map_err(|stop| match stop {
                Stop::Refused { part, cause } => {
                    Stopped::Refused(RefineError { stage: before, part, cause })
                }
                Stop::Cancelled => Stopped::Cancelled,
            })?;
            watch.end();
        }
        Ok(refined)
    }

    /// The same with another metric looked at.
    ///
    /// # Panics
    /// If there is no such metric.
    #[must_use]
    pub fn looking_at(mut self, metric: MetricRef) -> Self {
        let account = &self.accounts[metric.index()];
        self.metric = metric;
        self.base = account.base;
        self.shown = account.shown();
        self.out = self.base - self.shown;
        self.outcomes.clone_from(&account.outcomes);
        self
    }

    /// The metric that is looked at: its source, unit and period.
    #[must_use]
    pub fn looked_at(&self) -> &'p saved::Metric {
        self.source_of(self.metric)
    }

    /// The source, unit and period of a metric.
    ///
    /// # Panics
    /// If there is no such metric; as the next one.
    #[must_use]
    pub fn source_of(&self, metric: MetricRef) -> &'p saved::Metric {
        match metric.index().checked_sub(1) {
            None => &self.profile.info.metric,
            Some(further) => &self.profile.info.further[further].metric,
        }
    }

    /// The samples of a metric that the profile has, and those of them that are shown; the others
    /// are taken out.
    #[must_use]
    pub fn account_of(&self, metric: MetricRef) -> (u64, u64) {
        let account = &self.accounts[metric.index()];
        (account.base, account.shown())
    }

    fn run(self, stage: &Stage, watch: &Watch<'_>) -> Result<Self, Stop> {
        let (mut next, moved) = stages::run(self, stage, watch)?;
        for (metric, account) in (0..).map(MetricRef).zip(&mut next.accounts) {
            let input = account.shown();
            let shown = match next.parent.is_empty() {
                true => 0,
                false => next.costs.of_metric(0, metric).0,
            };
            let moved = moved.of(metric);
            account.outcomes.push(Outcome { input, shown, out: input - shown, moved });
        }
        if let Stage::Where(predicate) = stage {
            next.selected_by.push(predicate.clone());
        }
        let metric = next.metric;
        next = next.looking_at(metric);
        in_width!(&mut next.costs, costs => costs.bounds = LazyBounds::default());
        next.index = LazyIndex::default();
        if !stages::keeps_order(stage) {
            next.order = Order::default();
        }
        next.frames_shown = Shown::default();
        Ok(next)
    }

    /// For each of some contexts of the profile, whether the stages may show samples of it: not
    /// if they leave out its rank, process, thread or epoch.
    pub(crate) fn kept(&self, streams: &[Stream]) -> Vec<bool> {
        let contexts = Contexts::new(self);
        let fails = |stream, predicate| contexts.decides(stream, predicate) == Some(false);
        let is_kept = |stream| !self.selected_by.iter().any(|predicate| fails(stream, predicate));
        streams.iter().map(is_kept).collect()
    }

    /// Number of nodes, those not shown included.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.parent.len()
    }

    /// Exclusive samples shown of a node, of the metric that is looked at.
    ///
    /// # Panics
    /// If there is no such node; as the next ones.
    #[must_use]
    pub fn exclusive(&self, node: usize) -> u64 {
        self.of_metric(node, self.metric).1
    }

    /// Inclusive samples shown of a node: own plus those of all nodes below, of the metric that is
    /// looked at.
    #[must_use]
    pub fn inclusive(&self, node: usize) -> u64 {
        self.of_metric(node, self.metric).0
    }

    /// Whether samples of any metric are shown at a node or below.
    #[must_use]
    pub fn is_shown(&self, node: usize) -> bool {
        self.costs.inclusive(node) > 0
    }

    /// Samples of all metrics that are shown at a node or below; more than fit as the most that do.
    pub(crate) fn samples_below(&self, node: usize) -> u32 {
        u32::try_from(self.costs.inclusive(node)).unwrap_or(u32::MAX)
    }

    /// Inclusive and exclusive samples shown of a node that are of one metric.
    ///
    /// # Panics
    /// If there is no such metric.
    #[must_use]
    pub fn of_metric(&self, node: usize, metric: MetricRef) -> (u64, u64) {
        self.costs.of_metric(node, metric)
    }

    /// Inclusive samples of a node that are of one metric, and those that are its own: exclusive
    /// ones. Where callers stand below callees, the samples of a path lie where it ends, on its
    /// outermost caller; own they are to the function that it begins with, for whose callers
    /// somebody asked.
    ///
    /// # Panics
    /// If there is no such metric.
    #[must_use]
    pub fn own_of_metric(&self, node: usize, metric: MetricRef) -> (u64, u64) {
        let (inclusive, exclusive) = self.of_metric(node, metric);
        (inclusive, self.own(node, inclusive, exclusive))
    }

    /// The samples of these that are a node's own.
    #[inline]
    pub(crate) fn own<C: Count>(&self, node: usize, inclusive: C, exclusive: C) -> C {
        if !self.is_inverted || self.kind(node) == FrameKind::Context {
            return exclusive;
        }
        let above = self.parent[node] as usize;
        let begins = above == 0 || self.kind(above) == FrameKind::Context;
        if begins && node != 0 { inclusive } else { C::default() }
    }

    fn kind(&self, node: usize) -> FrameKind {
        self.frames[self.frame[node].index()].kind
    }

    /// Memory of the columns of all nodes, in bytes, and what of it is the profile's. Where samples
    /// and edges are less than four billion, a node takes 24 bytes at most: 16, and 8 for samples,
    /// exclusive and inclusive; and 8 for each further metric. Selections among the callers of a
    /// selection take 4 more, since they lose of edge counts that are between two bounds.
    #[must_use]
    pub fn bytes(&self) -> [usize; 2] {
        let costs = in_width!(&self.costs, costs => costs.bytes());
        let columns = [costs, self.parent.bytes(), self.frame.bytes()];
        [0, 1].map(|which| columns.iter().map(|bytes| bytes[which]).sum())
    }

    /// The edge count of a node, least and greatest possible; equal if it is known exactly. `None`
    /// for what has none: inlined frames, roots, threads and ranks. Of a node that is not shown it
    /// means nothing.
    #[must_use]
    pub fn edges(&self, node: u32) -> Option<(u64, u64)> {
        let node = node as usize;
        let kind = self.frames[self.frame[node].index()].kind;
        in_width!(&self.costs, costs => costs.edges(self).wide(node, kind))
    }

    /// Whether nodes below one another may count the same returns: in a tree of callers.
    pub(crate) fn is_of_callers(&self) -> bool {
        in_width!(&self.costs, costs => costs.recorded.marked)
    }

    /// Whether it is known which nodes are those of outermost activations: not where stages were
    /// applied to paths of which some are not whole.
    pub(crate) fn knows_outermost(&self) -> bool {
        self.outcomes.is_empty() || self.procedures.is_whole
    }

    /// Finds the edge counts of all nodes, unless that has been done: else it is done when the first
    /// of them is asked for. O(nodes).
    pub fn find_edges(&self) {
        in_width!(&self.costs, costs => _ = costs.edges(self));
    }

    /// Whether the edge counts of all nodes are exact.
    #[must_use]
    pub fn edges_are_exact(&self) -> bool {
        (0..self.node_count())
            .filter(|&node| self.is_shown(node))
            .filter_map(|node| self.edges(super::children::node_number(node)))
            .all(|(low, high)| low == high)
    }

    /// The children of every node; made when first asked for, then kept.
    #[must_use]
    pub fn children(&self) -> &ChildIndex {
        self.index.of(self)
    }
}
