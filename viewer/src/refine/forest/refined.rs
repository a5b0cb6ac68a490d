//! A profile after refinement: its nodes and what is known of them.

use std::sync::Arc;

use csprof_format::beside::{MANY_NODES, both};
use csprof_format::profile as saved;

use super::bits::Bits;
use super::children::ChildIndex;
use super::costs::{Costs, in_width};
use super::lazy::Lazy;
use super::name_order;
use super::procedures::Procedures;
use super::timing::Timing;
use super::workspace::{Table, Workspace};
use crate::profile::{
    Column, Count, Frame, FrameKind, FrameRef, Function, FunctionKey, FunctionRef, MetricRef,
    NodesBuilder, Profile, Spreads, Stream, TimedSamples, Window, parts_of,
};
use crate::refine::lang::syntax::Predicate;
use crate::refine::pattern::names::Names;
use crate::refine::watch::{Cancelled, Watch, unwatched};

/// A profile after refinement.
///
/// `parent[n] < n` for every node but node 0, the root of everything. Nodes without samples below
/// them (taken out, or merged into others) have `inclusive == 0` and are not shown. Samples that a
/// stage left without any frame sit on nodes below node 0 whose frame is the root's, `<root>`: one
/// at most for each outermost node, so that they keep their thread and epoch.
///
/// A node takes 8 bytes for parent and frame, 8 for its samples, exclusive and inclusive, and 8 for
/// what edge counts are computed from ([`Refined::edges`]), nearly all of it shared with the
/// profile; and 8 for each metric beside the first; and 8 for bounds of edge counts, where these
/// are asked for after samples were taken out; see [`Refined::bytes`]. Cloning is cheap: stages
/// share the columns that they do not change.
#[derive(Clone, Debug)]
pub struct Refined {
    /// The profile that was refined.
    pub profile: Profile,
    /// Functions: those of the profile, then those that stages made: groups, lines, files, modules,
    /// contexts and small rows.
    pub functions: Table<Function>,
    /// Frames: those of the profile, then those that stages made.
    pub frames: Table<Frame>,
    /// Parent of each node; 0 for node 0.
    pub parent: Column<u32>,
    /// Frame of each node.
    pub frame: Column<FrameRef>,
    /// Threads and epochs of the nodes, as in the profile.
    pub streams: Column<Stream>,
    /// The metric that is looked at: what [`Refined::inclusive`] and [`Refined::exclusive`], and
    /// the four numbers below, are about. Stages do the same to all metrics.
    pub metric: MetricRef,
    /// One for each stage, in order.
    pub outcomes: Vec<Outcome>,
    /// Samples of the profile.
    pub base: u64,
    /// Samples shown. `shown + out = base`.
    pub shown: u64,
    /// Samples taken out by the stages together.
    pub out: u64,
    /// What was measured and what the stages did, of each metric in their order.
    pub(crate) accounts: Vec<Account>,
    /// Whether paths lead from callees to callers: `callers of` turns them round.
    pub(crate) is_inverted: bool,
    /// What the stages selected by, for [`Refined::kept`].
    pub(crate) selected_by: Vec<Predicate>,
    pub(crate) costs: Costs,
    /// Where the samples are that have a time; nowhere in forests that views make.
    pub(crate) timing: Timing,
    /// Samples shown in each column of weights, where nodes do not add up to them.
    pub(crate) shown_by_column: Option<Arc<[u64]>>,
    /// The children of every node.
    pub(crate) index: Lazy<ChildIndex>,
    /// Whether the nodes that are shown are numbered depth first; shared by all forests that have
    /// their order from one another.
    pub(crate) order: Lazy<bool>,
    /// The frames that nodes with samples have.
    pub(crate) frames_shown: Lazy<Bits>,
    pub(crate) procedures: Arc<Procedures>,
    pub(crate) names: Names,
    /// The order of the profile's functions by name; shared by all forests made of the profile.
    pub(crate) name_order: Lazy<Vec<u32>>,
    pub(crate) workspace: Workspace,
}

/// The account of one metric.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    /// Samples of the profile.
    pub(crate) base: u64,
    /// One for each stage, in order.
    pub(crate) outcomes: Vec<Outcome>,
}

/// What one stage did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Samples that entered the stage.
    pub input: u64,
    /// Samples it let through. `shown + out = input`.
    pub shown: u64,
    /// Samples it took out.
    pub out: u64,
    /// Samples it moved to another frame.
    pub moved: u64,
}

