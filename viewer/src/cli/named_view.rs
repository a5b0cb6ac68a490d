//! The views of reports and comparisons by name: what `--view` takes.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::refine::Grain;
use crate::views::View;
use crate::views::dimension::but_processes;

/// A view by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum NamedView {
    /// Calling contexts from the root, the call tree
    #[value(alias = "tree")]
    TopDown,
    /// Functions by cost, and who called them
    Callers,
    /// Functions by cost
    Flat,
    /// Load modules, and in them files, functions, lines
    Modules,
    /// Source files, and in them functions, lines
    Files,
    /// Functions, and in them lines
    Lines,
    /// What a path costs when it is made longer by one function: Hall's tables; see --path
    Tables,
    /// The callers of a function, the function, and what it calls; see --path
    Butterfly,
    /// Processes and their threads, and the imbalance of peers: of ranks, or of processes of one
    /// program, and of threads that do the same work
    Threads,
    #[value(help = concat!(
        "How the cost of a function or path is spread over ranks, processes, ", but_processes!(),
        " or time; see --path"
    ))]
    Distribution,
    /// Time in calls of MPI, else in waits and locks, by operation and path: who waits, who came
    /// last, and on which paths ranks differ most
    Waits,
}

impl NamedView {
    /// Takes the views that two profiles have, too.
    pub(super) fn of_comparison() -> impl TypedValueParser<Value = Self> {
        let is_of_one = |view: &Self| {
            matches!(view, Self::Butterfly | Self::Threads | Self::Distribution | Self::Waits)
        };
        let offered = Self::value_variants().iter().filter(|view| !is_of_one(view));
        let names = offered.filter_map(ValueEnum::to_possible_value).collect::<Vec<_>>();
        PossibleValuesParser::new(names).try_map(|name| Self::from_str(&name, false))
    }

    /// What the tree of places begins with, if rows are places.
    pub(super) const fn places(self) -> Option<Grain> {
        match self {
            Self::Modules => Some(Grain::Module),
            Self::Files => Some(Grain::File),
            Self::Lines => Some(Grain::Function),
            _ => None,
        }
    }

    /// The rows of functions or places.
    pub(super) const fn rows(self) -> View {
        match self {
            // The lists of threads, of peers and of waits have none.
            Self::TopDown | Self::Threads | Self::Distribution | Self::Waits => View::TopDown,
            Self::Callers => View::Callers,
            Self::Flat => View::Flat,
            Self::Modules | Self::Files | Self::Lines => View::Places,
            Self::Tables => View::Tables,
            Self::Butterfly => View::Butterfly,
        }
    }
}
