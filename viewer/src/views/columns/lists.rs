//! Which columns there are, and which of them each medium has, from left to right or in the order
//! of what matters most.

use serde::{Deserialize, Serialize};

use crate::views::row::Cost;

/// Which column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Id {
    /// Inclusive cost.
    #[default]
    Inclusive,
    /// The same as a share.
    Percent,
    /// Exclusive cost.
    Exclusive,
    /// The same as a share.
    ExclusivePercent,
    /// Edge count.
    Edges,
    /// Cost per edge.
    PerEdge,
    /// What that says of the calls, in words.
    Calls,
    /// Inclusive samples.
    Samples,
    /// The number that rows are ordered by as a bar.
    Bar,
    /// How inclusive cost is spread over peers.
    Spread,
    /// How it is spread over phases.
    OverPhases,
    /// Name of the function.
    Function,
    /// Kind of frame.
    Kind,
    /// Load module.
    Module,
    /// Source file.
    File,
    /// Line in it.
    Line,
    /// Offset in the load module.
    Address,
    /// Build id of the load module.
    BuildId,
    /// Source file of the line that is executed, or called from.
    CallFile,
    /// That line.
    CallLine,
    /// OTHER minus BASE.
    Delta,
    /// Cost in BASE.
    Base,
    /// Cost in OTHER.
    Other,
    /// OTHER minus BASE for each second between the two.
    Rate,
    /// OTHER minus BASE as a share of BASE.
    Growth,
    /// Two standard deviations of the difference by sampling.
    Noise,
    /// Edge counts of both sides.
    EdgesOfBoth,
    /// Edge count in BASE.
    BaseEdges,
    /// Edge count in OTHER.
    OtherEdges,
    /// What became of the row, in a word.
    Change,
    /// Whether that is more than noise.
    Significant,
    /// What is expected of OTHER by scaling.
    Expected,
    /// OTHER minus that as a share of all that OTHER has.
    LossShare,
    /// The least difference that several runs leave.
    Low,
    /// The greatest one.
    High,
    /// Name of the function, which both sides have.
    FunctionOfBoth,
    /// Whether it is a process or a thread.
    ContextKind,
    /// Command line of a process, name of a thread.
    Name,
    /// Rank of the process.
    Rank,
    /// Host that the process ran on.
    Host,
    /// Number of the process.
    Pid,
    /// Number of the thread.
    Tid,
    /// How many threads a thread stands for, or a process has.
    Threads,
    /// The refinement to the process or the thread.
    Stage,
    /// What a process or a thread had.
    Part,
    /// By how much the threads of a process differ.
    Imbalance,
    /// Whether it is compared with others.
    Peer,
    /// What a formula makes of inclusive costs.
    Derived,
    /// What it makes of exclusive ones.
    DerivedExclusive,
    /// Mean of the inclusive cost over the ranks of a sum.
    RankMean,
    /// That of the rank with most.
    RankMost,
    /// This rank.
    MostRank,
    /// That of the rank with least.
    RankLeast,
    /// By how much they differ.
    RankImbalance,
    /// Their standard deviation.
    RankDeviation,
    /// Mean of the exclusive cost over the ranks of a sum.
    OwnRankMean,
    /// That of the rank with most.
    OwnRankMost,
    /// This rank.
    OwnMostRank,
    /// By how much they differ.
    OwnRankImbalance,
    /// What a formula makes of BASE.
    BaseDerived,
    /// What it makes of OTHER.
    OtherDerived,
    /// What it makes of OTHER minus that. The last one, by which [`Id::COUNT`] goes.
    DerivedDelta,
}

impl Id {
    /// How many there are.
    pub(super) const COUNT: usize = Self::DerivedDelta as usize + 1;
}

/// Which metrics have a column on a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The one that is looked at.
    LookedAt,
    /// Each of the others.
    Others,
}

/// On a screen, in the order of what matters most.
pub(super) const SCREEN: [(Whose, Id); 15] = [
    (Whose::LookedAt, Id::Inclusive),
    (Whose::LookedAt, Id::Bar),
    (Whose::LookedAt, Id::Percent),
    (Whose::LookedAt, Id::RankImbalance),
    (Whose::LookedAt, Id::MostRank),
    (Whose::LookedAt, Id::RankMost),
    (Whose::LookedAt, Id::ExclusivePercent),
    (Whose::Others, Id::Inclusive),
    (Whose::LookedAt, Id::Derived),
    (Whose::LookedAt, Id::Edges),
    (Whose::LookedAt, Id::Calls),
    (Whose::LookedAt, Id::PerEdge),
    (Whose::Others, Id::Percent),
    (Whose::LookedAt, Id::Exclusive),
    (Whose::LookedAt, Id::Samples),
];

/// Of lines of a source file and of instructions, beside these, in the order of what matters most.
pub(super) const LINES: [(Whose, Id); 7] = [
    (Whose::LookedAt, Id::Inclusive),
    (Whose::LookedAt, Id::ExclusivePercent),
    (Whose::LookedAt, Id::Edges),
    (Whose::Others, Id::Inclusive),
    (Whose::LookedAt, Id::Exclusive),
    (Whose::LookedAt, Id::Percent),
    (Whose::LookedAt, Id::Samples),
];

/// The same of a comparison.
pub(super) const COMPARED_LINES: [Id; 3] = [Id::Delta, Id::Base, Id::Other];

