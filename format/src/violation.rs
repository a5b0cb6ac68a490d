//! What [`validate`](crate::validate) finds, and how to say it.

use core::fmt;

use crate::kind::BlockKind;
use crate::profile::{MAX_PHASE, MAX_STAGE, MAX_STAGES, MAX_TAIL_CALLS};

/// An invariant that does not hold: which element of which table, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The table.
    pub table: BlockKind,
    /// Number of the element in its table; 0 where the table as a whole is meant.
    pub element: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The table has `u32::MAX` elements or more, so ids cannot number them.
    TooMany,
    /// It names an entry that a table does not have.
    Names {
        /// What an entry of that table is called.
        noun: &'static str,
        /// The id.
        id: u32,
        /// Entries in the table.
        len: usize,
    },
    /// A column has another length than its table.
    Column {
        /// Name of the column.
        column: &'static str,
        /// Its length.
        found: usize,
        /// Length of the table.
        expected: usize,
    },
    /// The period is zero.
    Period,
    /// The source is that of an earlier metric.
    SameSource,
    /// The parts of a thread's samples that metrics have do not add up.
    Shares,
    /// Samples of further metrics are not in order of nodes, are none, or are more than the node's.
    ShareOfNode,
    /// It is a time of no sample, or of more samples than its node has.
    Times,
    /// Elements of one process are not together, or not in order.
    Order,
    /// A mapping has no addresses.
    EmptyMapping {
        /// Number of the mapping in the load map.
        mapping: usize,
    },
    /// A mapping begins before the one before it ends.
    Overlap {
        /// Number of the mapping in the load map.
        mapping: usize,
    },
    /// Samples delivered are not those recorded plus those lost.
    Losses {
        /// Samples delivered.
        delivered: u64,
        /// Samples recorded.
        recorded: u64,
        /// Sum of the losses.
        lost: u64,
    },
    /// More samples have a partial path than were recorded.
    Partial {
        /// Samples with a partial path.
        partial: u64,
        /// Samples recorded.
        recorded: u64,
    },
    /// The nodes of a thread do not hold what it recorded.
    Recorded {
        /// Samples recorded, by the thread's counter.
        recorded: u64,
        /// Sum over the nodes of its trees.
        nodes: u64,
    },
    /// The runs of a merged profile do not have its processes.
    Processes {
        /// Processes that they have.
        found: u64,
        /// Processes there are.
        processes: usize,
    },
    /// With it, the profile takes more memory than its file may ask for.
    Memory {
        /// What there is much of.
        what: &'static str,
        /// How much of it.
        amount: u64,
        /// Bytes of memory that the whole profile takes.
        needed: u64,
        /// Bytes of memory that it may take.
        limit: u64,
    },
    /// A root lies in a module.
    RootInModule,
    /// The file is of a module with a build id.
    HasBuildId,
    /// First rows decrease, or do not begin at 0 and end at the number of rows.
    Rows,
    /// The tail call names no function that left, or too many.
    Functions {
        /// How many it names.
        found: usize,
    },
    /// The stage is longer than one may be, or there are too many before it.
    Stage,
    /// The phase has no name, or too long a one.
    PhaseName,
    /// The thread stands for no other.
    Earlier,
    /// Processes that were summed do not go with those that have their samples.
    Summed,
    /// The spread is out of order, of no node of a sum, or what no ranks can have.
    Spread,
    /// The modules, stretches or text of a source file do not go together.
    Source,
    /// The tree has no nodes.
    EmptyTree,
    /// The tree does not begin where the one before it ends.
    Range {
        /// Its first node.
        found: u32,
        /// One past the last node of the tree before.
        expected: u32,
    },
    /// Trees end before the last node.
    Uncovered {
        /// Nodes that trees cover.
        covered: u32,
        /// Nodes there are.
        nodes: usize,
    },
    /// The tree's thread and epoch belong to different processes.
    OtherProcess,
    /// The first node of a tree is not its own parent.
    NotRoot {
        /// The parent that it names.
        parent: u32,
    },
    /// The first node of a tree has a frame of another kind than root.
    RootFrame,
    /// Another node has a frame of that kind.
    InnerRoot,
    /// A node's parent is not smaller than the node.
    LaterParent {
        /// The parent that it names.
        parent: u32,
    },
    /// A node's parent is not on the path to the node before it.
    OffPath {
        /// The parent that it names.
        parent: u32,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, element, fault } = self;
        match fault {
            Fault::TooMany => write!(f, "there are too many {} for their ids", table.table())?,
            Fault::Column { column, found, expected } => write!(
                f,
                "the column \"{column}\" of the {} has {found} entries, not {expected}",
                table.table()
            )?,
            Fault::Processes { found, processes } => {
                write!(f, "the runs have {found} processes, but there are {processes}")?;
            }
            Fault::Uncovered { covered, nodes } => {
                write!(f, "the trees cover {covered} nodes, but there are {nodes}")?;
            }
            _ => write!(f, "{} {element} ", table.noun())?,
        }
        match fault {
            Fault::TooMany
            | Fault::Column { .. }
            | Fault::Uncovered { .. }
            | Fault::Processes { .. } => Ok(()),
            Fault::Names { noun, id, len } => {
                write!(f, "names {noun} {id}, but there are only {len}")
            }
            Fault::Period => f.write_str("has period 0"),
            Fault::SameSource => f.write_str("has the source of a metric before it"),
            Fault::Shares => f.write_str("has samples that its metrics do not add up to"),
            Fault::ShareOfNode => {
                f.write_str("has samples of further metrics that are not among all its samples")
            }
            Fault::Order => f.write_str("comes after one that belongs behind it"),
            Fault::EmptyMapping { mapping } => write!(f, "has an empty mapping, number {mapping}"),
            Fault::Overlap { mapping } => {
                write!(f, "has mapping {mapping} begin before the one before it ends")
            }
            Fault::Losses { delivered, recorded, lost } => {
                write!(f, "got {delivered} samples, but recorded {recorded} and lost {lost}")
            }
            Fault::Partial { partial, recorded } => {
                write!(f, "recorded {recorded} samples, but {partial} with a partial path")
            }
            Fault::Recorded { recorded, nodes } => {
                write!(f, "recorded {recorded} samples, but its nodes hold {nodes}")
            }
            Fault::Memory { what, amount, needed, limit } => write!(
                f,
                "takes the profile beyond the {} MiB of memory that a file of its size may ask \
                 for: {amount} {what}, {} MiB in all",
                limit >> 20,
                needed >> 20
            ),
            Fault::HasBuildId => f.write_str("is of a module that has a build id"),
            Fault::RootInModule => f.write_str("is a root, but lies in a module"),
            Fault::Rows => f.write_str("has rows that do not continue those before it"),
            Fault::Functions { found } => {
                write!(f, "names {found} functions, not 1 to {}", MAX_TAIL_CALLS - 1)
            }
            Fault::Stage => write!(
                f,
                "has more than {MAX_STAGE} bytes, or is beyond the {MAX_STAGES} there may be"
            ),
            Fault::PhaseName => write!(f, "has no name of 1 to {MAX_PHASE} bytes"),
            Fault::Earlier => f.write_str("says that there were none"),
            Fault::Summed => f.write_str("does not have the samples of the processes of the sum"),
            Fault::Spread => {
                f.write_str("is out of order, of no node of a sum, or what no ranks can have")
            }
            Fault::Source => {
                f.write_str("has modules or stretches of lines out of order, or lines without text")
            }
            Fault::Times => f.write_str("is of no sample, or of more samples than its node has"),
            Fault::EmptyTree => f.write_str("has no nodes"),
            Fault::Range { found, expected } => {
                write!(f, "begins at node {found}, but the tree before it ends at {expected}")
            }
            Fault::OtherProcess => {
                f.write_str("joins a thread and an epoch of different processes")
            }
            Fault::NotRoot { parent } => {
                write!(f, "is the root of a tree, but names parent {parent}")
            }
            Fault::RootFrame => f.write_str("is the root of a tree, but its frame is not"),
            Fault::InnerRoot => f.write_str("has the frame of a root, but is inside a tree"),
            Fault::LaterParent { parent } if *parent as usize == *element => {
                f.write_str("is its own parent, but not the root of a tree")
            }
            Fault::LaterParent { parent } => {
                write!(f, "names parent {parent}, which comes later")
            }
            Fault::OffPath { parent } => {
                write!(f, "names parent {parent}, which is not on the path to the node before it")
            }
        }
    }
}
