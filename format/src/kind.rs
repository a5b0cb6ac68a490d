//! The kinds of blocks: one for each table of a profile.

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $noun:literal, $table:literal;)*) => {
        /// What a block holds. Kinds come in the order of their numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum BlockKind { $($(#[$doc])* $name = $number,)* }

        impl BlockKind {
            /// All kinds, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The kind with this number, if there is one.
            #[must_use]
            pub const fn from_u16(number: u16) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// What one element is called in messages.
            #[must_use]
            pub const fn noun(self) -> &'static str {
                match self { $(Self::$name => $noun,)* }
            }

            /// What the elements together are called: the name of the kind.
            #[must_use]
            pub const fn table(self) -> &'static str {
                match self { $(Self::$name => $table,)* }
            }
        }
    };
}

kinds! {
    /// [`RunInfo`](crate::profile::RunInfo).
    Run = 1, "run", "run";
    /// [`Metric`](crate::profile::Metric), of every sample source.
    Metrics = 2, "metric", "metrics";
    /// Interned text.
    Strings = 3, "string", "strings";
    /// Load modules.
    Modules = 4, "module", "modules";
    /// Processes.
    Processes = 5, "process", "processes";
    /// Threads, with their counters and losses.
    Threads = 6, "thread", "threads";
    /// Epochs with their load maps.
    Epochs = 7, "epoch", "epochs";
    /// Interned frames.
    Frames = 8, "frame", "frames";
    /// Functions that frames resolved to.
    Functions = 9, "function", "functions";
    /// Source-level frames of each frame.
    Sites = 10, "frame", "sites";
    /// Trees.
    Trees = 11, "tree", "trees";
    /// Nodes of all trees.
    Nodes = 12, "node", "nodes";
    /// Runs that were merged.
    Runs = 13, "merged run", "runs";
    /// What processes used.
    Accounts = 14, "account", "accounts";
    /// Loops of the program.
    Loops = 15, "loop", "loops";
    /// Which frames lie in loops.
    InLoops = 16, "frame in a loop", "frames in loops";
    /// Functions that left by tail calls.
    TailCalls = 17, "tail call", "tail calls";
    /// Files of modules without a build id.
    Files = 18, "file of a module", "files of modules";
    /// The refinement to begin with.
    Stages = 19, "stage", "stages";
    /// Lines of source files.
    Sources = 20, "source file", "source files";
    /// When samples were taken.
    Times = 21, "time", "times of samples";
    /// Epochs in phases.
    Phases = 22, "phase", "phases";
    /// Runs that were summed.
    SummedRuns = 23, "summed run", "summed runs";
    /// How costs are spread over ranks.
    Spreads = 24, "spread", "spreads";
    /// Threads that stand for several.
    Earlier = 25, "count of earlier threads", "earlier threads";
    /// How many ranks jobs have.
    JobSizes = 26, "job size", "job sizes";
    /// How much the file holds; nothing follows.
    End = 255, "end", "end";
}

impl BlockKind {
    /// Version of the payload that is written, of a profile of several metrics or of one.
    pub(crate) const fn version(self, several: bool) -> u16 {
        match self {
            Self::Metrics | Self::Threads | Self::Nodes if several => 2,
            _ => 1,
        }
    }

    /// Whether a payload of this version can be read.
    pub(crate) const fn is_known(self, version: u16) -> bool {
        version == self.version(false) || version == self.version(true)
    }

    /// Whether a reader that does not know the kind must refuse the file.
    pub(crate) const fn critical(self) -> bool {
        // Without names and lines, a profile still shows modules and offsets; without the runs
        // that were merged, all that they measured; accounts only explain, the program's
        // structure only adds rows, files only serve to find more names, without its stages a
        // profile shows all frames, source files may be on the reader's machine, and nodes have
        // all samples whenever they were taken, in whichever phase, of whichever rank or thread,
        // and of however many.
        !matches!(
            self,
            Self::Functions
                | Self::Sites
                | Self::Runs
                | Self::Accounts
                | Self::Loops
                | Self::InLoops
                | Self::TailCalls
                | Self::Files
                | Self::Stages
                | Self::Sources
                | Self::Times
                | Self::Phases
                | Self::SummedRuns
                | Self::Spreads
                | Self::Earlier
                | Self::JobSizes
        )
    }
}