/// On a page, from left to right; each other metric then has those of one metric.
pub(super) const PAGE: &[&[Id]] = &[
    &[Id::Inclusive, Id::Percent, Id::ExclusivePercent, Id::Edges, Id::PerEdge, Id::Calls],
    &SPREAD,
    &[Id::RankMean, Id::RankMost, Id::MostRank, Id::RankImbalance],
];

/// How rows are spread, where that is asked for.
const SPREAD: [Id; 2] = [Id::Spread, Id::OverPhases];

/// Over the ranks of a sum, for machines: all that is known. A page has what says whom to look at.
const OVER_RANKS: [Id; 6] =
    [Id::RankMean, Id::RankMost, Id::MostRank, Id::RankLeast, Id::RankImbalance, Id::RankDeviation];

/// The same of exclusive costs, for machines.
pub(super) const OWN_OVER_RANKS: [Id; 4] =
    [Id::OwnRankMean, Id::OwnRankMost, Id::OwnMostRank, Id::OwnRankImbalance];

/// Of each derived metric, in any medium.
pub(super) const DERIVED: [Id; 2] = [Id::Derived, Id::DerivedExclusive];

/// The same of a comparison.
pub(super) const COMPARED_DERIVED: [Id; 3] = [Id::BaseDerived, Id::OtherDerived, Id::DerivedDelta];

/// For machines, in their order; of several metrics, each has those of one metric.
pub(super) const MACHINE: &[&[Id]] = &[
    &[Id::Function, Id::Module, Id::File, Id::Line, Id::Kind],
    &[Id::Inclusive, Id::Exclusive, Id::Edges, Id::Address],
    &OF_ADDRESSES,
    &SPREAD,
    &OVER_RANKS,
    &OWN_OVER_RANKS,
];

/// All that is known of addresses, where that is asked for.
pub(super) const OF_ADDRESSES: [Id; 3] = [Id::BuildId, Id::CallFile, Id::CallLine];

/// Of a comparison, on a page, from left to right.
pub(super) const COMPARED: [Id; 6] =
    [Id::Base, Id::Other, Id::Delta, Id::Growth, Id::Noise, Id::EdgesOfBoth];

/// The same of runs on different numbers of ranks or threads.
pub(super) const SCALED: [Id; 7] =
    [Id::Base, Id::Expected, Id::Other, Id::Delta, Id::LossShare, Id::Noise, Id::EdgesOfBoth];

/// The same on a screen, in the order of what matters most.
pub(super) const SCALED_SCREEN: [Id; 11] = [
    Id::Expected,
    Id::Other,
    Id::Delta,
    Id::LossShare,
    Id::Bar,
    Id::OtherDerived,
    Id::DerivedDelta,
    Id::BaseDerived,
    Id::Noise,
    Id::Base,
    Id::EdgesOfBoth,
];

/// Of one run at two moments, on a screen, in the order of what matters most.
pub(super) const MOMENTS_SCREEN: [Id; 4] = [Id::Rate, Id::Other, Id::Bar, Id::Delta];

/// Of a comparison on a screen, in the order of what matters most.
pub(super) const COMPARED_SCREEN: [Id; 10] = [
    Id::Base,
    Id::Other,
    Id::Delta,
    Id::Growth,
    Id::Bar,
    Id::OtherDerived,
    Id::DerivedDelta,
    Id::BaseDerived,
    Id::Noise,
    Id::EdgesOfBoth,
];

/// Of a comparison, for machines, and about which cost, if not about that of the view.
pub(super) const COMPARED_MACHINE: [(Id, Option<Cost>); 25] = [
    (Id::Function, None),
    (Id::Module, None),
    (Id::File, None),
    (Id::Line, None),
    (Id::Kind, None),
    (Id::Base, Some(Cost::Inclusive)),
    (Id::Base, Some(Cost::Exclusive)),
    (Id::BaseEdges, None),
    (Id::Other, Some(Cost::Inclusive)),
    (Id::Other, Some(Cost::Exclusive)),
    (Id::OtherEdges, None),
    (Id::Delta, Some(Cost::Inclusive)),
    (Id::Delta, Some(Cost::Exclusive)),
    (Id::Noise, Some(Cost::Inclusive)),
    (Id::Noise, Some(Cost::Exclusive)),
    (Id::Change, None),
    (Id::Significant, None),
    (Id::Low, Some(Cost::Inclusive)),
    (Id::Low, Some(Cost::Exclusive)),
    (Id::High, Some(Cost::Inclusive)),
    (Id::High, Some(Cost::Exclusive)),
    (Id::Expected, Some(Cost::Inclusive)),
    (Id::Expected, Some(Cost::Exclusive)),
    (Id::LossShare, Some(Cost::Inclusive)),
    (Id::LossShare, Some(Cost::Exclusive)),
];

/// Of processes and threads, on a screen and on a page, from left to right; then come the first of
/// them for each other metric.
pub(super) const CONTEXTS: [Id; 3] = [Id::Part, Id::Percent, Id::Imbalance];

/// Of processes and threads, for machines; of several metrics, each has those of one metric.
pub(super) const CONTEXTS_MACHINE: [Id; 11] = [
    Id::ContextKind,
    Id::Name,
    Id::Rank,
    Id::Host,
    Id::Pid,
    Id::Tid,
    Id::Threads,
    Id::Stage,
    Id::Part,
    Id::Imbalance,
    Id::Peer,
];