impl Account {
    /// Samples that are shown now.
    pub(crate) fn shown(&self) -> u64 {
        self.outcomes.last().map_or(self.base, |outcome| outcome.shown)
    }
}

impl Refined {
    /// The profile itself: no stages, everything shown. O(nodes), for the inclusive sums.
    #[must_use]
    pub fn base(profile: &Profile) -> Self {
        let parts = parts_of(&profile.streams, profile.nodes.len());
        let procedures = || Procedures::of(profile);
        let costs = || Costs::loaded(&profile.nodes, &parts);
        let (procedures, costs) = both(profile.nodes.len() >= MANY_NODES, procedures, costs);
        let account = |metric| {
            let base = if profile.nodes.is_empty() { 0 } else { costs.of_metric(0, metric).0 };
            Account { base, outcomes: Vec::new() }
        };
        // Of a comparison also those that the profile does not list.
        let metrics = (0..).map(MetricRef).take(1 + profile.nodes.further.len());
        let accounts: Vec<Account> = metrics.map(account).collect();
        let total = accounts[0].base;
        Self {
            profile: profile.clone(),
            metric: MetricRef::FIRST,
            accounts,
            is_inverted: false,
            selected_by: Vec::new(),
            functions: Table::loaded(&profile.functions),
            frames: Table::loaded(&profile.frames),
            parent: profile.nodes.parent.clone(),
            frame: profile.nodes.frame.clone(),
            costs,
            timing: Timing::of(profile),
            streams: profile.streams.to_vec().into(),
            outcomes: Vec::new(),
            base: total,
            shown: total,
            out: 0,
            shown_by_column: None,
            index: Lazy::default(),
            order: Lazy::default(),
            frames_shown: Lazy::default(),
            procedures: Arc::new(procedures),
            names: Names::default(),
            name_order: Lazy::default(),
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
        nodes: NodesBuilder,
        of_metrics: Vec<[Vec<u64>; 2]>,
        streams: Vec<Stream>,
        shown_by_column: Vec<u64>,
    ) -> Self {
        let mut functions = self.functions.clone();
        functions.add(added);
        Self {
            functions,
            frames: Table::made(frames),
            costs: Costs::without_edges(of_metrics),
            timing: Timing::default(),
            parent: nodes.parent.into(),
            frame: nodes.frame.into(),
            streams: streams.into(),
            shown_by_column: Some(shown_by_column.into()),
            is_inverted: false,
            index: Lazy::default(),
            order: Lazy::default(),
            frames_shown: Lazy::default(),
            ..self.clone()
        }
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

    /// All metrics of the nodes: those of the profile; of a comparison also those that it has
    /// beside for formulas.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = MetricRef> + use<> {
        (0..).map(MetricRef).take(self.accounts.len())
    }

    /// The metric that is looked at: its source, unit and period.
    #[must_use]
    pub fn looked_at(&self) -> &saved::Metric {
        self.source_of(self.metric)
    }

    /// The source, unit and period of a metric.
    ///
    /// # Panics
    /// If there is no such metric; as the next one.
    #[must_use]
    pub fn source_of(&self, metric: MetricRef) -> &saved::Metric {
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

    /// Inclusive and exclusive samples shown of a node, of all metrics together.
    #[must_use]
    pub(crate) fn samples_of_all(&self, node: usize) -> (u64, u64) {
        in_width!(&self.costs, costs => costs.all.at(node))
    }

    /// Whether samples of any metric are shown at a node or below.
    #[must_use]
    pub fn is_shown(&self, node: usize) -> bool {
        self.costs.inclusive(node) > 0
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

    /// Whether any sample has a time, as far as this forest says where it is.
    #[must_use]
    pub fn has_times(&self) -> bool {
        !self.timing.is_empty()
    }

    /// What the stages left of the run.
    #[must_use]
    pub fn window(&self) -> Window {
        self.timing.window()
    }

    /// Samples that are shown and have a time, and the node that each is on.
    pub(crate) fn timed(&self) -> impl Iterator<Item = (u32, &TimedSamples)> {
        self.timing.shown(&self.profile)
    }

    /// How many of such samples are shown, and are of a part of the run.
    #[must_use]
    pub(crate) fn within(&self, row: &TimedSamples, part: Window) -> u64 {
        self.timing.within(&self.profile, row, part)
    }

    /// How the costs of recorded paths are spread over ranks, if the profile is a sum and its nodes
    /// still are these paths. Stages may have taken samples out of them.
    #[must_use]
    pub fn spreads(&self) -> Option<&Spreads> {
        let is_as_recorded = self.parent.as_ptr() == self.profile.nodes.parent.as_ptr()
            && self.shown_by_column.is_none();
        Some(&*self.profile.spreads).filter(|spreads| is_as_recorded && spreads.ranks() > 0)
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

    /// Whether paths lead from callees to callers: `callers of` turned them round.
    #[must_use]
    pub fn is_inverted(&self) -> bool {
        self.is_inverted
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

    /// Whether threads had others run code, in whose trees are copies of their call paths.
    pub(crate) fn has_handovers(&self) -> bool {
        self.procedures.has_handovers
    }

    /// The children of every node; made when first asked for, then kept.
    #[must_use]
    pub fn children(&self) -> &ChildIndex {
        unwatched(|watch| self.index_children(watch))
    }

    /// The same, watched: indexing is O(nodes).
    pub(crate) fn index_children(&self, watch: &Watch<'_>) -> Result<&ChildIndex, Cancelled> {
        self.index.get_or_try_make(|| {
            watch.begin(0, 1, 2, self.node_count());
            in_width!(&self.costs, costs => {
                let parts = parts_of(&self.streams, self.node_count());
                ChildIndex::of_columns(&self.parent, &costs.all.inclusive, &parts, watch)
            })
        })
    }

    /// The frames that nodes with samples have. The first time, O(nodes).
    pub(crate) fn frames_shown(&self) -> &Bits {
        self.frames_shown.get_or_make(|| {
            let mut shown = Bits::none(self.frames.len());
            in_width!(&self.costs, costs => {
                for (frame, &inclusive) in self.frame.iter().zip(&costs.all.inclusive) {
                    if inclusive > Default::default() {
                        shown.insert(frame.index());
                    }
                }
            });
            shown
        })
    }

    /// Whether frames of one procedure become different things.
    pub(crate) fn are_procedures_parted<T: PartialEq>(&self, becomes: impl Fn(usize) -> T) -> bool {
        self.procedures.are_parted(self.functions.len(), &self.frames, becomes)
    }

    /// Finds out about the names of the profile's functions what patterns and lists need, so that
    /// the first of them need not wait for it.
    pub fn prepare_names(&self) {
        self.names.of(&self.profile);
        self.name_order();
    }

    /// Finds the order of the names of the profile's functions, unless that has been done.
    pub(crate) fn order_names(&self) {
        self.name_order();
    }

    /// What a function is called in all profiles of its program.
    #[must_use]
    pub fn key(&self, function: FunctionRef) -> FunctionKey {
        FunctionKey::of(&self.profile, &self.functions[function.index()])
    }

    /// Whether a function has this key.
    #[must_use]
    pub fn is_function(&self, function: FunctionRef, key: &FunctionKey) -> bool {
        key.is(&self.profile, &self.functions[function.index()])
    }

    /// The function of a key: of several that have it, the one that is meant, or else the first.
    /// O(functions).
    #[must_use]
    pub fn function_of(&self, key: &FunctionKey) -> Option<FunctionRef> {
        let numbers = (0..self.functions.len()).filter_map(|at| u32::try_from(at).ok());
        let mut named = numbers.map(FunctionRef).filter(|&of| self.is_function(of, key));
        let first = named.next()?;
        let is_meant = |&of: &FunctionRef| self.is_meant(of, key);
        Some(if is_meant(&first) { first } else { named.find(is_meant).unwrap_or(first) })
    }

    /// Whether a function that has this key is the one that is meant by it: where the key knows no
    /// definition, one of which none is known.
    #[must_use]
    pub fn is_meant(&self, function: FunctionRef, key: &FunctionKey) -> bool {
        let function = &self.functions[function.index()];
        match key.definition() {
            Some(_) => key.is_defined_as(&self.profile, function),
            None => function.file.is_none(),
        }
    }

    /// The place of a function in the order of names, if it is one of the profile's. The first
    /// time, O(functions × log functions).
    pub(crate) fn name_place(&self, function: FunctionRef) -> Option<u32> {
        self.name_order().get(function.index()).copied()
    }

    fn name_order(&self) -> &[u32] {
        self.name_order.get_or_make(|| name_order::places(&self.profile))
    }
}
