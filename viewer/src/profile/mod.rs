//! The loaded profile: a saved profile with every machine frame expanded to source-level frames.
//!
//! In the life of a sample this is the step after the file and before refinement. Columns are
//! immutable once loaded: every refinement, view and report is computed from them and can be
//! computed again.
//!
//! Invariants: node 0 is the root of everything and has no samples; `parent[n] < n` for every
//! other node; each stream's nodes are consecutive and in pre-order; Σ `samples` equals the
//! recorded samples of the run.

use csprof_format::ids::{EpochId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile as saved;

/// A profile, loaded and expanded.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Everything that is not a tree: run, processes, threads, epochs, modules, strings.
    /// Its node, frame and site tables are emptied by loading.
    pub info: saved::Profile,
    /// Functions and what stands for one: groups, unknown code, partial roots.
    pub functions: Vec<Function>,
    /// Source-level frames: what nodes name.
    pub frames: Vec<Frame>,
    /// The nodes.
    pub nodes: Nodes,
    /// One for each thread and epoch, ordered by first node; together they cover all nodes but 0.
    pub streams: Vec<Stream>,
}

/// Index into [`Profile::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionRef(pub u32);

/// Index into [`Profile::frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameRef(pub u32);

/// A function, or what a row shows in place of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Demangled name; `module+0xoffset` where there is none.
    pub name: String,
    /// Its load module, where there is one.
    pub module: Option<ModuleId>,
    /// File of the definition.
    pub file: Option<StringId>,
    /// Line of the definition, 0 if unknown.
    pub line: u32,
}

/// What kind of thing a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// A function that was called.
    Call,
    /// A function inlined into its caller.
    Inline,
    /// Code without a name.
    Unknown,
    /// The root of paths whose outer callers could not be found.
    Partial,
    /// The root of everything.
    Root,
}

/// A source-level frame: a function and the line it was executing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function.
    pub function: FunctionRef,
    /// Kind.
    pub kind: FrameKind,
    /// File of the line, if known.
    pub file: Option<StringId>,
    /// The line, 0 if unknown.
    pub line: u32,
}

/// Columns of the nodes; all have one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Parent of each node; 0 for node 0.
    pub parent: Vec<u32>,
    /// Frame of each node.
    pub frame: Vec<FrameRef>,
    /// Exclusive samples.
    pub samples: Vec<u64>,
    /// Returns of sampled activations; 0 for inlined frames, which have none.
    pub edges: Vec<u64>,
}

/// The nodes of one thread in one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The process.
    pub process: ProcessId,
    /// The thread.
    pub thread: ThreadId,
    /// The epoch.
    pub epoch: EpochId,
    /// Its nodes.
    pub nodes: core::ops::Range<u32>,
}
